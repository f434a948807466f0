"""Planning in one walk through time, as an allocator does.

It is for more buffers than can be placed any other way.

At its first use a buffer takes the smallest free piece that holds it, of equal ones the lowest, else memory above all
that is used; after its last use its memory is free, joined with what is free beside it. Of buffers with one first use
the largest comes first. Free pieces are kept by size: O(log n) comparisons for each buffer. Best fit with coalescing is
in Knuth, "The Art of Computer Programming", volume 1, 2.5.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from et_ir.planning.buffer import Buffer, Layout, align_up
from et_ir.planning.lower_bounds import granule_of

__all__ = ["plan_sweep"]


def plan_sweep(buffers: Sequence[Buffer], *, backwards: bool = False) -> Layout:
    """The layout of a best-fit allocator that goes through time, or through time backwards.

    Gaps are not used: a buffer keeps its memory from its first to its last time.
    """
    granule = granule_of(buffers)
    births: list[tuple[int, int, int]] = []
    deaths: list[tuple[int, int]] = []
    for index, buffer in enumerate(buffers):
        if buffer.size:
            first, last = (-buffer.last, -buffer.first) if backwards else (buffer.first, buffer.last)
            births.append((first, -buffer.size, index))
            deaths.append((last, index))
    births.sort()
    deaths.sort()
    offsets = [0] * len(buffers)
    heap = _Heap(granule)
    dead = 0
    for first, _, index in births:
        while deaths[dead][0] < first:
            died = deaths[dead][1]
            heap.free(offsets[died], align_up(buffers[died].size, granule))
            dead += 1
        buffer = buffers[index]
        offsets[index] = heap.take(align_up(buffer.size, granule), buffer.alignment)
    return Layout(tuple(offsets), heap.size)


class _Heap:
    """Memory from 0 to `size`, which grows, and what is free in it."""

    def __init__(self, granule: int):
        self.size = 0
        self._granule = granule
        self._by_size: list[tuple[int, int]] = []
        """Size and start of each free block, in order."""
        self._ends: dict[int, int] = {}
        """The end of the free block at each start."""
        self._starts: dict[int, int] = {}

    def take(self, need: int, alignment: int) -> int:
        """The offset of `need` bytes, a multiple of the granule as the alignment."""
        # A block with as much to spare holds the buffer wherever it starts.
        spare = alignment - self._granule
        at = bisect_left(self._by_size, (need + spare, 0))
        if at < len(self._by_size):
            start = self._by_size[at][1]
            end = self._ends[start]
            self._drop(start, end)
        else:
            # The block below the end grows with the memory.
            end = self.size
            start = self._starts.get(end, end)
            if start < end:
                self._drop(start, end)
            end = max(align_up(start, alignment) + need, end)
            self.size = end
        offset = align_up(start, alignment)
        self._keep(start, offset)
        self._keep(offset + need, end)
        return offset

    def free(self, start: int, need: int) -> None:
        end = start + need
        if start in self._starts:
            below = self._starts[start]
            self._drop(below, start)
            start = below
        if end in self._ends:
            above = self._ends[end]
            self._drop(end, above)
            end = above
        self._keep(start, end)

    def _keep(self, start: int, end: int) -> None:
        if start < end:
            insort(self._by_size, (end - start, start))
            self._ends[start] = end
            self._starts[end] = start

    def _drop(self, start: int, end: int) -> None:
        del self._by_size[bisect_left(self._by_size, (end - start, start))]
        del self._ends[start]
        del self._starts[end]
