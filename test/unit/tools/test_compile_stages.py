"""The progress of a compilation, on a terminal and in a pipe."""

from __future__ import annotations

import io
import sys
import time

import pytest

from et_tools.compile_stages import Stages


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_running_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with Stages(quiet=False, period=0.01) as stages:
        stages.start("export")
        deadline = time.monotonic() + 10
        while stream.getvalue().count("\rexport") < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert stream.getvalue().count("\rexport") >= 3
        assert "ms" not in stream.getvalue()
        stages.done("export")
        assert " ms\n" in stream.getvalue()
        stages.start("import")
    assert stream.getvalue().endswith("\r\x1b[K")
    ended = stream.getvalue()
    time.sleep(0.05)
    assert stream.getvalue() == ended


@pytest.mark.parametrize(("stream", "quiet"), [(io.StringIO(), False), (Terminal(), True)])
def test_nothing_is_shown_meanwhile(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, quiet: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with Stages(quiet, period=0.001) as stages:
        stages.start("export")
        time.sleep(0.02)
        assert stream.getvalue() == ""
        stages.done("export", "a note")
    shown = stream.getvalue()
    assert "\r" not in shown
    assert shown == "" if quiet else shown.startswith("export ") and shown.endswith(" ms  a note\n")
