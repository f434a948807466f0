"""Ctrl-C as a request to stop: what has been made is kept, and a second one ends the command at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, TextIO

__all__ = ["Interruption"]


class Interruption:
    """A context in which the first SIGINT calls `stop`, and the second one has the action of the system.

    That ends the process wherever it is: in machine code, or in writing to a pipe that nobody reads. The first one ends
    the reading of a line as well. Where SIGINT is ignored or has another handler, it keeps that; in a thread, where
    Python allows no handlers, too.
    """

    def __init__(self, stop: Callable[[], object]) -> None:
        self._stop = stop
        self._reads = False
        self._before: Any = None
        self.is_requested = False
        """Whether a SIGINT has come."""

    def __enter__(self) -> Interruption:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        self.is_requested = True
        self._stop()
        if self._reads:
            raise KeyboardInterrupt

    def read_line(self, stream: TextIO) -> str:
        """The next line of a stream with its end; the empty string at the end of the stream, and when SIGINT comes."""
        self._reads = True
        try:
            return "" if self.is_requested else stream.readline()
        except KeyboardInterrupt:
            return ""
        finally:
            self._reads = False
