"""Standard streams as the commands need them, whatever the shell provides."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from shutil import get_terminal_size
from typing import IO, Final

__all__ = ["UNLIMITED", "fit", "line_width", "standard_streams"]

UNLIMITED: Final = sys.maxsize
"""The width of lines that are not cut."""


def line_width(stream: IO[str], *, wide: bool = False) -> int:
    """The columns at which lines for `stream` are cut: those of a terminal. Files, pipes and `wide` output are not."""
    if wide or not stream.isatty():
        return UNLIMITED
    return max(get_terminal_size().columns, 20)


def fit(text: str, width: int) -> str:
    """`text`, cut in the middle when it is longer than `width`."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + text[-tail:]


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
