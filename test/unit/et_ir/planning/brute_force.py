"""The smallest arena of a few buffers by trying every order: to compare planners with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from et_ir.planning import Buffer, align_up, layout_size

__all__ = ["smallest_arena"]


def smallest_arena(buffers: Sequence[Buffer]) -> int:
    """The size of the smallest layout: in some order each buffer comes as low as those before it let it, whatever they
    leave below.
    """
    buffers = [buffer for buffer in buffers if buffer.size]
    return min(
        layout_size(buffers, _justified(buffers, order)) for order in permutations(range(len(buffers)))
    )


def _justified(buffers: Sequence[Buffer], order: Sequence[int]) -> list[int]:
    offsets = [0] * len(buffers)
    for place, index in enumerate(order):
        below = [other for other in order[:place] if buffers[other].overlaps(buffers[index])]
        top = max((offsets[other] + buffers[other].size for other in below), default=0)
        offsets[index] = align_up(top, buffers[index].alignment)
    return offsets
