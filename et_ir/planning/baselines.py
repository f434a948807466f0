"""Planners to compare with: one without sharing, and that of the stock compiler.

By default the stock compiler places buffers from the largest down, of equal ones the later given first, into objects. A
buffer goes to the start of the first object in which no buffer is live at the same time; else on top of those that are,
in the first object that is large enough; else it makes an object of its own size. The objects are laid out in sequence.
This is the greedy-by-size of Pisarchyk and Lee (2020) for shared objects, with the second step added.
"""

from __future__ import annotations

from collections.abc import Sequence

from et_ir.planning.buffer import Buffer, Layout, align_up
from et_ir.planning.lower_bounds import granule_of, layout_size

__all__ = ["plan_naive", "plan_upstream"]


def plan_naive(buffers: Sequence[Buffer]) -> Layout:
    """Lay buffers out one behind the other, in the order they are given: none shares memory, so that a plan under
    suspicion has one to be compared with.
    """
    offsets: list[int] = []
    granule = granule_of(buffers)
    end = 0
    for buffer in buffers:
        # What has no bytes lies at 0, and not behind the end.
        offset = align_up(end, buffer.alignment) if buffer.size else 0
        offsets.append(offset)
        end = max(end, align_up(offset + buffer.size, granule))
    return Layout(tuple(offsets), layout_size(buffers, offsets))


def plan_upstream(buffers: Sequence[Buffer]) -> Layout:
    """The layout that the stock compiler's default algorithm gives buffers; O(n²)."""
    alignment = max((buffer.alignment for buffer in buffers), default=1)
    sizes = [align_up(buffer.size, alignment) for buffer in buffers]
    objects: list[list[tuple[int, int]]] = []
    """Of each object the buffers and their places in it; the first is as large as the object."""
    order = sorted(range(len(buffers)), key=lambda i: (sizes[i], i), reverse=True)
    for index in (each for each in order if sizes[each]):
        tops = [_top(members, buffers[index], buffers, sizes) for members in objects]
        for members, top in zip(objects, tops, strict=True):
            if top is None:
                members.append((index, 0))
                break
        else:
            for members, top in zip(objects, tops, strict=True):
                if top is not None and 0 < top <= sizes[members[0][0]] - sizes[index]:
                    members.append((index, top))
                    break
            else:
                objects.append([(index, 0)])
    offsets = [0] * len(buffers)
    start = 0
    for members in objects:
        for index, place in members:
            offsets[index] = start + place
        start += sizes[members[0][0]]
    return Layout(tuple(offsets), layout_size(buffers, offsets))


def _top(
    members: Sequence[tuple[int, int]], buffer: Buffer, buffers: Sequence[Buffer], sizes: Sequence[int]
) -> int | None:
    """End times of the buffers live at the same time as a buffer; `None` if there are none."""
    ends = [place + sizes[other] for other, place in members if buffers[other].overlaps(buffer)]
    return max(ends, default=None)
