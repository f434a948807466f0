"""A bar on standard error for what takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

__all__ = ["PATIENCE", "progress"]

T = TypeVar("T")

PATIENCE: Final = 1.0
"""Seconds before there is a bar."""


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
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(what, total=len(items), completed=done)
        for item in items[done:]:
            yield item
            bar.advance(task)
