"""Size statistics of a program at a stage of its lowering.

They are what passes are to reduce, or say why they do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_ir.analysis.liveness import Liveness
from et_ir.analysis.memory_graph import MemoryGraph, bytes_of_value
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.executorch import AllocOp, ConstantOp, MemoryRegisterOp, PlanOp, ReturnOp
from et_ir.dialects.executorch.layout import nbytes
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["Footprint", "footprint"]


@dataclass(frozen=True)
class Footprint:
    """Memory footprint of all methods of a program."""

    instructions: int
    """Operators that compute something, instructions once there are any."""
    buffers: int
    """Tensors that are computed and have memory of their own."""
    memory: int | None
    """Bytes of tensors needed at once, of arenas once they are planned; None above the edge level, where what is a view
    of what is not decided. Of several methods the largest.
    """
    constants: int
    """Bytes of constants."""


def footprint(module: ModuleOp, target: str) -> Footprint:
    """Memory footprint of a program."""
    plans = [op for op in module.body.block.ops if isinstance(op, PlanOp)]
    if plans:
        return _of_plans(plans)
    instructions = buffers = 0
    memory: list[int] = []
    constants: dict[str, int] = {}
    above = False
    for method in module.body.block.ops:
        if not isinstance(method, FuncOp) or method.is_declaration:
            continue
        for op in method.walk():
            # Some passes leave it to others to erase what they have made superfluous.
            if isinstance(op, GetOp) and op.result.first_use is not None:
                constants[op.symbol.string_value()] = bytes_of_value(op.result)
            if not isinstance(op, SchemaOp):
                continue
            above = above or not isinstance(op, EdgeOp)
            if op.name != "edge.view_copy":
                instructions += 1
                buffers += sum(is_tensor(result.type) for result in op.results)
        memory.append(MemoryGraph(method.body.block, target).peak)
    return Footprint(
        instructions, buffers, None if above else max(memory, default=0), sum(constants.values())
    )


def _of_plans(plans: Iterable[PlanOp]) -> Footprint:
    instructions = buffers = 0
    memory: list[int] = []
    constants: dict[str, int] = {}
    for plan in plans:
        instructions += sum(not isinstance(op, ReturnOp) for op in plan.instructions)
        for op in plan.walk():
            buffers += isinstance(op, AllocOp)
            if isinstance(op, ConstantOp):
                constants[op.key] = nbytes(op.type)
        memory.append(_arenas(plan))
    return Footprint(instructions, buffers, max(memory, default=0), sum(constants.values()))


def _arenas(plan: PlanOp) -> int:
    """The bytes of a method's arenas, or of what it needs at once where they are not planned."""
    planned = plan.arena_sizes
    if planned is not None:
        return sum(planned)
    liveness = Liveness(plan)
    changes: dict[int, int] = {}
    for op in liveness.roots():
        interval = liveness.interval(op.result) if _is_planned(op) else None
        if interval is not None:
            size = nbytes(op.type) if isinstance(op, AllocOp) else bytes_of_value(op.result)
            changes[interval.first] = changes.get(interval.first, 0) + size
            changes[interval.last + 1] = changes.get(interval.last + 1, 0) - size
    return max(accumulate(changes[time] for time in sorted(changes)), default=0)


def _is_planned(op: Operation) -> bool:
    return isinstance(op, MemoryRegisterOp)
