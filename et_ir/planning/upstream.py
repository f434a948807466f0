"""Planning as the stock compiler does by default, to compare with.

Buffers are placed from the largest down, of equal ones the later given first, into objects. A buffer goes to the
start of the first object in which no buffer is needed when it is; else on top of those that are, in the first object
that is large enough; else it makes an object, of its own size. The objects lie one behind the other. This is the
greedy-by-size of Pisarchyk and Lee (2020) for shared objects, with the second step added.
"""

from __future__ import annotations

from collections.abc import Sequence

from et_ir.planning.buffer import Buffer, Layout, align_up
from et_ir.planning.lower_bounds import layout_size

__all__ = ["plan_upstream"]


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
    """Where those end that are needed when a buffer is; `None` if there are none."""
    ends = [place + sizes[other] for other, place in members if buffers[other].overlaps(buffer)]
    return max(ends, default=None)
