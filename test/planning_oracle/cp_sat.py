"""The smallest arena as CP-SAT finds it: rectangles of time and memory that do not overlap, under the lowest top.

Times are given, offsets are what is looked for. It shares nothing with the planners but what a buffer is.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, gcd
from typing import Final

from ortools.sat.python import cp_model

from et_ir.planning import Buffer

__all__ = ["smallest_arena"]


WORK: Final = 30
"""After that the solver says how far it has come. In its deterministic time, a second or so each on any machine."""


def smallest_arena(buffers: Sequence[Buffer]) -> tuple[int, int]:
    """The bytes of the smallest arena, a multiple of what all alignments are multiples of: no fewer than the first
    number, and no more than the second one. For nearly all instances of a dozen buffers they are equal.
    """
    placed = [buffer for buffer in buffers if buffer.size]
    if not placed:
        return 0, 0
    granule = gcd(*(buffer.alignment for buffer in placed))
    most = sum(buffer.size + buffer.alignment for buffer in placed) + granule
    model = cp_model.CpModel()
    units = model.new_int_var(0, most // granule, "units")
    across: list[cp_model.IntervalVar] = []
    up: list[cp_model.IntervalVar] = []
    for number, buffer in enumerate(placed):
        step = model.new_int_var(0, most // buffer.alignment, f"step{number}")
        offset = buffer.alignment * step
        model.add(offset + buffer.size <= granule * units)
        start = buffer.first
        for first, last in (*buffer.gaps, (buffer.last + 1, 0)):
            across.append(model.new_fixed_size_interval_var(start, first - start, f"time{number}.{start}"))
            up.append(model.new_fixed_size_interval_var(offset, buffer.size, f"memory{number}.{start}"))
            start = last + 1
    model.add_no_overlap_2d(across, up)
    model.minimize(units)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = WORK
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise RuntimeError(f"CP-SAT: {solver.status_name(status)}")
    return granule * ceil(solver.best_objective_bound - 1e-6), granule * round(solver.objective_value)
