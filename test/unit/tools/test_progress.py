"""Bars of progress: on terminals, after a second."""

from __future__ import annotations

import io
import sys

import pytest

from et_tools import progress as bars
from et_tools.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_files_get_no_bar(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    assert list(progress([1, 2, 3], "executions")) == [1, 2, 3]
    assert capsys.readouterr().err == ""


def test_what_is_quick_gets_no_bar(terminal: Terminal) -> None:
    assert list(progress([1, 2, 3], "executions")) == [1, 2, 3]
    assert terminal.getvalue() == ""


def test_what_takes_long_gets_a_bar(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    assert list(progress([1, 2, 3], "executions")) == [1, 2, 3]
    assert "executions" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_without_rich(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert list(progress([1, 2, 3], "executions")) == [1, 2, 3]
    assert terminal.getvalue() == ""
