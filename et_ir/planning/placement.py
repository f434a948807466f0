"""Best-fit placement of buffers, one after the other.

Each goes where it fits best among those that are needed at the same time.

Placed buffers are kept in slices of time, about as wide as a buffer is long on average: a buffer then stands in two or
three slices, however many buffers and times there are, and to place one is to look at those of its own slices. What a
placement costs is counted in `looks`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence

from et_ir.planning.buffer import Buffer, Layout, align_up
from et_ir.planning.lower_bounds import granule_of

__all__ = ["Placement", "overlapping_pairs"]

Entry = tuple[int, int, int, int]
"""A placed buffer in a slice: start and end in memory, first and last time."""


class Placement:
    """Buffers that are placed, again and again, in one order or another."""

    def __init__(self, buffers: Sequence[Buffer]):
        self.buffers = buffers
        self.granule = granule_of(buffers)
        self.needed = [align_up(buffer.size, self.granule) for buffer in buffers]
        """The bytes of each buffer, up to the granule."""
        self.looks = 0
        """Placed buffers that have been looked at to place others, so far."""
        spans = [buffer.spans for buffer in buffers]
        times = [last - first + 1 for each in spans for first, last in each]
        self._begin = min((buffer.first for buffer in buffers), default=0)
        self._width = max(1, sum(times) // max(1, len(times)))
        begin, width = self._begin, self._width
        self._slots = [
            [(first, last, (first - begin) // width, (last - begin) // width + 1) for first, last in each]
            for each in spans
        ]
        """For each buffer and each of its spans first and last time, and the range of slices."""
        self._count = 1 + (max((buffer.last for buffer in buffers), default=0) - begin) // width

    def place(self, order: Sequence[int]) -> Layout:
        """Place buffers in an order of their indices, each in the smallest gap that holds it, else behind what it
        overlaps.
        """
        buffers, needed = self.buffers, self.needed
        # Long lists of slices that nothing is in cost nothing.
        slices: dict[int, list[Entry]] = {}
        offsets = [0] * len(buffers)
        size = 0
        for index in order:
            need = needed[index]
            if not need:
                continue
            slots = self._slots[index]
            offset = self._best_fit(self._placed(slices, slots), need, buffers[index].alignment)
            offsets[index] = offset
            end = offset + need
            size = max(size, end)
            for first, last, low, high in slots:
                entry = (offset, end, first, last)
                for number in range(low, high):
                    insort(slices.setdefault(number, []), entry)
        return Layout(tuple(offsets), size)

    def _placed(
        self, slices: dict[int, list[Entry]], slots: Sequence[tuple[int, int, int, int]]
    ) -> Sequence[Entry]:
        """The placed buffers that are needed at the same time as one, by their start."""
        lists = 0
        found: list[Entry] = []
        for first, last, low, high in slots:
            for number in range(low, high):
                entries = slices.get(number)
                if entries is not None:
                    lists += 1
                    self.looks += len(entries)
                    found += [entry for entry in entries if entry[2] <= last and entry[3] >= first]
        return found if lists <= 1 else sorted(set(found))

    def _best_fit(self, placed: Sequence[Entry], need: int, alignment: int) -> int:
        """The offset in the smallest gap between placed buffers that holds `need` bytes, else above all."""
        aligned = alignment == self.granule
        top = 0
        best, best_slack = -1, 0
        for start, end, _, _ in placed:
            if start > top:
                offset = top if aligned else align_up(top, alignment)
                slack = start - offset - need
                if slack >= 0 and (best < 0 or slack < best_slack):
                    best, best_slack = offset, slack
            top = max(top, end)
        return best if best >= 0 else align_up(top, alignment)


def overlapping_pairs(buffers: Sequence[Buffer]) -> int:
    """Number of pairs of simultaneously live buffers, ignoring gaps; O(n log n)."""
    firsts = sorted(buffer.first for buffer in buffers)
    lasts = sorted(buffer.last for buffer in buffers)
    # Those that begin no later than one ends and do not end before it begins: itself too, and every pair twice.
    met = sum(bisect_right(firsts, buffer.last) - bisect_left(lasts, buffer.first) for buffer in buffers)
    return (met - len(buffers)) // 2
