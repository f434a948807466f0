"""Lower bounds of arena sizes.

No layout can be smaller.

All offsets are multiples of the smallest alignment, the granule, if alignments are powers of two: so are, for all that
others can have of them, sizes, and so is an arena's size here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from et_ir.planning.buffer import Buffer, align_up
from et_ir.planning.sections import sections

__all__ = ["granule_of", "layout_size", "lower_bound", "peak", "section_bound"]


def granule_of(buffers: Sequence[Buffer]) -> int:
    """The largest number that the alignments of all buffers that have bytes are multiples of; 1 without any."""
    return gcd(*(buffer.alignment for buffer in buffers if buffer.size)) or 1


def layout_size(buffers: Sequence[Buffer], offsets: Sequence[int], granule: int | None = None) -> int:
    """The bytes of the smallest arena that holds a layout: a multiple of `granule`, or of the buffers' own."""
    end = max((o + b.size for b, o in zip(buffers, offsets, strict=True) if b.size), default=0)
    return align_up(end, granule_of(buffers) if granule is None else granule)


def section_bound(buffers: Sequence[Buffer], granule: int) -> int:
    """The bytes that buffers take that are all needed at once, at least, if the arena has a multiple of `granule`.

    The sum of their sizes, up to the granule. And of those that are aligned to A or more, for each A, each but the
    one that lies highest takes up to the next multiple of A; others may lie in what is left.
    """
    bound = sum(align_up(buffer.size, granule) for buffer in buffers)
    for alignment in {buffer.alignment for buffer in buffers} - {granule}:
        padded = [buffer for buffer in buffers if buffer.alignment % alignment == 0]
        waste = [align_up(b.size, alignment) - align_up(b.size, granule) for b in padded]
        reached = sum(align_up(b.size, alignment) for b in padded) - max(waste)
        bound = max(bound, reached)
    return bound


def lower_bound(buffers: Sequence[Buffer], granule: int | None = None) -> int:
    """The most bytes needed at one time: no layout is smaller. The arena has a multiple of `granule`, or of the
    buffers' own.

    O(n log n) in the number of buffers if they have one alignment and no gaps.
    """
    if granule is None:
        granule = granule_of(buffers)
    if any(buffer.alignment != granule for buffer in buffers if buffer.size):
        return max(
            (section_bound([buffers[i] for i in live], granule) for live in sections(buffers)), default=0
        )
    return peak(buffers, granule)[0]


def peak(buffers: Sequence[Buffer], granule: int = 1) -> tuple[int, int]:
    """The most bytes needed at one time, each size a multiple of `granule`, and the first such time.

    O(n log n) in the number of buffers and gaps.
    """
    changes: dict[int, int] = {}
    for buffer in buffers:
        size = align_up(buffer.size, granule)
        for first, last in buffer.spans:
            changes[first] = changes.get(first, 0) + size
            changes[last + 1] = changes.get(last + 1, 0) - size
    live = most = moment = 0
    for time in sorted(changes):
        live += changes[time]
        if live > most:
            most, moment = live, time
    return most, moment
