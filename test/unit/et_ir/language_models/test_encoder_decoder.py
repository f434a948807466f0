"""Exported encoder-decoders: what their methods compute of a source, and which of them there are."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from language_models import ENCODER_DECODERS, random_encoder_decoder

from et_ir.language_models import (
    CachedTextDecoder,
    Encoder,
    LanguageModelError,
    Sizes,
    check_encoder_decoder,
    export_encoder_decoder,
)
from et_ir.language_models.encoder_decoder import NextTokenDecoder, example_source

SIZES = Sizes(context=16, chunk=4)


def _decoder(model: Any, **options: bool) -> tuple[Encoder, CachedTextDecoder]:
    encoder = Encoder(model)
    with torch.no_grad():
        return encoder, CachedTextDecoder(model, encoder(example_source(model)), SIZES, **options)


def _uses_of_source(program: Any) -> set[str]:
    """The operations that take the hidden states of the encoder."""
    (hidden,) = program.graph.find_nodes(op="placeholder", target="hidden")
    return {str(user.target) for user in hidden.users}


@pytest.mark.parametrize("family", ENCODER_DECODERS)
def test_steps_compute_nothing_of_the_source(family: str) -> None:
    """The next token reads keys and values that are state; of the hidden states, it takes their number at most."""
    model = random_encoder_decoder(family)
    encoder, decoder = _decoder(model)
    programs = export_encoder_decoder(model, encoder, decoder, SIZES)
    assert set(programs) == {"encoder", "text_decoder", "decode"}
    assert "aten.linear.default" in _uses_of_source(programs["text_decoder"])
    assert _uses_of_source(programs["decode"]) <= {"aten.sym_size.int"}
    state = {
        f"cross.{kind}_{layer}" for layer in range(len(decoder.cache.layers)) for kind in ("keys", "values")
    }
    with warnings.catch_warnings(action="ignore"):  # of torch about itself
        written, kept = (
            set(programs[name].run_decompositions({}).graph_signature.buffers_to_mutate.values())
            for name in ("text_decoder", "decode")
        )
    assert state <= written
    assert not state & kept
    assert state <= set(programs["decode"].graph_signature.buffers)


@pytest.mark.parametrize("family", ENCODER_DECODERS)
def test_methods_that_share_no_state(family: str) -> None:
    model = random_encoder_decoder(family)
    encoder, decoder = _decoder(model, shares_state=False)
    check_encoder_decoder(model, encoder, decoder)
    programs = export_encoder_decoder(model, encoder, decoder, SIZES)
    assert set(programs) == {"encoder", "text_decoder"}
    assert not any(name.startswith("cross") for name in programs["text_decoder"].graph_signature.buffers)


def test_check_of_steps() -> None:
    """Keys and values that were not kept are found, and nothing of the check remains in the buffers."""
    model = random_encoder_decoder("t5")
    encoder, decoder = _decoder(model)
    assert decoder.cross is not None
    check_encoder_decoder(model, encoder, decoder)
    assert not any(bool(buffer.any()) for buffer in decoder.buffers() if buffer.ndim == 4)
    decoder.cross.writing = decoder.cross.reading
    with pytest.raises(LanguageModelError, match="with a cache of fixed size gives logits that are off by"):
        check_encoder_decoder(model, encoder, decoder)


def test_other_lengths_behind_a_longer_source() -> None:
    """The keys and values that a longer source has left are not attended to."""
    model = random_encoder_decoder("bart")
    encoder, decoder = _decoder(model)
    step = NextTokenDecoder(decoder)
    tokens = torch.tensor([[5, 9]])
    for length in (16, 3):
        source = example_source(model, length)
        with torch.no_grad():
            expected = model(input_ids=source, decoder_input_ids=tokens, use_cache=False).logits
            hidden = encoder(source)
            decoder(tokens[:, :1], hidden, torch.tensor([0]))
            found = step(tokens[:, 1:], hidden, torch.tensor([1]))
        torch.testing.assert_close(found, expected[:, 1:], rtol=1e-4, atol=1e-5)
