"""Standard input, output and error as the commands need them, whatever the shell has made of them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["standard_streams"]


class _Messages(io.FileIO):
    """Standard error, which does not end the work when messages have no reader, or no place on a full disk."""

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # pyright: ignore[reportArgumentType]  (any buffer)
        except OSError:
            return memoryview(data).nbytes  # pyright: ignore[reportArgumentType]


@contextmanager
def standard_streams() -> Iterator[None]:
    """Within, a stream that the shell has closed is empty or takes everything, a letter that a terminal lacks is
    escaped, and messages that nobody reads any more are dropped.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    with ExitStack() as opened:
        # In this order each gets the descriptor that is its own, and no output file gets it.
        if sys.stdin is None:
            sys.stdin = opened.enter_context(open(os.devnull, encoding="utf-8"))
        if sys.stdout is None:
            sys.stdout = opened.enter_context(open(os.devnull, "w", encoding="utf-8"))
        if sys.stderr is None:
            sys.stderr = opened.enter_context(open(os.devnull, "w", encoding="utf-8"))
        elif sys.stderr is sys.__stderr__:
            messages = _Messages(sys.stderr.fileno(), "w", closefd=False)
            sys.stderr = io.TextIOWrapper(
                io.BufferedWriter(messages), sys.stderr.encoding, line_buffering=True, write_through=True
            )
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            yield
        finally:
            sys.stdin, sys.stdout, sys.stderr = before
