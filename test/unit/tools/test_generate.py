"""et-vm generate: text, numbers, sessions, conversations, and messages for what does not fit."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from support.command_line import Command
from support.language_model import compiled, compiled_encoder_decoder, tokenizer

LINE = ("et-vm", "generate", "m.pte", "--prompt", "the import")


@pytest.fixture(autouse=True)
def files(workplace: Path) -> Path:
    """A model, with its tokenizer beside it."""
    (workplace / "m.pte").write_bytes(compiled())
    tokenizer(workplace / "m.tokenizer")
    return workplace


def test_text_and_numbers(command: Command) -> None:
    ran = command(*LINE, "--max-new-tokens", "5")
    assert ran.code == 0
    assert "generated 5, " in ran.err
    assert "memory " in ran.err
    found = json.loads(command(*LINE, "--max-new-tokens", "5", "--json").out)
    assert found["text"] + "\n" == ran.out
    assert (found["num_generated_tokens"], found["prompt"]) == (5, "the import")
    quiet = command(
        *LINE, "--max-new-tokens", "5", "-q", "--echo", "--tokenizer", "m.tokenizer/tokenizer.json"
    )
    assert quiet == (0, f"the import{ran.out}", "")
    piped = command(
        "et-vm", "generate", "m.pte", "--prompt", "-", "--max-new-tokens", "5", "-q", stdin=b"the import"
    )
    assert piped.out == ran.out


def test_program_from_standard_input(command: Command) -> None:
    line = ("--prompt", "the import", "--max-new-tokens", "5", "-q")
    piped = command("et-vm", "generate", "-", "--tokenizer", "m.tokenizer", *line, stdin=compiled())
    assert piped == command("et-vm", "generate", "m.pte", *line)


def test_sessions_beside_the_tokenizer(command: Command) -> None:
    """A session may be saved again, but over no other file of that folder."""
    line = ("--max-new-tokens", "3", "-q")
    for options in ((), ("--session", "m.tokenizer/s")):
        ran = command(*LINE, *line, *options, "--save-session", "m.tokenizer/s")
        assert (ran.code, ran.err) == (0, "")


def test_standard_input_that_is_no_text(command: Command) -> None:
    ran = command("et-vm", "generate", "m.pte", "--prompt", "-", stdin=b"caf\xe9")
    assert (ran.code, "the text is not in UTF-8 at character 3" in ran.err) == (2, True)


def test_samples(command: Command) -> None:
    options = (
        "--max-new-tokens",
        "12",
        "-q",
        "--temperature",
        "1",
        "--top-p",
        "0.9",
        "--top-k",
        "50",
        "--seed",
    )
    one, same, other = (command(*LINE, *options, seed).out for seed in ("1", "1", "2"))
    assert one == same
    assert one != other


def test_sessions(command: Command) -> None:
    whole = command(*LINE, "--max-new-tokens", "12", "-q").out
    first = command(*LINE, "--max-new-tokens", "6", "-q", "--save-session", "s.safetensors").out
    more = ("et-vm", "generate", "m.pte", "--session", "s.safetensors", "--max-new-tokens", "6", "-q")
    assert first.removesuffix("\n") + command(*more).out == whole
    Path("m.pte").write_bytes(compiled(1))
    ran = command(*more)
    assert ran.code == 2
    assert "session of another program" in ran.err


def test_constraints(command: Command) -> None:
    ran = command(*LINE, "-q", "--regex", "[0-9]{4}")
    assert ran.out.strip().isdecimal()
    Path("s.json").write_text(
        '{"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}'
    )
    ran = command(*LINE, "-q", "--json-schema", "s.json")
    assert json.loads(ran.out)["a"] in (True, False)
    Path("bom.json").write_bytes(b"\xef\xbb\xbf" + Path("s.json").read_bytes())
    assert command(*LINE, "-q", "--json-schema", "bom.json") == ran


def test_text_that_ends_before_it_matches(command: Command) -> None:
    """Told, since what reads the text may expect that it does."""
    ran = command(*LINE, "--regex", "[0-9]{9}", "--max-new-tokens", "3")
    assert "warning: the text ends before it matches --regex: after --max-new-tokens 3" in ran.err
    ran = command(*LINE, "--regex", "[0-9]{900}", "--json")
    assert "warning: the text ends before it matches --regex: the context is full" in ran.err
    assert json.loads(ran.out)["is_match"] is False
    ran = command(*LINE, "--regex", "[0-9]{2}", "--json")
    assert (ran.err, json.loads(ran.out)["is_match"]) == ("", True)


def test_drafts(command: Command) -> None:
    expected = command(*LINE, "--max-new-tokens", "12", "-q").out
    Path("all.pte").write_bytes(compiled(all_logits=True))
    Path("small.pte").write_bytes(compiled(1))
    shutil.copytree("m.tokenizer", "all.tokenizer")
    line = ("et-vm", "generate", "all.pte", *LINE[3:], "--max-new-tokens", "12", "--draft", "small.pte")
    ran = command(*line)
    assert ran.out == expected
    assert "proposed ones accepted" in ran.err


def test_conversation(command: Command) -> None:
    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}bot:"
    Path("m.tokenizer/chat_template.jinja").write_text(template)
    line = ("et-vm", "generate", "m.pte", "--chat", "--max-new-tokens", "2", "-q")
    ran = command(*line, stdin=b"hi\n\nthe\n")
    assert ran.code == 0
    assert len(ran.out) > 2
    ran = command(*line[:-1], stdin=b"the import of a module " * 30)
    assert ran.code == 0
    assert "the conversation ends here" in ran.err


def test_conversation_has_the_ids_of_the_template_alone(command: Command) -> None:
    from transformers import AutoTokenizer

    template = "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}</s>{% endfor %}bot:"
    settings = {"bos_token": "<s>", "eos_token": "</s>", "chat_template": template}
    Path("m.tokenizer/tokenizer_config.json").write_text(json.dumps(settings))
    reference = AutoTokenizer.from_pretrained("m.tokenizer")
    ids = reference.apply_chat_template([{"role": "user", "content": "hi"}], return_dict=False)
    ran = command("et-vm", "generate", "m.pte", "--chat", "--max-new-tokens", "2", "--json", stdin=b"hi\n")
    assert json.loads(ran.out)["num_prompt_tokens"] == len(ids)
    assert reference("hi").input_ids.count(0) == ids.count(0) == 1, "texts begin with <s> as well"


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (["m.pte"], 2, "no prompt: give --prompt"),
        (["m.pte", "--prompt", "x", "--chat"], 2, "leave out --prompt"),
        (["m.pte", "--chat"], 2, "no chat template"),
        (["absent.pte", "--prompt", "x", "--tokenizer", "m.tokenizer"], 2, "absent.pte"),
        (["m.pte", "--prompt", "x", "--tokenizer", "absent"], 2, "no tokenizer"),
        (["copy.pte", "--prompt", "x"], 2, "there is no copy.tokenizer"),
        (["hf:folder", "--prompt", "x"], 2, "compile it first: et-compile hf:folder -o folder.pte"),
        (["gone.pte", "--prompt", "x"], 2, "gone.pte: AccessFailed (0x22): cannot read the file"),
        (["m.pte", "--prompt", "x " * 60], 2, "do not fit into the context of 48"),
        (["m.pte", "--prompt", ""], 0, ""),
        (["m.pte", "--prompt", "x", "--regex", "("], 2, "ends too early"),
        (["m.pte", "--prompt", "x", "--regex", "a", "--json-schema", "b"], 2, "give one"),
        (["m.pte", "--prompt", "x", "--json-schema", "absent.json"], 2, "absent.json"),
        (["m.pte", "--prompt", "x", "--draft", "m.pte", "--temperature", "1"], 2, "greedy text"),
        (["m.pte", "--prompt", "x", "--draft", "m.pte"], 2, "--all-logits"),
        (["m.pte", "--prompt", "x", "--draft", "relu.pte"], 2, "--draft relu.pte"),
        (["m.pte", "--prompt", "x", "--top-p", "2"], 2, "top_p 2.0: expected"),
        (["m.pte", "--prompt", "x", "--save-session", "absent/s"], 2, "does not exist"),
        (["m.pte", "--prompt", "x", "--save-session", "-"], 2, "not to standard output"),
        (["m.pte", "--prompt", "x", "--save-session", "./m.pte"], 2, "would overwrite an input"),
        (["m.pte", "--prompt", "x", "--save-session", "m.tokenizer/tokenizer.json"], 2, "overwrite an input"),
        (["m.pte", "--prompt", "\udcff"], 2, "not in UTF-8 at character 0"),
        ([".", "--prompt", "x"], 2, ".: is no file"),
        (["-", "--prompt", "-", "--tokenizer", "m.tokenizer"], 2, "standard input is the program"),
        (["-", "--prompt", "x"], 2, "no tokenizer: give --tokenizer"),
    ],
)
def test_refusals(command: Command, line: list[str], code: int, message: str) -> None:
    shutil.copy("m.pte", "copy.pte")
    ran = command("et-vm", "generate", *line, "--max-new-tokens", "2", stdin=b"hi\n")
    assert (ran.code, message in ran.err) == (code, True), ran.err


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="only Linux has a folder of processes")
def test_session_that_cannot_be_written(command: Command) -> None:
    """Also where a superuser has permission to, and any other user has not: told before text is generated."""
    ran = command(*LINE, "--save-session", "/proc/s")
    assert (ran.code, ran.out) == (2, "")
    assert re.search("error: /proc/s: (cannot be written|the folder /proc is not writable)", ran.err)


def test_program_of_another_kind(command: Command) -> None:
    assert command("et-compile", "relu.mlir", "-o", "relu.pte", "-q").code == 0
    for options in (("--tokenizer", "m.tokenizer"), ()):
        ran = command("et-vm", "generate", "relu.pte", "--prompt", "x", *options)
        assert ran.code == 2
        assert "not a language model: 'forward' has 1 input " in ran.err


def test_conversation_at_a_terminal(files: Path) -> None:
    """A prompt mark, and how to leave."""
    import os
    import pty
    import subprocess
    import sys

    (files / "m.tokenizer/chat_template.jinja").write_text(
        "{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    ours, theirs = pty.openpty()
    line = [sys.executable, "-m", "et_tools.et_vm", "generate", "m.pte", "--chat", "--max-new-tokens", "1"]
    with subprocess.Popen(
        line, cwd=files, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, close_fds=True
    ) as ran:
        os.close(theirs)
        os.write(ours, b"hi\n\n\x04")
        assert ran.wait(60) == 0
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "Ctrl-D ends the conversation" in shown
    assert shown.count("> ") == 3


def test_messages_begin_on_a_line_of_their_own(files: Path) -> None:
    import subprocess
    import sys

    line = [sys.executable, "-m", "et_tools.et_vm", *LINE[1:], "--regex", "[0-9]{9}", "--max-new-tokens", "3"]
    ran = subprocess.run(
        line, cwd=files, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, text=True
    )
    assert "\net-vm: warning: the text ends before it matches" in ran.stdout


def test_encoder_decoders(command: Command) -> None:
    """The prompt is the source: another one gives another text, the same one the same."""
    Path("m.pte").write_bytes(compiled_encoder_decoder())
    options = ("--max-new-tokens", "6", "-q")
    first = command(*LINE, *options)
    assert first.code == 0
    assert first.out.strip()
    assert command(*LINE, *options) == first
    other = command("et-vm", "generate", "m.pte", "--prompt", "a module", *options)
    assert other.out != first.out
    begun = command(*LINE, "--max-new-tokens", "2", "-q", "--save-session", "s.safetensors").out
    more = command("et-vm", "generate", "m.pte", "--session", "s.safetensors", "--max-new-tokens", "4", "-q")
    assert begun.removesuffix("\n") + more.out == first.out
    refused = command("et-vm", "generate", "m.pte", "--chat", stdin=b"hello")
    assert (refused.code, "--chat is for models that continue texts" in refused.err) == (2, True)
    refused = command(*LINE, "--draft", "m.pte")
    assert (refused.code, "drafts are for models that continue texts" in refused.err) == (2, True)
    long = command("et-vm", "generate", "m.pte", "--prompt", "import " * 60)
    assert (long.code, "the encoder takes up to 48" in long.err) == (2, True)
