"""A checker of layouts that shares no code with the planners: it walks through time and looks at what lies where.

At each time the live buffers are kept in the order of their offsets, and a new one is compared with its
neighbors, which is enough because those that are there do not overlap: O(n log n) comparisons.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from et_ir.planning.buffer import Buffer, Layout

__all__ = ["conflicts", "layout_problems"]


def conflicts(buffers: Sequence[Buffer], offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of buffers that share memory while both are needed, by index; not all of them, but one where
    there are any.
    """
    events: list[tuple[int, int, int]] = []
    for index, buffer in enumerate(buffers):
        if buffer.size:
            # At one time, births come before deaths: both ends of a lifetime belong to it.
            events.append((buffer.first, 0, index))
            events.append((buffer.last, 1, index))
            for first, last in buffer.gaps:
                events.append((first - 1, 1, index))
                events.append((last + 1, 0, index))
    found: list[tuple[int, int]] = []
    live: list[tuple[int, int, int]] = []
    for _, death, index in sorted(events):
        offset = offsets[index]
        entry = (offset, offset + buffers[index].size, index)
        place = bisect_left(live, entry)
        if death:
            del live[place]
            continue
        found.extend(
            (other, index)
            for start, end, other in live[max(place - 1, 0) : place + 1]
            if start < entry[1] and offset < end
        )
        live.insert(place, entry)
    return found


def layout_problems(buffers: Sequence[Buffer], layout: Layout) -> list[str]:
    """Violations in a layout, one message each; empty if it is valid."""
    offsets = layout.offsets
    if len(offsets) != len(buffers):
        return [f"{len(offsets)} offsets for {len(buffers)} buffers"]
    problems: list[str] = []
    for index, (buffer, offset) in enumerate(zip(buffers, offsets, strict=True)):
        if offset < 0 or offset + buffer.size > layout.size:
            problems.append(
                f"buffer {index} of {buffer.size} bytes at {offset} lies outside of the arena of {layout.size} bytes"
            )
        if offset % buffer.alignment:
            problems.append(f"buffer {index} at {offset} is not aligned to {buffer.alignment} bytes")
    problems.extend(
        f"buffers {one} and {other} overlap at {offsets[one]} and {offsets[other]} while both are live"
        for one, other in conflicts(buffers, offsets)
    )
    return problems
