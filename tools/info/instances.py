"""Plans of instances, in the terms of `et-vm info --plan`. They get the same pictures and figures."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from et_ir.planning import Plan
    from et_ir.planning.instances import Instance

__all__ = ["plan_facts"]


def plan_facts(instance: Instance, plan: Plan, name: str) -> dict[str, Any]:
    """An arena, with the keys of an arena of a file; times take the place of instructions, from the first one on."""
    from et_ir.planning.lower_bounds import granule_of, peak

    buffers = instance.buffers
    start = min((buffer.first for buffer in buffers), default=0)
    end = max((buffer.last for buffer in buffers), default=start)
    in_use, moment = peak(buffers)
    return {
        "method": name,
        "instructions": end - start + 1,
        "arena": 1,
        "nbytes": plan.size,
        "in_use": in_use,
        "usage": [0, *_usage(instance, start, end), 0],
        "alignment": granule_of(buffers),
        "bound": plan.bound,
        "needed_by": f"time {moment}",
        "gap": plan.gap,
        "optimal": plan.optimal,
        "tensors": [
            {
                "register": index,
                "name": label,
                "nbytes": buffer.size,
                "offset": offset,
                "first": buffer.first - start,
                "last": buffer.last - start,
            }
            for index, (label, buffer, offset) in enumerate(
                zip(instance.names, buffers, plan.layout.offsets, strict=True)
            )
        ],
    }


def _usage(instance: Instance, start: int, end: int) -> list[int]:
    """The bytes that are needed at each time."""
    changes: Counter[int] = Counter()
    for buffer in instance.buffers:
        for first, last in buffer.spans:
            changes[first] += buffer.size
            changes[last + 1] -= buffer.size
    return list(accumulate(changes[time] for time in range(start, end + 1)))
