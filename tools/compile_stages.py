"""The progress of a compilation: a line per stage, and on a terminal what is running."""

from __future__ import annotations

import io
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Self

from et_ir.driver.observer import Observer
from et_tools.streams import moving

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

__all__ = ["Stages"]

CLEAR = "\r\x1b[K"
"""To the start of the line, and erase it."""


class Stages(Observer):
    """Prints a line per stage on stderr: its name, its time, and how many ops the level has.

    On a terminal, the last line is what is running, a stage or a pass, and for how many seconds, brought up to date
    every `period` seconds; leaving the context erases it. Meanwhile, what is written to `sys.stderr` comes above it.
    """

    def __init__(self, quiet: bool, period: float = 0.5):
        self.quiet = quiet
        self.period = period
        self.last = time.perf_counter()
        self.levels: dict[str, Counter[str]] = {}
        # Kept, because while torch exports, `sys.stderr` is another.
        self.stream = sys.stderr
        self._cursor = moving(self.stream)
        self._live = not quiet and self.stream.isatty()
        self._running = ""
        self._since = self.last
        self._inside = False  # a line that others have begun
        self._lock = threading.RLock()
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        if self._live:
            sys.stderr = _Above(self)
            threading.Thread(target=self._refresh, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._run("")
        if self._live:
            sys.stderr = self.stream

    def start(self, stage: str) -> None:
        """A stage begins, and its time."""
        self.last = time.perf_counter()
        self._run(stage)

    def done(self, stage: str, note: str = "") -> None:
        """A stage has ended; its time is what has passed since the last."""
        now = time.perf_counter()
        self._run("")
        if not self.quiet:
            print("\n" * self._inside, end="", file=self.stream)
            self._inside = False
            print(f"{stage:<12} {(now - self.last) * 1e3:9.1f} ms  {note}".rstrip(), file=self.stream)
        self.last = time.perf_counter()

    def before_pass(self, one: ModulePass, module: ModuleOp) -> None:
        """A pass is about to run."""
        # Shown with the next refresh: most passes end before it.
        self._running, self._since = one.name, time.perf_counter()

    def reached(self, level: str, module: ModuleOp) -> None:
        """The program is at a level."""
        from et_ir.analysis.op_counts import count_ops, ops_in_words

        self.levels[level] = count_ops(module)
        self.done(level, ops_in_words(self.levels[level]))

    def write(self, text: str) -> None:
        """Write what others have for the terminal in the place of the line, which comes back below it."""
        with self._lock:
            if not self._inside:
                self._cursor.write(CLEAR)
            self.stream.write(text)
            self.stream.flush()
            self._inside = not text.endswith("\n")

    def _run(self, name: str) -> None:
        """Show what is running, or nothing."""
        self._running, self._since = name, time.perf_counter()
        if self._live:
            with self._lock:
                self._show()

    def _show(self) -> None:
        if self._inside:
            return
        seconds = time.perf_counter() - self._since
        # The cursor goes back to the start: what the user's code prints past Python is written over this.
        self._cursor.write(f"{CLEAR}\r{self._running:<12} {seconds:7.0f} s\r" if self._running else CLEAR)
        self.stream.flush()

    def _refresh(self) -> None:
        while not self._ended.wait(self.period):
            with self._lock:
                if self._running and not self._ended.is_set():
                    self._show()


class _Above(io.TextIOBase):
    """Standard error while a line of progress is on the terminal."""

    def __init__(self, stages: Stages):
        self._stages = stages

    def write(self, s: str, /) -> int:
        if s:
            self._stages.write(s)
        return len(s)

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stages.stream.fileno()

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._stages.stream.encoding
