"""Bars and spinners for what takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import Any, Final, TypeVar

from et_tools.streams import moving

__all__ = ["PATIENCE", "activity", "progress"]

T = TypeVar("T")

PATIENCE: Final = 1.0
"""Seconds before either is shown."""


def progress(items: Sequence[T], what: str) -> Iterator[T]:
    """The items; on a terminal, after a second, with a bar of how many of them are done, which goes in the end.

    Without the package rich, which `et-vm` does not need otherwise, there is none.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    start = time.monotonic()
    for at, item in enumerate(items):
        if time.monotonic() - start >= PATIENCE:
            yield from _with_bar(items, at, what)
            return
        yield item


def _with_bar(items: Sequence[T], done: int, what: str) -> Iterator[T]:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield from items[done:]
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=moving(sys.stderr)), transient=True) as bar:
        task = bar.add_task(what, total=len(items), completed=done)
        for item in items[done:]:
            yield item
            bar.advance(task)


@contextmanager
def activity(what: str) -> Iterator[None]:
    """A context of what has no steps to count: on a terminal, after a second, a spinner, which goes in the end.

    Without the package rich, there is none.
    """
    shown: list[Any] = []

    def show() -> None:
        try:
            from rich.console import Console
        except ImportError:
            return
        status = Console(file=moving(sys.stderr)).status(what)
        status.start()
        shown.append(status)

    if not sys.stderr.isatty():
        yield
        return
    timer = Timer(PATIENCE, show)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for status in shown:
            status.stop()
