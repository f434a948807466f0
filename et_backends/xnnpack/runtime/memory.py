"""The memory of the values inside of a graph: from the node that writes a value to the last that reads it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable

import numpy as np

from et_vm.values import Array

ALIGNMENT = 64


def aligned(nbytes: int) -> Array:
    """Uninitialized bytes that begin where a line of the cache does."""
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + nbytes]


def address(array: Array) -> int:
    """Address of an array."""
    place: int = array.__array_interface__["data"][0]
    return place


def same_memory(a: Array | None, b: Array | None) -> bool:
    """Whether two arrays of bytes begin at the same place; None begins nowhere."""
    return a is not None and b is not None and (a is b or address(a) == address(b))


class Pool:
    """Hands out arrays of bytes, those that were given back first: the smallest that is large enough, and of these the
    last that was given back, which the processor's cache is likely to hold. New ones are made by `allocate`.
    """

    __slots__ = ("_allocate", "_free", "_given", "nbytes")

    def __init__(self, allocate: Callable[[int], Array]) -> None:
        self._allocate = allocate
        self._free: list[tuple[int, int, Array]] = []
        """Sorted: bytes, less for what was given back later, the block."""
        self._given = 0
        self.nbytes = 0

    def take(self, nbytes: int) -> Array:
        """At least `nbytes` bytes. Raises what `allocate` raises."""
        best = bisect_left(self._free, nbytes, key=_size)
        # A block much larger than what is asked for is kept for something larger.
        if best < len(self._free) and self._free[best][0] <= 4 * max(nbytes, ALIGNMENT):
            return self._free.pop(best)[2]
        block = self._allocate(nbytes)
        self.nbytes += block.nbytes
        return block

    def give(self, block: Array) -> None:
        """Let others have a block."""
        self._given += 1
        insort(self._free, (block.nbytes, -self._given, block))


def _size(item: tuple[int, int, Array]) -> int:
    return item[0]
