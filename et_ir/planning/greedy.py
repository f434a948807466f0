"""Greedy planning: place buffers one after the other, each in the gap that fits it best.

The method is the greedy-by-size of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
Inference" (2020). What it yields depends on the order: largest first is best on most programs, others win on
some (lifetimes that are long and thin, as in attention). The orders of `ORDERS` are tried in turn until one
reaches the lower bound; where one does not, the buffers that stick out at the top are placed first in another
round. The smallest arena is kept, the first of equals, so that the result depends on the buffers alone.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from typing import Final

from et_ir.planning.bounds import granule_of, layout_size, lower_bound
from et_ir.planning.buffer import Buffer, Layout, align_up

__all__ = ["ORDERS", "plan_greedy", "plan_in_order"]

Key = Callable[[Buffer], tuple[int, ...]]

ORDERS: Final[tuple[Key, ...]] = (
    lambda b: (-b.size, b.first, b.last),
    lambda b: (-b.size * (b.last - b.first + 1), -b.size, b.first),
    lambda b: (-(b.last - b.first), -b.size, b.first),
    lambda b: (-b.size, -(b.last - b.first), b.first),
    lambda b: (b.first, -b.size, b.last),
    lambda b: (-b.last, -b.size, b.first),
)
"""Sort keys of buffers: size, size × lifetime, lifetime, size with long ones first, first use, last use
backwards.
"""

ROUNDS: Final = 10
"""How often an order is changed before the next one is tried."""
WORK: Final = 4000
"""Bounds the rounds of large programs: buffers × rounds."""
SLICE: Final = 512
"""Buffers per slice of time: fewer are looked at faster than found."""


def plan_greedy(buffers: Sequence[Buffer]) -> Layout:
    """The smallest layout that greedy placement finds.

    Each round costs O(n k), where k is the number of placed buffers that a buffer overlaps in time; there are
    one per order if the first reaches the lower bound, and up to `ROUNDS` where none does, fewer for
    thousands of buffers.
    """
    bound = lower_bound(buffers)
    granule = granule_of(buffers)
    best = Layout((0,) * len(buffers), 0) if bound == 0 else None
    rounds = max(1, min(ROUNDS, WORK // max(len(buffers), 1)))
    for key in ORDERS:
        order = sorted(range(len(buffers)), key=lambda i: (*key(buffers[i]), i))
        for _ in range(rounds):
            if best is not None and best.size <= bound:
                return best
            layout = plan_in_order(buffers, order)
            if best is None or layout.size < best.size:
                best = layout
            ends = [align_up(o + b.size, granule) for o, b in zip(layout.offsets, buffers, strict=True)]
            order.sort(key=lambda i, ends=ends, size=layout.size: ends[i] != size)
    assert best is not None
    return best


def plan_in_order(buffers: Sequence[Buffer], order: Sequence[int]) -> Layout:
    """Place buffers in an order of their indices, each in the smallest gap that holds it, else behind what it
    overlaps.
    """
    granule = granule_of(buffers)
    offsets = [0] * len(buffers)
    placed = _Placed(max((buffer.last for buffer in buffers), default=0), max(1, len(buffers) // SLICE))
    for index in order:
        buffer = buffers[index]
        needed = align_up(buffer.size, granule)
        if not needed:
            continue
        top = 0
        best_offset, best_slack = -1, -1
        for start, end in placed.overlapping(buffer):
            if start > top:
                offset = align_up(top, buffer.alignment)
                slack = start - offset - needed
                if slack >= 0 and (best_offset < 0 or slack < best_slack):
                    best_offset, best_slack = offset, slack
            top = max(top, end)
        if best_offset < 0:
            best_offset = align_up(top, buffer.alignment)
        placed.add(buffer, best_offset, best_offset + needed)
        offsets[index] = best_offset
    return Layout(tuple(offsets), layout_size(buffers, offsets))


class _Placed:
    """Placed buffers, found by the times they are needed: kept in slices of time, so that few others are
    looked at.
    """

    def __init__(self, end: int, slices: int):
        self._width = -(-(end + 1) // slices)
        self._slices: list[list[tuple[int, int, int, int]]] = [[] for _ in range(end // self._width + 1)]

    def _slots(self, first: int, last: int) -> range:
        return range(first // self._width, last // self._width + 1)

    def add(self, buffer: Buffer, start: int, end: int) -> None:
        for first, last in buffer.spans:
            entry = (start, end, first, last)
            for number in self._slots(first, last):
                insort(self._slices[number], entry)

    def overlapping(self, buffer: Buffer) -> list[tuple[int, int]]:
        """Start and end in memory of the buffers that are needed at the same time, by start."""
        lists = 0
        found: list[tuple[int, int]] = []
        for first, last in buffer.spans:
            for number in self._slots(first, last):
                lists += 1
                found += [
                    (start, end)
                    for start, end, other_first, other_last in self._slices[number]
                    if other_first <= last and other_last >= first
                ]
        return found if lists == 1 else sorted(set(found))
