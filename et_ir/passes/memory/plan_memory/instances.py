"""Planning instances of planned programs.

A planned arena as what the planner was given and what it answered: buffers with names, sizes and live ranges, and
their offsets. `et-compile --dump-buffers` writes it in the format that `et-plan` reads.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from et_ir.analysis.liveness import Liveness
from et_ir.dialects.executorch import KernelCallOp, MemoryRegisterOp, PlanOp
from et_ir.passes.memory.plan_memory.requests import alignment_of
from et_ir.passes.memory.plan_memory.shared_state import register_size
from et_ir.planning import Buffer, Layout
from et_ir.planning.instances import Instance

__all__ = ["PlannedArena", "planned_arenas"]


@dataclass(frozen=True)
class PlannedArena:
    """An arena of a method: its number, the buffers in it, and their places."""

    method: str
    number: int
    instance: Instance
    layout: Layout


def planned_arenas(module: ModuleOp, alignment: int) -> list[PlannedArena]:
    """The arenas of all methods of a module that is planned, in their order.

    A buffer is called as its register is, with a number behind names that several have; `alignment` in bytes is that
    of registers without one of their own.
    """
    return [
        arena
        for plan in module.body.block.ops
        if isinstance(plan, PlanOp)
        for arena in _arenas_of(plan, alignment)
    ]


def _written_by(op: MemoryRegisterOp) -> str:
    """The operator that writes a register, without namespace and overload."""
    for use in op.result.uses:
        call = use.operation
        if isinstance(call, KernelCallOp) and op.result in call.writes:
            return call.key.rpartition("::")[2].partition(".")[0]
    return op.name.partition(".")[2]


def _arenas_of(plan: PlanOp, alignment: int) -> list[PlannedArena]:
    liveness = Liveness(plan)
    sizes = plan.arena_sizes or ()
    arenas: dict[int, list[tuple[str, Buffer, int]]] = {}
    names: dict[str, int] = {}
    for op in liveness.roots():
        if not isinstance(op, MemoryRegisterOp) or op.place is None:
            continue
        interval = liveness.interval(op.result)
        if interval is None:
            continue
        number, offset = op.place
        name = op.result.name_hint or _written_by(op)
        names[name] = seen = names.get(name, 0) + 1
        buffer = Buffer(register_size(op), interval.first, interval.last, alignment_of(op, alignment))
        arenas.setdefault(number, []).append((name if seen == 1 else f"{name}.{seen}", buffer, offset))
    return [
        PlannedArena(
            plan.sym_name.data,
            number,
            Instance(tuple(name for name, _, _ in held), tuple(buffer for _, buffer, _ in held)),
            Layout(tuple(offset for _, _, offset in held), sizes[number - 1]),
        )
        for number, held in sorted(arenas.items())
    ]
