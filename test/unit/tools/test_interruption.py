"""Ctrl-C in et-vm generate: text and session so far are kept; a second one ends the process at once."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from fcntl import F_SETPIPE_SZ, fcntl, ioctl
from pathlib import Path
from termios import FIONREAD
from typing import Any

import pytest
from language_models import hf, random_model
from support.command_line import Command, interruptible
from support.language_model import compiled, tokenizer

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.language_models import CachedDecoder, Sizes, export_decoder, metadata
from et_tools.interruption import Interruption
from et_vm.llm import Session

LINE = ("et-vm", "generate", "m.pte", "--prompt", "the import")
SAVED = ("--save-session", "s.safetensors")
CONTINUED = ("et-vm", "generate", "m.pte", "--session", "s.safetensors", "-q", "--max-new-tokens")
CHAT = ("et-vm", "generate", "m.pte", "--chat", *SAVED)
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}bot:"
CONTEXT = 30_000
"""More tokens than a process generates before it is interrupted."""


@pytest.fixture(autouse=True)
def files(workplace: Path) -> Path:
    """A model, with its tokenizer beside it."""
    (workplace / "m.pte").write_bytes(compiled())
    tokenizer(workplace / "m.tokenizer")
    (workplace / "m.tokenizer" / "chat_template.jinja").write_text(TEMPLATE)
    return workplace


@pytest.fixture
def interrupt_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Has SIGINT come while the n-th token is read."""

    def interrupt(last: int) -> None:
        count = 0
        advance = Session.advance

        def counted(session: Session, token: int) -> Any:
            nonlocal count
            count += 1
            if count == last:
                signal.raise_signal(signal.SIGINT)
            return advance(session, token)

        monkeypatch.setattr(Session, "advance", counted)

    # Whoever starts the tests in the background has them ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield interrupt
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def test_text_that_is_interrupted(command: Command, interrupt_at: Callable[[int], None]) -> None:
    whole = command(*LINE, "-q", "--max-new-tokens", "12").out
    interrupt_at(7)
    ran = command(*LINE, *SAVED)
    assert ran.code == 130
    assert re.search(r"generated 7, [0-9.]+ tokens/s.*\net-vm: interrupted\n$", ran.err)
    assert ran.out.removesuffix("\n") + command(*CONTINUED, "5").out == whole


def test_record_of_a_text_that_is_interrupted(command: Command, interrupt_at: Callable[[int], None]) -> None:
    text = command(*LINE, "-q", "--max-new-tokens", "7").out
    interrupt_at(7)
    ran = command(*LINE, "--json")
    assert (ran.code, ran.err) == (130, "et-vm: interrupted\n")
    record = json.loads(ran.out)
    assert (record["text"] + "\n", record["num_generated_tokens"]) == (text, 7)


def test_constraint_that_is_interrupted(command: Command, interrupt_at: Callable[[int], None]) -> None:
    interrupt_at(2)
    ran = command(*LINE, "-q", "--regex", "[0-9]{9}")
    assert ran == (130, ran.out, "et-vm: interrupted\n")
    assert len(ran.out) > 2
    interrupt_at(2)
    ran = command(*LINE, "--regex", "[0-9]{9}")
    assert "warning: the text ends before it matches --regex: interrupted\n" in ran.err


def test_conversation_that_is_interrupted(command: Command, interrupt_at: Callable[[int], None]) -> None:
    """The messages behind are not answered."""
    interrupt_at(7)
    ran = command(*CHAT, "--max-new-tokens", "5", stdin=b"hi\nthe\na\n")
    assert ran.code == 130
    assert re.findall(r"generated (\d+)", ran.err) == ["5", "2"]
    assert ran.err.endswith("et-vm: interrupted\n")
    assert command(*CONTINUED, "3").code == 0


