"""Greedy planning: place buffers one after the other, each in the gap that fits it best.

The method is the greedy-by-size of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
Inference" (2020). What it yields depends on the order: largest first is best on most programs, others win on
some (lifetimes that are long and thin, as in attention). The orders of `ORDERS` are tried in turn until one
reaches the lower bound; where one does not, the buffers that stick out at the top are placed first in another
round. The smallest arena is kept, the first of equals, so that the result depends on the buffers alone.

More buffers get fewer rounds, then fewer orders, and in the end a walk through time alone (`et_ir.planning.sweep`):
`WORK` bounds what is looked at, so that tens of thousands of buffers take no second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from et_ir.planning.buffer import Buffer, Layout
from et_ir.planning.lower_bounds import lower_bound
from et_ir.planning.placement import Placement, overlapping_pairs
from et_ir.planning.sweep import plan_sweep

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
"""Number of changes to an order before the next one is tried."""
WORK: Final = 3_000_000
"""Placed buffers to look at in all rounds, at about 0.1 µs."""
OVERHEAD: Final = 40
"""Fixed cost of placing one buffer, in such looks."""


def plan_greedy(buffers: Sequence[Buffer], goal: int = 0, *, rounds: int = ROUNDS) -> Layout:
    """The smallest layout that greedy placement finds, or the first of `goal` bytes or less.

    There is one round per order if the first reaches the lower bound, and up to `rounds` where none does, fewer where
    they would look at more than `WORK`. O(n log n) if one round would.
    """
    bound = lower_bound(buffers)
    if bound == 0:
        return Layout((0,) * len(buffers), 0)
    affordable = WORK // (overlapping_pairs(buffers) + OVERHEAD * len(buffers))
    rounds = min(rounds, max(1, affordable // len(ORDERS)))
    if affordable == 0:
        walks = [plan_sweep(buffers, backwards=backwards) for backwards in (False, True)]
        return min(walks, key=lambda layout: layout.size)
    best = plan_sweep(buffers) if affordable < len(ORDERS) else None
    placement = Placement(buffers)
    for key in ORDERS[:affordable]:
        order = _ordered(buffers, key)
        for _ in range(rounds):
            if best is not None and best.size <= max(bound, goal):
                return best
            layout = placement.place(order)
            if best is None or layout.size < best.size:
                best = layout
            highest = [
                offset + need == layout.size
                for offset, need in zip(layout.offsets, placement.needed, strict=True)
            ]
            order.sort(key=lambda index, highest=highest: not highest[index])
    assert best is not None
    return best


def plan_in_order(buffers: Sequence[Buffer], order: Sequence[int]) -> Layout:
    """Place buffers in an order of their indices, each in the smallest gap that holds it, else behind what it
    overlaps.
    """
    return Placement(buffers).place(order)


def _ordered(buffers: Sequence[Buffer], key: Key) -> list[int]:
    keys = [key(buffer) for buffer in buffers]
    # A stable sort: of equals the first given comes first.
    return sorted(range(len(buffers)), key=keys.__getitem__)
