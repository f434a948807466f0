"""A memory planner: one buffer behind the other."""

from __future__ import annotations

from collections.abc import Sequence

from et_ir.planning import Buffer, Layout


def plan(buffers: Sequence[Buffer]) -> Layout:
    """Each buffer at a multiple of 64 bytes."""
    offsets: list[int] = []
    end = 0
    for buffer in buffers:
        offsets.append(end)
        end += -(-buffer.size // 64) * 64
    return Layout(offsets, end)
