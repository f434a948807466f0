"""Instructions with jumps between them as basic blocks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

__all__ = ["block_ranges"]


def block_ranges(count: int, jumps: Mapping[int, int]) -> list[range]:
    """Basic blocks of `count` instructions, in order: each block's instructions, the last of which may be a jump.

    `jumps` has the target of each jump; a target of `count` is the end of the plan, which then is a block of
    its own, empty.
    """
    starts = {0, *jumps.values(), *(index + 1 for index in jumps)}
    bounds = [*sorted(start for start in starts if start < count), count]
    ranges = [range(first, last) for first, last in pairwise(bounds)]
    if not ranges or count in starts:
        ranges.append(range(count, count))
    return ranges
