"""Ranges of numbers and bounds of shapes, of which any part may be unknown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["ANY", "Interval", "Sizes", "element_count", "largest", "smallest"]

Sizes = tuple[int | None, ...]
"""The largest size of each dimension; `None` where there is none."""


class Interval(NamedTuple):
    """The numbers from `least` to `most`, `None` where there is no such end."""

    least: int | None = None
    most: int | None = None

    def __and__(self, other: Interval) -> Interval:
        """The numbers that are in both."""
        return Interval(largest_known(self.least, other.least), smallest(self.most, other.most))


ANY = Interval()


def smallest(*bounds: int | None) -> int | None:
    """The tightest of several upper bounds of one size."""
    return min((bound for bound in bounds if bound is not None), default=None)


def largest_known(*bounds: int | None) -> int | None:
    """The tightest of several lower bounds of one number."""
    return max((bound for bound in bounds if bound is not None), default=None)


def largest(*bounds: int | None) -> int | None:
    """An upper bound of the largest of several sizes."""
    return None if None in bounds else max((bound for bound in bounds if bound is not None), default=0)


def element_count(sizes: Iterable[int | None]) -> int | None:
    """An upper bound of the number of elements. No size matters beside one that is 0."""
    count: int | None = 1
    for size in sizes:
        if size == 0:
            return 0
        count = None if size is None or count is None else count * size
    return count
