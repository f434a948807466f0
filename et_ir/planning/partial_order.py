"""Layouts of buffers whose times are ordered in part only: those of chains that may run at the same time.

A buffer is needed by chains, in each from one time to another, where times count within a chain. Two buffers may share
memory if all that needs the one is over before anything needs the other. No set of intervals of one time says that, so
planners of intervals cannot be used. Buffers are placed one by one, the largest first, each at the lowest place where
nothing is that it may not share memory with (Pisarchyk, Lee, "Efficient Memory Management for Deep Neural Net
Inference", 2020, "Greedy by Size", for any relation in place of overlapping intervals).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from et_ir.planning.buffer import Layout, align_up

__all__ = ["ChainBuffer", "order_problems", "place_by_order"]


@dataclass(frozen=True, slots=True)
class ChainBuffer:
    """Bytes that some chains need, each from a first to a last time of its own."""

    size: int
    alignment: int
    times: Mapping[int, tuple[int, int]]
    """The first and the last time, by the number of the chain."""


def place_by_order(buffers: Sequence[ChainBuffer], before: Sequence[int]) -> Layout:
    """Places for buffers; `before` has for each chain the chains that end before it begins, as a set of bits.

    Equal arguments give equal layouts. O(n²) comparisons.
    """
    needs = [_Need(buffer, before) for buffer in buffers]
    offsets = [0] * len(buffers)
    placed: list[int] = []
    size = 0
    for index in sorted(range(len(buffers)), key=lambda at: (-buffers[at].size, at)):
        buffer, need = buffers[index], needs[index]
        if not buffer.size:
            continue
        taken = sorted(
            (offsets[other], offsets[other] + buffers[other].size)
            for other in placed
            if not need.precedes(needs[other]) and not needs[other].precedes(need)
        )
        offset = 0
        for first, end in taken:
            if first >= offset + buffer.size:
                break
            offset = max(offset, align_up(end, buffer.alignment))
        offsets[index] = offset
        placed.append(index)
        size = max(size, offset + buffer.size)
    return Layout(tuple(offsets), size)


class _Need:
    """When a buffer is needed, in sets of bits."""

    __slots__ = ("before", "before_all", "chains", "times")

    def __init__(self, buffer: ChainBuffer, before: Sequence[int]):
        self.before = before
        self.times = buffer.times
        self.chains, self.before_all = 0, -1
        for chain in buffer.times:
            self.chains |= 1 << chain
            self.before_all &= before[chain]
        """The chains that have ended before any of these begins."""

    def precedes(self, other: _Need) -> bool:
        """Whether nothing needs the buffer any more when something needs the other."""
        if not self.chains & ~other.before_all:
            return True
        if self.chains & ~other.before_all & ~other.chains:
            return False
        for chain, (first, _) in other.times.items():
            left = self.chains & ~other.before[chain]
            if left and (left != 1 << chain or self.times[chain][1] >= first):
                return False
        return True


def order_problems(
    buffers: Sequence[ChainBuffer], offsets: Sequence[int], before: Sequence[int]
) -> list[tuple[int, int]]:
    """Pairs of buffers that share memory though no order separates them. It shares no code with what places them."""
    problems: list[tuple[int, int]] = []
    order = sorted(range(len(buffers)), key=lambda at: offsets[at])
    for position, one in enumerate(order):
        for other in order[position + 1 :]:
            if offsets[other] >= offsets[one] + buffers[one].size:
                break
            if buffers[other].size and not any(
                all(
                    (c == d and last < second) or (c != d and before[d] >> c & 1)
                    for c, (_, last) in a.times.items()
                    for d, (second, _) in b.times.items()
                )
                for a, b in ((buffers[one], buffers[other]), (buffers[other], buffers[one]))
            ):
                problems.append((one, other))
    return problems
