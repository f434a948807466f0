"""Stopping an execution from another thread.

The loops look at nothing between instructions, so that what is never stopped pays nothing: the interpreter is asked to
raise `Stopped` in the thread of the execution, as it raises KeyboardInterrupt in the main one. That takes effect
between two instructions, or in the middle of one whose kernel is Python code; numpy and machine code return first. It
can only come while the loop runs: inputs are set and outputs collected completely or not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["Stop", "Stopped"]


class Stopped(BaseException):
    """Raised in an execution that is stopped. No Exception, so that kernels and loops let it pass."""


class Stop:
    """Stops one execution, which is in `run`."""

    __slots__ = ("_lock", "_thread", "is_requested")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None
        self.is_requested = False
        """Whether the execution is to stop, or was."""

    def request(self) -> None:
        """Stop the execution if it runs, and keep it from beginning if it does not yet. Does not wait for that."""
        with self._lock:
            if self.is_requested:
                return  # It is raised once, so that nothing comes after what was raised.
            self.is_requested = True
            if self._thread is not None:
                _raise_in(self._thread)

    def run(self, loop: Callable[[], None]) -> None:
        """Run `loop` so that `request` stops it. Raises Stopped, and what `loop` raises.

        `loop` may come to its end in spite of a request: where a finalizer was running, whose exceptions are dropped.
        """
        with self._lock:
            if self.is_requested:
                raise Stopped
            self._thread = threading.get_ident()
        try:
            loop()
        finally:
            # What is raised here is the one Stopped that there is: then nothing is left to be raised later.
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._thread = None
            if self.is_requested:
                _raise_in(threading.get_ident(), nothing=True)


def _raise_in(thread: int, *, nothing: bool = False) -> None:
    """Have the interpreter raise Stopped in a thread; `nothing`: not any more."""
    # Imported here because starting is part of the time that a run takes.
    import ctypes

    exception = None if nothing else ctypes.py_object(Stopped)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)
