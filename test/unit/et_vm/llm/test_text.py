"""Tokenizers of each kind, against transformers."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.tokenizers_of_kinds import KINDS, random_text, write

from et_schema.errors import ExecutorchError, InputError
from et_vm.llm import Constraint, TextStream, Tokenizer

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def both(folder: Path) -> tuple[Tokenizer, Any]:
    """Ours, and the reference."""
    from transformers import AutoTokenizer

    return Tokenizer(folder), AutoTokenizer.from_pretrained(folder)


@cache
def texts(count: int = 300) -> tuple[str, ...]:
    source = random.Random(0)
    return tuple(random_text(source) for _ in range(count))


@pytest.mark.parametrize("kind", KINDS)
def test_ids(kind: str, tmp_path: Path) -> None:
    write(kind, tmp_path)
    ours, reference = both(tmp_path)
    for text in texts():
        assert ours.encode(text) == reference(text).input_ids
        assert ours.encode_rest(text) == reference(text, add_special_tokens=False).input_ids


@pytest.mark.parametrize("kind", KINDS)
def test_streams_behind_a_prompt(kind: str, tmp_path: Path) -> None:
    write(kind, tmp_path)
    ours, reference = both(tmp_path)
    source = random.Random(1)
    compared = 0
    for text in texts():
        ids = reference(text, add_special_tokens=False).input_ids
        cut = source.randrange(len(ids) + 1)
        before = reference.decode(ids[:cut], skip_special_tokens=True)
        if before.endswith("\ufffd"):
            continue  # within a character
        stream = TextStream(ours, ids[:cut])
        pieces = "".join([*(stream.put(token) for token in ids[cut:]), stream.end()])
        assert before + pieces == reference.decode(ids, skip_special_tokens=True), (text, cut)
        compared += 1
    assert compared > 200


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_in_the_file_are_not_for_prompts(kind: str, tmp_path: Path) -> None:
    write(kind, tmp_path)
    path = tmp_path / "tokenizer.json"
    state = json.loads(path.read_text())
    state["truncation"] = {"max_length": 3, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    state["padding"] = {
        "strategy": {"Fixed": 40},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<unk>",
    }
    path.write_text(json.dumps(state))
    ours, reference = both(tmp_path)
    text = "the import statement of a module"
    assert ours.encode(text) == reference(text).input_ids
    assert 3 < len(ours.encode(text)) != 40


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_that_are_split(kind: str, around: bool, tmp_path: Path) -> None:
    config: dict[str, Any] = {"bos_token": "<s>", "extra_special_tokens": ["<|a|>"]}
    write(kind, tmp_path, around=around, split_special_tokens=True, **config)
    ours, reference = both(tmp_path)
    marked = 0
    for text in (*texts()[:100], "<s>the</s>", "<|a|> <|mark|>"):
        assert ours.encode(text) == reference(text).input_ids
        assert ours.encode_rest(text) == reference(text, add_special_tokens=False).input_ids
        marked += "<" in text
    assert marked > 10


FORCED = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"


@pytest.mark.parametrize("config", [{}, {FORCED: True}], ids=["as stated", "forced"])
@pytest.mark.parametrize("kind", KINDS)
def test_spaces_that_are_cleaned_up(kind: str, config: dict[str, Any], tmp_path: Path) -> None:
    write(kind, tmp_path, **{"clean_up_tokenization_spaces": True} | config)
    ours, reference = both(tmp_path)
    changed, source = 0, random.Random(2)
    pieces = ["the", "n", "'", " ", " '", " .", "n't", "'s", "re", "ve", "m", ",", "? ", "!", "t", "</s>"]
    for _ in range(200):
        text = "".join(source.choice(pieces) for _ in range(12))
        ids = reference(text, add_special_tokens=False).input_ids
        expected = reference.decode(ids, skip_special_tokens=True)
        assert ours.decode(ids) == expected
        assert ours.decode(ids, special=True) == reference.decode(ids)
        stream = TextStream(ours)
        assert "".join([*(stream.put(token) for token in ids), stream.end()]) == expected, text
        changed += expected != ours.decode_uncleaned(ids)
    assert (changed > 0) == ours.cleans_up


def test_constraints_on_texts_that_are_cleaned_up(tmp_path: Path) -> None:
    write("unigram", tmp_path, clean_up_tokenization_spaces=True)
    with pytest.raises(InputError, match=r"clean_up_tokenization_spaces .* not supported by constraints"):
        Tokenizer(tmp_path).bytes_of_tokens()


@pytest.mark.parametrize("key", ["split_special_tokens", "clean_up_tokenization_spaces"])
def test_flags_of_other_types(key: str, tmp_path: Path) -> None:
    config: dict[str, Any] = {key: "no"}
    write("llama", tmp_path, **config)
    with pytest.raises(InputError, match=f"{key}: expected true or false"):
        Tokenizer(tmp_path)


ADDED = {
    "40": {"content": "<|user|>", "special": True, "lstrip": False, "rstrip": False, "normalized": False},
    "9": {"content": "<tool>", "special": False, "lstrip": False, "rstrip": True, "normalized": False},
}


@pytest.mark.parametrize(
    "config",
    [
        {"added_tokens_decoder": ADDED},
        {"bos_token": "<bos>", "add_bos_token": True},
        {"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": True, "add_eos_token": True},
        {"bos_token": "<s>", "add_bos_token": False},
        {"bos_token": "<s>"},
        {"eos_token": {"content": "<|user|>", "__type": "AddedToken", "lstrip": True}},
        {"additional_special_tokens": ["<|user|>", "<tool>"]},
        {"extra_special_tokens": ["<|user|>"]},
        {"bos_token": "the"},
    ],
    ids=lambda config: ", ".join(config),
)
@pytest.mark.parametrize("kind", ["byte-level", "llama", "unigram"])
@pytest.mark.parametrize("around", [False, True])
def test_tokens_of_the_configuration(kind: str, around: bool, config: dict[str, Any], tmp_path: Path) -> None:
    write(kind, tmp_path, around=around, **config)
    ours, reference = both(tmp_path)
    for text in ("the<|user|>import <bos> <tool> 12", "<s>name</s>", " the "):
        ids = reference(text).input_ids
        assert ours.encode(text) == ids
        assert ours.decode(ids) == reference.decode(ids, skip_special_tokens=True)


def test_tokens_of_older_folders(tmp_path: Path) -> None:
    write("llama", tmp_path, chat_template="{{ bos_token }}{{ messages[0].content }}", add_bos_token=True)
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"bos_token": {"content": "<bos>"}}))
    ours, reference = both(tmp_path)
    assert ours.encode("the") == reference("the").input_ids
    assert ours.chat([{"role": "user", "content": "hi"}]) == "<bos>hi"


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ("word piece", "word level", "suffixes")]
)
def test_constraints_allow_the_tokens_of_their_text(kind: str, tmp_path: Path) -> None:
    write(kind, tmp_path)
    ours = Tokenizer(tmp_path)
    model: Any = SimpleNamespace(vocabulary=ours.size + 3, eos_ids=frozenset({ours.id_of("</s>")}))
    table, before = ours.bytes_of_tokens(), ours.encode_rest("the")
    compared = 0
    for text in texts()[:100]:
        ids = ours.encode_rest("the" + text)
        rest = ids[len(before) :]
        stream = TextStream(ours, before)
        written = "".join([*(stream.put(token) for token in rest), stream.end()])
        if ids[: len(before)] != before or not all(table[token] for token in rest):
            continue
        escaped = "".join(f"\\{sign}" if sign in r"\.[](){}*+?|^$" else sign for sign in written)
        follower = Constraint(escaped).start(ours, model)
        for token in rest:
            assert follower.allowed()[token], (written, token)
            follower.advance(token)
        assert follower.is_match
        compared += 1
    assert compared > 30


def test_bytes_that_a_file_marks_as_special(tmp_path: Path) -> None:
    write("gemma", tmp_path)
    path = tmp_path / "tokenizer.json"
    state = json.loads(path.read_text())
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    state["added_tokens"] += [
        {"id": state["model"]["vocab"][f"<0x{byte:02X}>"], "content": f"<0x{byte:02X}>"} | plain
        for byte in range(256)
    ]
    path.write_text(json.dumps(state))
    ours = Tokenizer(tmp_path)
    assert ours.decode(ours.encode("<s>жж")) == "жж"
    model: Any = SimpleNamespace(vocabulary=ours.size, eos_ids=frozenset({2}))
    follower = Constraint("ж").start(ours, model)
    for token in ours.encode_rest("ж"):
        assert follower.allowed()[token]
        follower.advance(token)
    assert follower.is_complete


def test_panics_of_the_library(tmp_path: Path) -> None:
    """They are no `Exception`: of a template with a token that it does not have."""
    write("llama", tmp_path)
    path = tmp_path / "tokenizer.json"
    damaged = json.loads(path.read_text())
    damaged["post_processor"]["special_tokens"] = {}
    path.write_text(json.dumps(damaged))
    with pytest.raises(ExecutorchError, match="not a tokenizer") as caught:
        Tokenizer(path).encode("quick")
    assert caught.value.where == str(path)
