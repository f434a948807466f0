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


def shown(monkeypatch: pytest.MonkeyPatch) -> str:
    """What is written to a terminal meanwhile, which pytest would replace when a test begins."""
    terminal = Terminal()
    with monkeypatch.context() as within:
        within.setattr(sys, "stderr", terminal)
        within.setenv("TERM", "xterm")
        assert list(progress([1, 2, 3], "executions")) == [1, 2, 3]
    return terminal.getvalue()


def test_files_get_no_bar(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    assert list(progress([1, 2, 3], "executions")) == [1, 2, 3]
    assert capsys.readouterr().err == ""


def test_what_is_quick_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch) == ""


def test_what_takes_long_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    text = shown(monkeypatch)
    assert "executions" in text
    assert "3/3" in text


def test_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert shown(monkeypatch) == ""
