"""Segment trees: the intervals of time that contain a time.

After de Berg, Cheong, van Kreveld, Overmars, "Computational Geometry", §10.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["SegmentTree"]

Item = TypeVar("Item")


class SegmentTree(Generic[Item]):
    """Items with intervals of the times from 0 to `end`; adding one takes O(log `end`), and so does finding those at a
    time, besides what is found. The memory is for what has been added.
    """

    def __init__(self, end: int) -> None:
        self._leaves = 1 << end.bit_length()
        self._nodes: dict[int, list[Item]] = {}

    def add(self, item: Item, first: int, end: int) -> None:
        """Add an item at the times from `first` to `end` - 1."""
        low, high = first + self._leaves, end + self._leaves
        while low < high:
            if low & 1:
                self._nodes.setdefault(low, []).append(item)
                low += 1
            if high & 1:
                high -= 1
                self._nodes.setdefault(high, []).append(item)
            low >>= 1
            high >>= 1

    def at(self, time: int) -> Iterator[Item]:
        """The items at a time; those that were added with several intervals may be there several times."""
        node = time + self._leaves
        while node:
            yield from self._nodes.get(node, ())
            node >>= 1
