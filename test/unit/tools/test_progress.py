"""Bars and spinners: on terminals, after a second."""

from __future__ import annotations

import io
import sys
import time

import pytest

from et_tools import progress as bars
from et_tools.progress import activity, progress


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


def spun(monkeypatch: pytest.MonkeyPatch) -> str:
    """What is written to a terminal during an activity."""
    terminal = Terminal()
    with monkeypatch.context() as within:
        within.setattr(sys, "stderr", terminal)
        within.setenv("TERM", "xterm")
        with activity("comparing"):
            end = time.monotonic() + 10
            while bars.PATIENCE == 0 and "comparing" not in terminal.getvalue() and time.monotonic() < end:
                time.sleep(0.01)
    return terminal.getvalue()


def test_spinner(monkeypatch: pytest.MonkeyPatch) -> None:
    assert spun(monkeypatch) == ""
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    assert "comparing" in spun(monkeypatch)


def test_no_spinner_in_files(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    with activity("comparing"):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_spinner_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ValueError, match="wrong"), activity("comparing"):
        raise ValueError("wrong")
