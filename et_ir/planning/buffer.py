"""What a planner is given and what it gives back: buffers with lifetimes, offsets in an arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Buffer", "Layout", "align_up", "lower_bound"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """`size` bytes that are needed from time `first` to time `last`, both included, at a multiple of
    `alignment`.
    """

    size: int
    first: int
    last: int
    alignment: int = 16

    def overlaps(self, other: Buffer) -> bool:
        """Whether both are needed at some time, and so cannot share memory."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class Layout:
    """The offset of each buffer, in the order they were given, and the arena's bytes."""

    offsets: tuple[int, ...]
    size: int


def align_up(offset: int, alignment: int) -> int:
    """The next multiple of `alignment` at or above `offset`."""
    return -(-offset // alignment) * alignment


def lower_bound(buffers: Sequence[Buffer]) -> int:
    """The most bytes that are needed at one time, each buffer rounded up to its alignment: no layout is smaller.

    O(n log n) in the number of buffers.
    """
    changes: dict[int, int] = {}
    for buffer in buffers:
        size = align_up(buffer.size, buffer.alignment)
        changes[buffer.first] = changes.get(buffer.first, 0) + size
        changes[buffer.last + 1] = changes.get(buffer.last + 1, 0) - size
    live = peak = 0
    for time in sorted(changes):
        live += changes[time]
        peak = max(peak, live)
    return peak
