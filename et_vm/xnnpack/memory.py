"""The memory of the values inside of a graph: from the node that writes a value to the last that reads it."""

from __future__ import annotations

import numpy as np

from et_schema.errors import OutOfMemory
from et_vm.values import Array

ALIGNMENT = 64
MOST = 2**46
"""More than one value may take; numpy says other things than MemoryError of more."""


class Pool:
    """Hands out arrays of bytes, those that were given back first: the smallest that is large enough, and of these the
    last that was given back, which the processor's cache is likely to hold.
    """

    __slots__ = ("_free", "nbytes")

    def __init__(self) -> None:
        self._free: list[Array] = []
        self.nbytes = 0

    def take(self, nbytes: int) -> Array:
        """At least ``nbytes`` bytes that begin at a multiple of 64. Raises OutOfMemory."""
        best = -1
        for index, block in enumerate(self._free):
            if block.nbytes >= nbytes and (best < 0 or block.nbytes <= self._free[best].nbytes):
                best = index
        # A block much larger than what is asked for is kept for something larger.
        if best >= 0 and self._free[best].nbytes <= 4 * max(nbytes, ALIGNMENT):
            return self._free.pop(best)
        try:
            if nbytes > MOST:
                raise MemoryError
            raw = np.empty(nbytes + ALIGNMENT, np.uint8)
        except MemoryError:
            raise OutOfMemory("no memory for a value of a graph", needed=nbytes) from None
        self.nbytes += raw.nbytes
        skip = -raw.ctypes.data % ALIGNMENT
        return raw[skip : skip + nbytes]

    def give(self, block: Array) -> None:
        """Let others have a block."""
        self._free.append(block)