def test_stop_before_the_generation(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that a generation forgets where it begins stops it at its first text."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    enter = Interruption.__enter__

    def interrupted(interruption: Interruption) -> Interruption:
        entered = enter(interruption)
        signal.raise_signal(signal.SIGINT)
        return entered

    monkeypatch.setattr(Interruption, "__enter__", interrupted)
    ran = command(*LINE)
    assert ran.code == 130
    assert re.search(r"generated [1-3], ", ran.err)
    ran = command(*CHAT, stdin=b"hi\n")
    assert (ran.code, ran.out) == (130, "")
    signal.signal(signal.SIGINT, before)


def test_other_handlers_are_kept() -> None:
    """Also in threads, where Python allows none to be set."""

    def enter() -> None:
        with Interruption(list) as interruption:
            found.append((signal.getsignal(signal.SIGINT), interruption.is_requested))

    found: list[tuple[object, bool]] = []
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    enter()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, before)
    assert found == [(signal.SIG_IGN, False), (signal.default_int_handler, False)]


# Processes


@pytest.fixture(scope="module")
def endless() -> bytes:
    """A model whose texts do not end by themselves."""
    sizes = Sizes(CONTEXT, 8)
    config = hf.LlamaConfig(
        vocab_size=280, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1,
        num_key_value_heads=1, max_position_embeddings=CONTEXT, bos_token_id=0, eos_token_id=None,
        initializer_range=0.3,
    )  # fmt: skip
    model = random_model(config)
    with warnings.catch_warnings(action="ignore"):
        found = export_decoder(CachedDecoder(model, sizes), sizes)
        constants = metadata(model, context=sizes.context, chunk=found.chunk)
        edge = to_edge(found.programs, constant_methods=constants)
        return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


def test_process_that_is_interrupted(command: Command, endless: bytes) -> None:
    Path("m.pte").write_bytes(endless)
    with interruptible(*LINE, *SAVED) as running:
        assert running.stdout is not None
        first = os.read(running.stdout.fileno(), 1)
        running.send_signal(signal.SIGINT)
        rest, err = running.communicate()
    assert running.returncode == 130
    told = re.search(rb"generated (\d+), [0-9.]+ tokens/s.*\net-vm: interrupted\n$", err)
    assert told is not None, err
    text = (first + rest).decode().removesuffix("\n")
    whole = command(*LINE, "-q", "--max-new-tokens", str(int(told[1]) + 5)).out
    assert text + command(*CONTINUED, "5").out == whole


def test_second_interrupt(endless: bytes) -> None:
    """It ends a process that waits for the reader of its text, which the first one cannot."""
    Path("m.pte").write_bytes(endless)
    reader, writer = os.pipe()
    room = len("the import")
    capacity = fcntl(writer, F_SETPIPE_SZ, 4096)
    os.write(writer, bytes(capacity - room))
    with interruptible(*LINE, *SAVED, "--echo", stdout=writer) as running:
        while waiting(reader) < capacity:  # until there is room for no more than the prompt
            assert running.poll() is None
            threading.Event().wait(0.01)
        while running.poll() is None:
            running.send_signal(signal.SIGINT)
            threading.Event().wait(0.05)
        _, err = running.communicate()
    os.close(reader)
    os.close(writer)
    assert running.returncode == -signal.SIGINT
    assert b"Traceback" not in err
    assert not Path("s.safetensors").exists()


def waiting(pipe: int) -> int:
    """The number of bytes in a pipe."""
    return int.from_bytes(ioctl(pipe, FIONREAD, bytes(4)), sys.byteorder)


def test_conversation_that_waits(command: Command) -> None:
    """On a terminal: Ctrl-C in the place of a message ends the conversation, whose session is saved."""
    control, terminal = pty.openpty()
    with interruptible(*CHAT, "--max-new-tokens", "3", stdin=terminal) as running:
        os.write(control, b"hi\n")
        assert running.stderr is not None
        assert b"generated 3, " in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    os.close(control)
    os.close(terminal)
    assert (running.returncode, err) == (130, b"et-vm: interrupted\n")
    assert out
    assert command(*CONTINUED, "3").code == 0
