"""Every buffer gets memory of its own: the largest arena, and the one to compare with when a plan is under
suspicion.
"""

from __future__ import annotations

from collections.abc import Sequence

from et_ir.planning.buffer import Buffer, Layout, align_up
from et_ir.planning.lower_bounds import granule_of, layout_size

__all__ = ["plan_naive"]


def plan_naive(buffers: Sequence[Buffer]) -> Layout:
    """Lay buffers out one behind the other, in the order they are given."""
    offsets: list[int] = []
    granule = granule_of(buffers)
    end = 0
    for buffer in buffers:
        # What has no bytes lies at 0, and not behind the end.
        offset = align_up(end, buffer.alignment) if buffer.size else 0
        offsets.append(offset)
        end = max(end, align_up(offset + buffer.size, granule))
    return Layout(tuple(offsets), layout_size(buffers, offsets))
