"""The memory of the values inside of a graph: from the node that writes a value to the last that reads it."""

from __future__ import annotations

from collections.abc import Callable

from et_vm.values import Array

ALIGNMENT = 64


class Pool:
    """Hands out arrays of bytes, those that were given back first: the smallest that is large enough, and of these the
    last that was given back, which the processor's cache is likely to hold. New ones are made by ``allocate``.
    """

    __slots__ = ("_allocate", "_free", "nbytes")

    def __init__(self, allocate: Callable[[int], Array]) -> None:
        self._allocate = allocate
        self._free: list[Array] = []
        self.nbytes = 0

    def take(self, nbytes: int) -> Array:
        """At least ``nbytes`` bytes. Raises what ``allocate`` raises."""
        best = -1
        for index, block in enumerate(self._free):
            if block.nbytes >= nbytes and (best < 0 or block.nbytes <= self._free[best].nbytes):
                best = index
        # A block much larger than what is asked for is kept for something larger.
        if best >= 0 and self._free[best].nbytes <= 4 * max(nbytes, ALIGNMENT):
            return self._free.pop(best)
        block = self._allocate(nbytes)
        self.nbytes += block.nbytes
        return block

    def give(self, block: Array) -> None:
        """Let others have a block."""
        self._free.append(block)
