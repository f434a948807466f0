"""Standard streams as the commands need them, whatever the shell provides."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from shutil import get_terminal_size
from typing import IO, Any, Final, cast

__all__ = ["UNLIMITED", "content", "fit", "line_width", "moving", "standard_streams"]

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


_COLOR: Final = "(?:[0-4]|22|[39][1-7]|39)"
_CONTROLS: Final = re.compile(
    f"\x1b(?!\\[(?:{_COLOR}(?:;{_COLOR})*)?m)"
    "|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
"""Control characters but for tabs, ends of lines, and sequences that select colours in which text is seen; and those of
Unicode that change the order in which text is shown.
"""


class _Printed(io.TextIOWrapper):
    """A stream on which names and texts from files cannot control the terminal: they could clear it, set its title,
    or overwrite other lines.

    It may outlive its command, as in a handler of a logger: what is written later goes to the stream that it took the
    place of.
    """

    _is_over = False
    _before: IO[str] | None = None

    def write(self, text: str, /) -> int:
        self.write_unescaped(_CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text))
        return len(text)

    def write_unescaped(self, text: str) -> int:
        """Write a text as it is."""
        if not self._is_over:
            return super().write(text)
        return len(text) if self._before is None else self._before.write(text)

    def writelines(self, lines: Iterable[str], /) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if not self._is_over:
            super().flush()
        elif self._before is not None:
            self._before.flush()

    def isatty(self) -> bool:
        if not self._is_over:
            return super().isatty()
        return self._before is not None and self._before.isatty()

    def give_way(self, before: IO[str] | None) -> None:
        """End the command: the stream below, and the one that was there `before`, if any, outlive this one."""
        with suppress(OSError, ValueError):
            self.detach()
        self._is_over, self._before = True, before


class _Unescaped:
    """The stream below, for what moves the cursor."""

    def __init__(self, stream: _Printed) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        return self._stream.write_unescaped(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def moving(stream: IO[str]) -> IO[str]:
    """A standard stream on which the command itself moves the cursor: what it writes is not escaped."""
    return cast("IO[str]", _Unescaped(stream)) if isinstance(stream, _Printed) else stream


def content(stream: IO[str]) -> IO[str]:
    """A standard stream for what a program has made, such as the text of a language model: it is escaped on terminals
    alone, as elsewhere it is data.
    """
    return stream if stream.isatty() else moving(stream)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Within, a stream that the shell has closed is empty or takes everything, a letter that a terminal lacks is
    escaped as are control characters, and messages that nobody reads any more are dropped.
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
            sys.stderr = _Printed(
                io.BufferedWriter(messages),
                sys.stderr.encoding,
                "backslashreplace",
                line_buffering=True,
                write_through=True,
            )
        printed = [_printed(stream) for stream in (sys.stdout, sys.stderr)]
        sys.stdout, sys.stderr = printed
        try:
            yield
        finally:
            for stream, earlier in zip(printed, before[1:], strict=True):
                if isinstance(stream, _Printed) and stream is not earlier:
                    stream.give_way(earlier)
            sys.stdin, sys.stdout, sys.stderr = before


def _printed(stream: IO[str]) -> IO[str]:
    """A stream as `_Printed`; one that has no bytes below stays what it is."""
    if isinstance(stream, _Printed) or not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    return _Printed(
        stream.buffer,
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
