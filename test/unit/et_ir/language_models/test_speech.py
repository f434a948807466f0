"""Beginnings of transcriptions by configurations of generation, against the code of transformers."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from language_models import hf, random_encoder_decoder

from et_ir.language_models import LanguageModelError, metadata

TABLES: dict[str, Any] = {
    "lang_to_id": {"<|en|>": 50, "<|de|>": 51},
    "task_to_id": {"transcribe": 52, "translate": 53},
    "no_timestamps_token_id": 55,
}
HEARD = 51
"""The language that the model tells."""


@pytest.fixture(scope="module")
def whisper() -> Any:
    """A model that tells the language `de`."""
    model = random_encoder_decoder("whisper")
    model.detect_language = lambda **_: torch.tensor([HEARD])
    return model


def _constants(whisper: Any, generation: dict[str, Any]) -> dict[str, Any]:
    whisper.generation_config = hf.GenerationConfig(**{"decoder_start_token_id": 49} | generation)
    return metadata(whisper, context=16, chunk=4)


@pytest.mark.parametrize(
    "generation",
    [
        {},
        {"no_timestamps_token_id": 55},
        {"forced_decoder_ids": [[1, 55]], "no_timestamps_token_id": 55},
        {"forced_decoder_ids": [[1, None], [2, 52]], "no_timestamps_token_id": 55},
        {"forced_decoder_ids": [[1, 60], [2, 52]], **TABLES},
        TABLES,
        TABLES | {"forced_decoder_ids": [[1, None], [2, 52]]},
        TABLES | {"forced_decoder_ids": [[1, 50], [2, 53], [3, 55]]},
        TABLES | {"language": "english"},
        TABLES | {"language": "<|de|>", "task": "translate"},
        TABLES | {"language": "EN", "forced_decoder_ids": [[1, 51], [2, 53]]},
        TABLES | {"task": "translate"},
        {"language": "de", "lang_to_id": TABLES["lang_to_id"]},
        {"task": "translate", "task_to_id": TABLES["task_to_id"]},
    ],
)
def test_beginnings(whisper: Any, generation: dict[str, Any]) -> None:
    constants = _constants(whisper, generation)
    start = constants["get_decoder_start_ids"]
    languages = constants.get("get_language_ids", [])
    if languages and not set(languages) & set(start):
        start = [start[0], HEARD, *start[1:]]
    config = whisper.generation_config
    config.return_timestamps = False
    with warnings.catch_warnings(action="ignore"):
        (expected,) = whisper._retrieve_init_tokens(
            None,
            batch_size=1,
            generation_config=config,
            config=whisper.config,
            num_segment_frames=40,
            kwargs={},
        ).tolist()
    assert start == expected


def test_tokens_that_are_never_generated(whisper: Any) -> None:
    """Those of a larger vocabulary, which configurations have by default, are left out."""
    constants = _constants(whisper, {"suppress_tokens": (3, 63, 64), "begin_suppress_tokens": [220, 50256]})
    assert constants["get_suppress_ids"] == [3, 63]
    assert "get_begin_suppress_ids" not in constants


@pytest.mark.parametrize(
    ("generation", "message"),
    [
        ({"forced_decoder_ids": [[2, 50]]}, "no pairs of places from 1 on and token ids"),
        ({"forced_decoder_ids": [[1, "x"]]}, "no pairs of places"),
        ({"forced_decoder_ids": [1]}, "no pairs of places"),
        ({"lang_to_id": {"en": "x"}}, "lang_to_id is .* no table of token ids"),
        (TABLES | {"language": "klingon"}, "language 'klingon' is not in 'lang_to_id'"),
        (TABLES | {"task": "sing"}, "task 'sing' is not in 'task_to_id'"),
        ({"no_timestamps_token_id": "x"}, "no_timestamps_token_id is 'x', no token id"),
        # The default of the other configuration is of a larger vocabulary.
        (
            {"decoder_start_token_id": None},
            "decoder_start_token_id has 50257, outside the vocabulary of 64 ids",
        ),
        ({"suppress_tokens": ["x"]}, r"suppress_tokens is \['x'\], no token id or several"),
    ],
)
def test_damaged_configurations(whisper: Any, generation: dict[str, Any], message: str) -> None:
    with pytest.raises(LanguageModelError, match=message):
        _constants(whisper, generation)
