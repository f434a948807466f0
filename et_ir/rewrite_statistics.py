"""Counts of rewrites by pattern."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["counted_rewrites", "note_rewrite"]

_current: ContextVar[Counter[str] | None] = ContextVar("rewrites", default=None)


@contextmanager
def counted_rewrites() -> Generator[Counter[str]]:
    """Count the rewrites that happen inside, by the names of patterns."""
    rewrites: Counter[str] = Counter()
    token = _current.set(rewrites)
    try:
        yield rewrites
    finally:
        _current.reset(token)


def note_rewrite(pattern: str) -> None:
    """Count a rewrite where anyone counts."""
    rewrites = _current.get()
    if rewrites is not None:
        rewrites[pattern] += 1
