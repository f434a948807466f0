"""Generation: texts of eager torch, streams, constraints, drafts, and messages for what does not fit."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.language_model import model, tokenizer

from et_schema.errors import ExecutorchError, InputError
from et_vm.llm import (
    Constraint,
    Draft,
    GenerationConfig,
    LanguageModel,
    Session,
    Stats,
    TextLLMRunner,
    TextStream,
    Tokenizer,
)
from et_vm.runtime import Runtime

PROMPT = "the import"
GREEDY = GenerationConfig(temperature=0.0, max_new_tokens=24, echo=False)


@pytest.fixture
def runner(files: Path) -> TextLLMRunner:
    return TextLLMRunner(files / "model.pte", files / "model.tokenizer")


def eager_text(files: Path, count: int) -> str:
    coder = Tokenizer(files / "model.tokenizer")
    ids = torch.tensor([coder.encode(PROMPT)])
    with torch.no_grad():
        found = model().generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=count, do_sample=False, pad_token_id=0
        )
    return coder.decode(found[0, ids.shape[1] :].tolist())


def test_greedy_text_is_eagers(runner: TextLLMRunner, files: Path) -> None:
    pieces: list[str] = []
    found: list[Stats] = []
    text = runner.generate(PROMPT, GREEDY, pieces.append, found.append)
    assert text == eager_text(files, 24)
    assert "".join(pieces) == text
    (stats,) = found
    assert (stats.num_prompt_tokens, stats.num_generated_tokens) == (len(runner.tokenizer.encode(PROMPT)), 24)
    assert (
        stats.inference_start_ms <= stats.prompt_eval_end_ms <= stats.first_token_ms <= stats.inference_end_ms
    )
    assert json.loads(stats.to_json_string())["num_generated_tokens"] == 24
    assert runner.get_vocab_size() == 280


def test_going_on(runner: TextLLMRunner, files: Path) -> None:
    """Without a prompt the text goes on; `reset` begins another."""
    half = GenerationConfig(temperature=0.0, max_new_tokens=12, echo=False)
    assert runner.generate(PROMPT, half) + runner.generate("", half) == eager_text(files, 24)
    runner.reset()
    with pytest.raises(ExecutorchError):
        TextLLMRunner(files / "model.pte", files / "absent")
    runner.prefill(PROMPT)
    assert runner.generate("", half) == eager_text(files, 12)


def test_echo_and_stop(runner: TextLLMRunner) -> None:
    pieces: list[str] = []

    def give(piece: str) -> None:
        pieces.append(piece)
        if len(pieces) == 4:
            runner.stop()

    runner.generate(PROMPT, GenerationConfig(temperature=0.0), give)
    assert pieces[0] == PROMPT
    assert 4 <= len(pieces) <= 5  # the rest of a character may follow
    silent: list[str] = []
    runner.reset()
    runner.generate(PROMPT, GenerationConfig(warming=True, max_new_tokens=2), silent.append)
    assert not silent


CHANGES: dict[str, Callable[[TextLLMRunner, Path], object]] = {
    "generate": lambda runner, _: runner.generate("a module"),
    "prefill": lambda runner, _: runner.prefill("a module"),
    "reset": lambda runner, _: runner.reset(),
    "session.feed": lambda runner, _: runner.session.feed([3]),
    "session.feed_all": lambda runner, _: runner.session.feed_all([3]),
    "session.advance": lambda runner, _: runner.session.advance(3),
    "session.rewind": lambda runner, _: runner.session.rewind(runner.session.length - 1),
    "session.reset": lambda runner, _: runner.session.reset(),
    "session.restore": lambda runner, path: runner.session.restore(path / "session"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("draft", ["", "small.pte"], ids=["plain", "draft"])
def test_changes_from_a_callback(
    files: Path, tmp_path: Path, change: Callable[[TextLLMRunner, Path], object], draft: str
) -> None:
    """Refused, also where the prompt is given back, and the text goes on; afterwards they are possible."""
    runner = TextLLMRunner(files / "all.pte", files / "model.tokenizer")
    proposer = Draft(LanguageModel(Runtime().load_program(files / draft))) if draft else None
    runner.prefill("a module")
    runner.session.save(tmp_path / "session")
    runner.reset()
    refusals: list[str] = []

    def give(_: str) -> None:
        with pytest.raises(ExecutorchError, match=r"generation is running.*stop\(\)") as refusal:
            change(runner, tmp_path)
        refusals.append(refusal.value.code.name)
        assert runner.session.fork().tokens == runner.session.tokens
        runner.session.save(tmp_path / "other")

    text = runner.generate(PROMPT, replace(GREEDY, echo=True), give, draft=proposer)
    assert text == eager_text(files, 24)
    assert len(refusals) > 5
    assert set(refusals) == {"InvalidState"}
    assert runner.tokenizer.decode(runner.session.tokens) == PROMPT + text
    change(runner, tmp_path)
    runner.reset()
    assert runner.session.tokens == ()


def test_changes_by_a_failing_callback(runner: TextLLMRunner, files: Path) -> None:
    """The text is that before the token of the callback, and can go on."""

    def give(_: str) -> None:
        pieces.append(_)
        if len(pieces) == 5:
            runner.reset()

    pieces: list[str] = []
    with pytest.raises(ExecutorchError, match="generation is running"):
        runner.generate(PROMPT, GREEDY, give)
    length = len(runner.tokenizer.encode(PROMPT))
    begun = runner.tokenizer.decode(runner.session.tokens[length:])
    assert begun == "".join(pieces[:-1])
    rest = replace(GREEDY, max_new_tokens=24 - (runner.session.length - length))
    assert begun + runner.generate("", rest) == eager_text(files, 24)


def test_changes_by_another_thread(runner: TextLLMRunner, files: Path) -> None:
    """Refused while tokens are computed as well; what gets the statistics comes afterwards."""
    refusals: list[object] = []

    def change() -> None:
        for one in (runner.reset, lambda: runner.prefill("a module")):
            with pytest.raises(ExecutorchError, match="generation is running"):
                one()
            refusals.append(one)

    advance = runner.session.advance

    def advanced(token: int) -> Any:
        thread = threading.Thread(target=change)
        thread.start()
        thread.join()
        return advance(token)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner.session, "advance", advanced)
        text = runner.generate(PROMPT, GREEDY, None, lambda _: runner.reset())
    assert text == eager_text(files, 24)
    assert len(refusals) >= 46
    assert runner.session.tokens == ()


def test_full_context(runner: TextLLMRunner) -> None:
    found: list[Stats] = []
    runner.generate(PROMPT, GenerationConfig(temperature=1.0, seed=3), None, found.append)
    assert len(runner.session.tokens) <= 48
    runner.reset()
    with pytest.raises(InputError, match="do not fit into the context of 48"):
        runner.generate(PROMPT * 20, GREEDY)
    assert runner.session.tokens == ()
    assert runner.generate(PROMPT, GREEDY)


@pytest.mark.parametrize(
    ("options", "occupied", "expected"),
    [
        ({}, 10, 38),
        ({"max_new_tokens": 5}, 10, 5),
        ({"seq_len": 12}, 10, 2),
        ({"seq_len": 99}, 47, 1),
        ({"seq_len": 5}, 10, 0),
    ],
)
def test_numbers_of_tokens(options: dict[str, int], occupied: int, expected: int) -> None:
    assert GenerationConfig(**options).resolve_max_new_tokens(48, occupied) == expected


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("expression", ["[0-9]{3}", "(ab|äö)+!", '\\{"a": [0-9]{1,3}\\}'])
def test_constraints(runner: TextLLMRunner, expression: str, temperature: float) -> None:
    constraint = Constraint(expression)
    config = GenerationConfig(temperature=temperature, seed=1, echo=False, constraint=constraint)
    text = runner.generate(PROMPT, config)
    prefix = constraint.matches(text)
    # A text that does not end by itself is cut off where the context ends.
    assert prefix or ("+" in expression and len(runner.session.tokens) == 48)
    assert text


def test_json(runner: TextLLMRunner) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["x", "yy"]}, "b": {"type": "boolean"}},
        "required": ["a", "b"],
    }
    config = GenerationConfig(temperature=1.0, seed=2, echo=False, constraint=Constraint.of_schema(schema))
    found = json.loads(runner.generate(PROMPT, config))
    assert set(found) == {"a", "b"}
    assert found["a"] in ("x", "yy")


@pytest.mark.parametrize("draft", ["small.pte", "model.pte"])
@pytest.mark.parametrize("count", [1, 4, 20])
def test_drafts_change_nothing(files: Path, draft: str, count: int) -> None:
    runner = TextLLMRunner(files / "all.pte", files / "model.tokenizer")
    proposer = Draft(LanguageModel(Runtime().load_program(files / draft)), count)
    for _ in range(2):  # the draft's own session is used again
        found: list[Stats] = []
        runner.reset()
        assert runner.generate(PROMPT, GREEDY, None, found.append, proposer) == eager_text(files, 24)
        if draft == "model.pte":
            assert found[0].num_accepted_tokens == found[0].num_draft_tokens > 0


def test_tokens_that_are_never_generated(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with eager torch, with and without a draft; a constraint says itself which tokens are possible."""
    coder = Tokenizer(files / "model.tokenizer")
    ids = torch.tensor([coder.encode(PROMPT)])

    def eager(**options: Any) -> list[int]:
        with torch.no_grad():
            found = model().generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=24,
                do_sample=False,
                pad_token_id=0,
                **options,
            )
        return found[0, ids.shape[1] :].tolist()

    free = eager()
    suppressed = {"suppress_tokens": [free[3], 97], "begin_suppress_tokens": [free[0]]}
    expected = eager(**suppressed)
    assert (free[0] != expected[0], free[3] in expected) == (True, False)
    constants = {"get_suppress_ids": suppressed["suppress_tokens"], "get_begin_suppress_ids": free[0]}
    plain = LanguageModel._constant
    monkeypatch.setattr(
        LanguageModel,
        "_constant",
        lambda self, name, default: constants.get(name, plain(self, name, default)),
    )
    runner = TextLLMRunner(files / "all.pte", files / "model.tokenizer")
    assert runner.generate(PROMPT, GREEDY) == coder.decode(expected)
    runner.reset()
    draft = Draft(LanguageModel(Runtime().load_program(files / "small.pte")), 3)
    assert runner.generate(PROMPT, GREEDY, draft=draft) == coder.decode(expected)
    runner.reset()
    letter = coder.decode([97])
    config = GenerationConfig(temperature=0.0, echo=False, constraint=Constraint(re.escape(letter)))
    assert runner.generate(PROMPT, config) == letter
    for wrong in ([280], [-1, 2], "x"):
        constants["get_suppress_ids"] = wrong
        with pytest.raises(ExecutorchError, match=r"'get_suppress_ids' returns .*, no ids of its 280 tokens"):
            LanguageModel(runner.model.program)


