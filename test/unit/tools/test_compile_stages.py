"""The progress of a compilation, on a terminal and in a pipe."""

from __future__ import annotations

import io
import re
import sys
import threading
from pathlib import Path

import pytest
from support.command_line import Command, on_terminal

from et_tools.compile_stages import Stages


class Terminal(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.shown = threading.Semaphore(0)

    def isatty(self) -> bool:
        return True

    def write(self, s: str, /) -> int:
        written = super().write(s)
        if "\rexport" in s:
            self.shown.release()
        return written


def test_a_terminal_shows_the_running_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    before = set(threading.enumerate())
    with Stages(quiet=False, period=0.01) as stages:
        (refreshing,) = set(threading.enumerate()) - before
        stages.start("export")
        for _ in range(3):
            stream.shown.acquire()
        assert stream.getvalue().count("\rexport") >= 3
        assert "ms" not in stream.getvalue()
        stages.done("export")
        assert " ms\n" in stream.getvalue()
        stages.start("import")
    assert stream.getvalue().endswith("\r\x1b[K")
    ended = stream.getvalue()
    refreshing.join()
    assert stream.getvalue() == ended


@pytest.mark.parametrize(("stream", "quiet"), [(io.StringIO(), False), (Terminal(), True)])
def test_nothing_is_shown_meanwhile(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, quiet: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    before = threading.enumerate()
    with Stages(quiet, period=0.001) as stages:
        stages.start("export")
        assert threading.enumerate() == before  # nobody brings a line up to date
        assert stream.getvalue() == ""
        stages.done("export", "a note")
    shown = stream.getvalue()
    assert "\r" not in shown
    assert shown == "" if quiet else shown.startswith("export ") and shown.endswith(" ms  a note\n")


def screen(output: str) -> list[str]:
    """The lines that a terminal of any width shows after some output."""
    lines, column = [""], 0
    for part in re.split(r"(\x1b\[K|\r|\n)", output):
        line = lines[-1]
        match part:
            case "\x1b[K":
                lines[-1] = line[:column]
            case "\r":
                column = 0
            case "\n":
                lines.append("")
                column = 0
            case _:
                lines[-1] = line[:column].ljust(column) + part + line[column + len(part) :]
                column += len(part)
    return lines


SLOW = """
import sys
import threading
from dataclasses import dataclass
from et_tools.compile_stages import Stages
from xdsl.passes import ModulePass

refreshed = threading.Event()

if sys.stderr.isatty():
    show = Stages._show

    def show_and_tell(stages):
        show(stages)
        refreshed.set()

    Stages._show = show_and_tell

def wait():
    if sys.stderr.isatty():
        refreshed.clear()
        refreshed.wait()

@dataclass(frozen=True)
class SlowPass(ModulePass):
    name = "slow"

    def apply(self, ctx, op):
        wait()
        print("}", file=sys.stderr)
        for word in ("begins", " and", " ends"):
            print(word, end="", file=sys.stderr)
            wait()
        print(file=sys.stderr)
"""


def test_what_is_printed_meanwhile_stands_above_the_line(command: Command) -> None:
    """Dumps of the module, and lines that a pass begins and ends later, are the same as in a pipe."""
    Path("slow.py").write_text(SLOW)
    line = ("et-compile", "relu.mlir", "-o", "x.pte", "--load", "slow.py", "--pass", "edge:slow")
    line += ("--print-ir-after-all",)
    shown = on_terminal(*line, NO_COLOR="1")
    assert re.search(r"\rslow +\d+ s\r", shown)
    expected = command(*line).err

    def without_times(lines: list[str]) -> list[str]:
        return [re.sub(r" +[\d.]+ ms", " ms", text.rstrip()) for text in lines]

    assert without_times(screen(shown)) == without_times(expected.split("\n"))
    assert "begins and ends\n" in expected
    assert "IR Dump After slow" in expected


def test_rules_as_data(command: Command) -> None:
    """A pass of xDSL's, whose file has a dialect that programs do not have, in a compilation."""
    Path("rule.mlir").write_text(
        "pdl.pattern : benefit(1) {\n"
        "  %t = pdl.type\n"
        "  %x = pdl.operand : %t\n"
        '  %relu = pdl.operation "edge.relu" (%x : !pdl.value) -> (%t : !pdl.type)\n'
        "  pdl.rewrite %relu {\n"
        '    %neg = pdl.operation "edge.neg" (%x : !pdl.value) -> (%t : !pdl.type)\n'
        "    pdl.replace %relu with %neg\n"
        "  }\n"
        "}\n"
    )
    rule = 'edge:apply-pdl{pdl-file="rule.mlir"}'
    for explain in ((), ("--explain",)):
        ran = command("et-compile", "relu.mlir", "-o", "-", "--emit", "edge", "--pass", rule, *explain)
        assert ran.code == 0
        assert "edge.neg %x" in ran.out
