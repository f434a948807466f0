"""Work and span of a profiled method: how much its instructions could overlap.

An instruction depends on those that wrote the bytes it reads last. That memory is used again is no dependence, as a
planner can give each value memory of its own. Delegates count as reading all that they are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from et_vm.load.instructions import call_inputs
from et_vm.program import Program
from et_vm.verify.chains import ChainOrder, _Accesses  # pyright: ignore[reportPrivateUsage]

__all__ = ["Parallelism", "parallelism"]


class Parallelism(NamedTuple):
    """Nanoseconds, and the instructions on the critical path."""

    work: float
    span: float
    path: tuple[int, ...]

    def __str__(self) -> str:
        ratio = self.work / self.span if self.span else 1.0
        names = ", ".join(map(str, self.path[:8])) + (", …" if len(self.path) > 8 else "")
        return (
            f"work {self.work / 1e3:.1f} µs, span {self.span / 1e3:.1f} µs, parallelism {ratio:.2f}; "
            f"critical path: {len(self.path)} instructions ({names})"
        )


def parallelism(program: Program, method: str, costs: Mapping[int, float]) -> Parallelism | None:
    """Work and span of a method by the nanoseconds of its instructions, those left out 0; None if it has jumps."""
    index = program.plan_index(method)
    plan = program.pte.program.execution_plan[index]
    instructions = program.flow(index).instructions
    if any(one.target >= 0 for one in instructions):
        return None
    accesses = _Accesses(program.pte, plan, instructions, ChainOrder([0, len(instructions)], [()]))
    writers: dict[object, list[tuple[int, int, int]]] = {}
    ends: list[float] = []
    before: list[int] = []
    for at, one in enumerate(instructions):
        also_read = one.args if one.opcode.mnemonic == "delegate" else ()
        if one.opcode.mnemonic == "call" and one.prim is None:
            also_read = call_inputs(one, plan)
        touched = [
            (place, writes, not writes or register in also_read)
            for register, writes in accesses._registers(one)  # pyright: ignore[reportPrivateUsage]
            for place in accesses._places(register)  # pyright: ignore[reportPrivateUsage]
        ]
        waits = {
            writer
            for (resource, first, end), _, reads in touched
            if reads
            for start, last, writer in writers.get(resource, ())
            if start < end and first < last
        }
        latest = max(waits, key=ends.__getitem__, default=-1)
        before.append(latest)
        ends.append(costs.get(at, 0.0) + (ends[latest] if latest >= 0 else 0.0))
        for (resource, first, end), writes, _ in touched:
            if writes:
                kept = [old for old in writers.get(resource, ()) if old[0] < first or end < old[1]]
                writers[resource] = [*kept, (first, end, at)]
    path: list[int] = []
    at = max(range(len(ends)), key=ends.__getitem__, default=-1)
    while at >= 0:
        path.append(at)
        at = before[at]
    return Parallelism(sum(costs.values()), max(ends, default=0.0), tuple(reversed(path)))