def test_drafts_read_the_text_once(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round looks at what is new, however long the text is."""
    reads: list[int] = []
    tokens = Session.tokens.fget
    assert tokens is not None

    def counted(session: Session) -> tuple[int, ...]:
        reads.append(len(tokens(session)))
        return tokens(session)

    monkeypatch.setattr(Session, "tokens", property(counted))
    runner = TextLLMRunner(files / "all.pte", files / "model.tokenizer")
    counts: list[int] = []
    for count in (4, 24):
        runner.reset()
        reads.clear()
        draft = Draft(LanguageModel(Runtime().load_program(files / "small.pte")))
        config = replace(GREEDY, max_new_tokens=count)
        assert runner.generate(PROMPT, config, draft=draft) == eager_text(files, count)
        counts.append(len(reads))
    assert counts[0] == counts[1]


def test_draft_of_a_text_that_changes(files: Path) -> None:
    """Stopped in the middle of a round, gone back, begun again, of another session, and changed by a callback."""
    runner = TextLLMRunner(files / "all.pte", files / "model.tokenizer")
    draft = Draft(LanguageModel(Runtime().load_program(files / "model.pte")))
    whole = eager_text(files, 24)

    def stop(_: str) -> None:
        if len(pieces) == 6:
            runner.stop()
        pieces.append(_)

    pieces: list[str] = []
    begun = runner.generate(PROMPT, GREEDY, stop, draft=draft)
    assert whole.startswith(begun)
    assert 0 < len(begun) < len(whole)
    rest = replace(GREEDY, max_new_tokens=24 - (runner.session.length - len(runner.tokenizer.encode(PROMPT))))
    found: list[Stats] = []
    assert begun + runner.generate("", rest, None, found.append, draft) == whole
    assert found[0].num_accepted_tokens == found[0].num_draft_tokens > 0
    other = TextLLMRunner(files / "all.pte", files / "model.tokenizer")
    nested: list[str] = []

    def nest(_: str) -> None:
        if not nested:
            nested.append(other.generate("a module", replace(GREEDY, max_new_tokens=9), draft=draft))

    plain = TextLLMRunner(files / "all.pte", files / "model.tokenizer")
    expected = plain.generate("a module", replace(GREEDY, max_new_tokens=9))
    runner.reset()
    assert runner.generate(PROMPT, GREEDY, nest, draft=draft) == whole
    assert nested == [expected]


def test_draft_that_does_not_fit(runner: TextLLMRunner, files: Path) -> None:
    with pytest.raises(ExecutorchError, match="cannot check several tokens"):
        runner.generate(PROMPT, GREEDY, draft=Draft(runner.model))
    with pytest.raises(InputError, match="at least 1"):
        Draft(runner.model, 0)


def test_tokenizer_of_another_vocabulary(files: Path, tmp_path: Path) -> None:
    made: Any = tokenizer(tmp_path / "other")
    made.add_tokens([f"<{number}>" for number in range(9)])
    made.save(str(tmp_path / "other" / "tokenizer.json"))
    with pytest.raises(InputError, match="the tokenizer has 289 ids, the program 280"):
        TextLLMRunner(files / "model.pte", tmp_path / "other")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ExecutorchError, match="not a tokenizer"):
        Tokenizer(tmp_path)


def test_streams_give_complete_characters(files: Path) -> None:
    coder = Tokenizer(files / "model.tokenizer")
    text = "zäß€😀 end"
    stream = TextStream(coder)
    pieces = [stream.put(token) for token in coder.encode_rest(text)]
    assert "".join([*pieces, stream.end()]) == text
    assert not any("\ufffd" in piece for piece in pieces)
    cut = TextStream(coder)
    assert [cut.put(token) for token in coder.encode_rest("€")[:1]] in ([""], ["€"])


def test_bytes_of_tokens(files: Path) -> None:
    coder = Tokenizer(files / "model.tokenizer")
    table = coder.bytes_of_tokens()
    for text in ("the import äö€ {", " x"):
        assert b"".join(table[token] for token in coder.encode_rest(text)) == text.encode()
    assert table[0] == b""


CHAT = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}bot:{% endif %}"


def test_chat_templates(files: Path, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    tokenizer(folder)
    coder = Tokenizer(folder)
    messages = [{"role": "user", "content": "hi"}]
    with pytest.raises(InputError, match="no chat template"):
        coder.chat(messages)
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": CHAT, "bos_token": "<s>"}))
    coder = Tokenizer(folder)
    assert coder.chat(messages) == "user: hi\nbot:"
    (folder / "chat_template.jinja").write_text("{{ bos_token }}{{ raise_exception('roles') }}")
    with pytest.raises(InputError, match="refuses the messages: roles"):
        coder.chat(messages)
    for damaged in ("{", "[]", "[" * 100_000):
        (folder / "tokenizer_config.json").write_text(damaged)
        with pytest.raises(InputError, match="not a configuration of a tokenizer"):
            Tokenizer(folder)
