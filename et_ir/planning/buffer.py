"""Memory planning problems and solutions.

A planner is given buffers with live ranges and gives back offsets in an arena.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Buffer", "Layout", "align_up"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes that are needed from one time to another. Times count instructions.

    Raises `ValueError` where a size, time, alignment or gap is none.
    """

    size: int
    """Bytes, from 0."""
    first: int
    """The first time at which it is needed."""
    last: int
    """The last time at which it is needed, not before `first`."""
    alignment: int = 16
    """The offset is a multiple of this many bytes."""
    gaps: tuple[tuple[int, int], ...] = ()
    """Times within, pairs of a first and a last one, in which nobody needs what is in it: others may have the memory
    then. They are in ascending order, do not touch, and lie between `first` and `last`.
    """

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError(f"invalid buffer size: {self.size}")
        if self.last < self.first:
            raise ValueError(f"invalid live range: {self.first} to {self.last}")
        if self.alignment < 1:
            raise ValueError(f"{self.alignment} is not an alignment")
        if self.gaps:
            before = self.first
            for first, last in (*self.gaps, (self.last + 1, self.last + 1)):
                if not before < first <= last:
                    raise ValueError(
                        f"({first}, {last}) is not a gap in the live range from {self.first} to {self.last}"
                    )
                before = last + 1

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The times it is needed, as pairs of a first and a last one."""
        if not self.gaps:
            return ((self.first, self.last),)
        spans: list[tuple[int, int]] = []
        start = self.first
        for first, last in self.gaps:
            spans.append((start, first - 1))
            start = last + 1
        spans.append((start, self.last))
        return tuple(spans)

    def overlaps(self, other: Buffer) -> bool:
        """Whether both are needed at some time, and so cannot share memory."""
        if self.first > other.last or other.first > self.last:
            return False
        if not self.gaps and not other.gaps:
            return True
        return any(a <= d and c <= b for a, b in self.spans for c, d in other.spans)


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of buffers in an arena."""

    offsets: tuple[int, ...]
    """The first byte of each buffer, in the order they were given."""
    size: int
    """The arena's bytes."""


def align_up(offset: int, alignment: int) -> int:
    """The next multiple of `alignment` at or above `offset`."""
    return -(-offset // alignment) * alignment
