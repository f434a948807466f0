"""Interrupts, broken pipes, and closed or full streams."""

from __future__ import annotations

import io
import logging
import os
import re
import signal
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command_line import RELU, Command, interruptible

from et_tools.et_vm import main as et_vm
from et_tools.streams import moving, standard_streams


def line(command: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", f"et_tools.{command.replace('-', '_')}", *arguments]


@pytest.fixture
def relu(command: Command) -> Path:
    assert command("et-compile", "relu.mlir", "-o", "relu.pte", "-q").code == 0
    return Path("relu.pte")


@pytest.mark.parametrize(
    ("arguments", "outputs"),
    [
        (("et-opt", "pipe.mlir", "-o", "out.mlir"), ["out.mlir"]),
        (("et-compile", "pipe.mlir", "-o", "out.pte", "--debug-map", "map.json"), ["out.pte", "map.json"]),
        (("et-translate", "--mlir-to-pte", "pipe.mlir", "-o", "out.pte"), ["out.pte"]),
        (("et-vm", "run", "relu.pte", "--input", "pipe.npy", "--output-dir", "."), ["output_0.npy"]),
    ],
    ids=lambda value: value[0],
)
def test_ctrl_c(relu: Path, arguments: tuple[str, ...], outputs: list[str]) -> None:
    """A command that waits for its input: opening the other end of the pipe waits until it does."""
    pipe = next(word for word in arguments if word.startswith("pipe"))
    os.mkfifo(pipe)
    for output in outputs:
        Path(output).write_bytes(b"before")
    there = sorted(Path.cwd().iterdir())
    with interruptible(*arguments, text=True) as process, open(pipe, "wb"):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert err == f"{arguments[0]}: interrupted\n"
    assert sorted(Path.cwd().iterdir()) == there
    for output in outputs:
        assert Path(output).read_bytes() == b"before"


ENDLESS = """
import sys
import unicodedata
from dataclasses import dataclass
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from et_ir.dialects.aten import ops as aten

class Again(RewritePattern):
    def __init__(self):
        self.count = 0

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.ReluOp, rewriter: PatternRewriter):
        rewriter.replace(op, aten.ReluOp.make(op.self))
        self.count += 1
        if self.count == 100:
            print("on and on", file=sys.stderr, flush=True)

@dataclass(frozen=True)
class EndlessPass(ModulePass):
    name = "endless"

    def apply(self, ctx, op):
        PatternRewriteWalker(Again()).rewrite_module(op)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("et-opt", "-p", "endless", "relu.mlir"),
        ("et-compile", "-q", "--pass", "aten:endless", "relu.mlir", "-o", "x.pte"),
    ],
    ids=lambda value: value[0],
)
def test_ctrl_c_names_the_pattern_that_does_not_end(relu: Path, arguments: tuple[str, ...]) -> None:
    """Of xDSL's walker, which no limit stops."""
    Path("endless.py").write_text(ENDLESS)
    with interruptible(*arguments, "--load", "endless.py", text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "on and on\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    # What the signal interrupts while it is written may be written again.
    last = err.splitlines()[-1]
    where = r"in the pattern Again on 'aten.relu' of the pass 'endless'"
    assert re.fullmatch(rf"{arguments[0]}: interrupted at endless.py:\d+ in \w+, {where}", last), err


def half(part: bytes) -> Callable[..., Any]:
    """Writes a part of a file, then Ctrl-C comes."""

    def write(_: object, stream: Any, *rest: object) -> None:
        stream.write(part)
        raise KeyboardInterrupt

    return write


def test_ctrl_c_while_a_file_is_written(
    command: Command, relu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("et-compile", "relu.mlir", "--emit", "executorch", "-o", "plan.mlir", "-q").code == 0
    before = relu.read_bytes()
    monkeypatch.setattr("et_ir.emit.write", half(b"\0\0\0\0ET12"))
    assert command("et-compile", "relu.mlir", "-o", "relu.pte", "-q").code == 130
    assert command("et-translate", "--mlir-to-pte", "plan.mlir", "-o", "relu.pte").code == 130
    assert relu.read_bytes() == before
    assert command("et-compile", "relu.mlir", "-o", "new.pte", "-q").code == 130
    assert not Path("new.pte").exists()


def test_ctrl_c_while_weights_are_written(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text and its weights: both, or neither."""
    line = ("et-compile", "subjects.py:net", "--emit", "edge", "-q", "-o")
    assert command(*line, "net.mlir").code == 0
    there = {path: path.read_bytes() for path in Path.cwd().glob("net.*")}
    assert len(there) == 2

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("et_ir.text.write_store", interrupted)
    assert command(*line, "net.mlir").code == 130
    assert command("et-opt", "net.mlir", "-g", "-o", "net.mlir").code == 130
    assert {path: path.read_bytes() for path in Path.cwd().glob("net.*")} == there
    assert command("et-opt", "net.mlir", "-o", "new.mlir").code == 130
    assert not list(Path.cwd().glob("new.*"))


def test_ctrl_c_while_outputs_are_written(
    command: Command, relu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numpy.save", lambda stream, *_, **__: half(b"\x93NUMPY")(None, stream))
    assert command("et-vm", "run", "relu.pte", "--output-dir", "out").code == 130
    assert not list(Path("out").iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ("et-opt", "long.mlir"),
        ("et-compile", "long.mlir", "--emit", "aten", "-q"),
        ("et-translate", "--pte-to-mlir", "relu.pte"),
        ("et-vm", "info", "relu.pte", "--json"),
    ],
    ids=lambda value: value[0],
)
def test_a_reader_that_goes_away(relu: Path, arguments: tuple[str, ...]) -> None:
    """As with `| head -1`: after a part of what does not fit the pipe, or before it has read anything."""
    body = "".join(f"  %{n + 1} = aten.relu %{n} : tensor<4xf32>\n" for n in range(3000))
    Path("long.mlir").write_text(
        RELU.split("\n")[0].replace("%x", "%0") + f"\n{body}  func.return %3000 : tensor<4xf32>\n}}\n"
    )
    process = subprocess.Popen(line(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    if arguments[1] == "long.mlir":
        assert process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), err) == (0, b"")


def shell(command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-c", command], capture_output=True, check=False)


def test_messages_that_nobody_reads_do_not_stop_the_work(relu: Path) -> None:
    compiling = " ".join(line("et-compile", "relu.mlir"))
    assert shell(f"{compiling} -o again.pte 2>&1 | true; exit ${{PIPESTATUS[0]}}").returncode == 0
    assert Path("again.pte").read_bytes() == relu.read_bytes()
    Path("again.pte").unlink()
    assert shell(f"{compiling} -o again.pte 2>/dev/full").returncode == 0
    assert Path("again.pte").read_bytes() == relu.read_bytes()


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams(relu: Path, closed: str) -> None:
    done = shell(f"{' '.join(line('et-translate', '--pte-to-mlir', 'relu.pte', '-o', 'out.mlir'))} {closed}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "aten::relu.out" in Path("out.mlir").read_text()
    done = shell(f"{' '.join(line('et-vm', 'validate', '-'))} {closed}")
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("buffering", ["-u PYTHONUNBUFFERED", "PYTHONUNBUFFERED=1"])
def test_a_full_disk(relu: Path, buffering: str) -> None:
    done = shell(f"env {buffering} {' '.join(line('et-vm', 'info', 'relu.pte'))} >/dev/full")
    assert (done.returncode, done.stderr) == (2, b"et-vm: error: standard output: No space left on device\n")


@pytest.mark.parametrize(
    ("arguments", "device"),
    [
        (("et-vm", "report", "relu.pte", "-o", "/dev/full"), "/dev/full: No space left"),
        (("et-vm", "profile", "relu.pte", "--no-peak", "--trace", "/dev/full"), "/dev/full: No space left"),
        (
            ("et-vm", "profile", "relu.pte", "--no-peak", "--write-etdump", "/dev/full"),
            "/dev/full: AccessFailed (0x22): cannot write the file: No space left",
        ),
    ],
    ids=lambda value: value[-2] if isinstance(value, tuple) else "",
)
def test_a_full_device_is_named(
    command: Command, relu: Path, arguments: tuple[str, ...], device: str
) -> None:
    ran = command(*arguments)
    assert ran.code == 2
    assert ran.err.startswith(f"et-vm: error: {device}")


def test_streams_that_outlive_their_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler of a logger that is made within a command, as imports make them."""
    below = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stderr", below)
    with standard_streams():
        handler = logging.StreamHandler()
        stream, cursor = sys.stderr, moving(sys.stderr)
        handler.emit(logging.makeLogRecord({"msg": "within\a"}))
    assert sys.stderr is below
    handler.emit(logging.makeLogRecord({"msg": "after\a"}))
    cursor.write("moved\r")
    stream.writelines(["one\n", "two\n"])
    assert stream.isatty() is False
    stream.flush()
    below.flush()
    assert below.buffer.getvalue() == b"within\\x07\nafter\\x07\nmoved\rone\ntwo\n"
    del stream, cursor, handler
    below.write("open\n")


def test_standard_error_that_outlives_its_command() -> None:
    text = (
        "import logging, sys; from et_tools.streams import standard_streams\n"
        "with standard_streams(): handler = logging.StreamHandler()\n"
        "logging.getLogger().addHandler(handler); logging.warning('after')"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, check=True, text=True)
    assert done.stderr == "after\n"
    done = shell(f'{sys.executable} -c "{text}" 2>&-')
    assert done.returncode == 0


def test_files_on_standard_output(relu: Path) -> None:
    """A .pte is the same bytes, whatever the encoding of standard output."""
    done = subprocess.run(
        line("et-compile", "relu.mlir", "-o", "-", "-q"),
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == relu.read_bytes()


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_lines_are_cut_on_terminals_only(relu: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")

    def widest(stream: io.StringIO, *options: str) -> int:
        monkeypatch.setattr(sys, "stdout", stream)
        assert et_vm(["info", str(relu), "--plan", *options]) == 0
        return max(map(len, stream.getvalue().splitlines()))

    assert widest(Terminal()) == 40
    assert widest(Terminal(), "--wide") == widest(io.StringIO()) > 80


HOSTILE = """executorch.plan @"a\\1B]0;title\\07\\1B[2J\\0Db\\C2\\9B2J\\1B[8m\\E2\\80\\AE" {arenas = array<i64: 32>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %0 = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%0)
  executorch.return %0
}
"""
SHOWN = r"a\x1b]0;title\x07\x1b[2J\rb\x9b2J\x1b[8m\u202e"


@pytest.mark.parametrize(
    "line",
    [
        ("info", "a.pte"),
        ("run", "a.pte"),
        ("validate", "a.pte"),
        ("diff", "a.pte", "relu.pte"),
        ("disassemble", "a.pte"),
    ],
    ids=lambda line: line[0],
)
def test_names_from_files_do_not_control_the_terminal(
    command: Command, relu: Path, line: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    Path("a.mlir").write_text(HOSTILE)
    assert command("et-translate", "--mlir-to-pte", "a.mlir", "-o", "a.pte").code == 0
    et_vm(list(line))
    printed = "".join(capfd.readouterr())
    assert not [
        letter for letter in printed if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf")
    ]
    if line[0] not in ("validate", "disassemble"):
        assert SHOWN in printed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;32mgood\x1b[m", "\x1b[1;32mgood\x1b[m"),
        ("\x1b[0m\x1b[2m\x1b[93m\x1b[39m", "\x1b[0m\x1b[2m\x1b[93m\x1b[39m"),
        ("\x1b[8mhidden", r"\x1b[8mhidden"),
        ("\x1b[1;7m\x1b[5m", r"\x1b[1;7m\x1b[5m"),
        ("\x1b[30;40m\x1b[38;5;0m", r"\x1b[30;40m\x1b[38;5;0m"),
        ("abc\u202ecba\u2066\u200f", "abc\\u202ecba\\u2066\u200f"),
        ("é\u200d\u2028", "é\u200d\u2028"),
    ],
)
def test_sequences_that_hide_and_reorder_text(
    text: str, shown: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of what has no effect beyond colour, nothing is escaped."""
    with standard_streams():
        sys.stdout.write(text)
        sys.stdout.flush()
    assert capfd.readouterr().out == shown


def test_colours_are_not_escaped(command: Command) -> None:
    assert "\x1b[" in command("et-vm", "info", "no.pte", "--color", "always").err
