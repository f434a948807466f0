"""Bars and spinners: on terminals, after a second."""

from __future__ import annotations

import io
import sys
from threading import Event
from types import SimpleNamespace

import pytest

from et_tools import progress as bars
from et_tools.progress import activity, progress


class Terminal(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.spins = Event()

    def isatty(self) -> bool:
        return True

    def write(self, s: str, /) -> int:
        written = super().write(s)
        if "comparing" in s:
            self.spins.set()
        return written


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
    times = iter([10.0, 10.0, 10.3, 10.9])
    monkeypatch.setattr(bars, "time", SimpleNamespace(monotonic=times.__next__))
    assert shown(monkeypatch) == ""
    assert list(times) == []


def test_what_takes_long_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    text = shown(monkeypatch)
    assert "executions" in text
    assert "3/3" in text


def test_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert shown(monkeypatch) == ""


def spun(monkeypatch: pytest.MonkeyPatch, *, until_shown: bool) -> str:
    """What is written to a terminal during an activity."""
    terminal = Terminal()
    with monkeypatch.context() as within:
        within.setattr(sys, "stderr", terminal)
        within.setenv("TERM", "xterm")
        with activity("comparing"):
            if until_shown:
                terminal.spins.wait()
    return terminal.getvalue()


def test_spinner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    assert "comparing" in spun(monkeypatch, until_shown=True)
    monkeypatch.setattr(bars, "PATIENCE", 1e6)
    assert spun(monkeypatch, until_shown=False) == ""


def test_no_spinner_in_files(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "Timer", None)  # not even a thread
    with activity("comparing"):
        pass
    assert capsys.readouterr().err == ""


def test_spinner_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ValueError, match="wrong"), activity("comparing"):
        raise ValueError("wrong")
