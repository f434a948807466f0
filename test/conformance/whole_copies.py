"""Counts instructions that move a whole buffer, by what their kernels are known to write."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue

from et_ir.analysis.aliasing import root_of
from et_ir.dialects.executorch import KernelCallOp, PlanOp, StateOp
from et_ir.dialects.executorch.layout import nbytes

COMPUTES = ("aten::bmm.out", "aten::mm.out", "aten::linear.out")


def whole_copies(module: ModuleOp, method: str = "forward", *, least: int = 0) -> list[str]:
    """The calls of a method that read state, at least `least` bytes of it, and write as many bytes, or all of a state.

    Products read their operands and write something else, of whatever size.
    """
    plan = next(op for op in module.body.block.ops if isinstance(op, PlanOp) and op.key == method)
    return [op.key for op in plan.instructions if isinstance(op, KernelCallOp) and _copies(op, least)]


def _copies(op: KernelCallOp, least: int) -> bool:
    if op.key in COMPUTES or op.key == "aten::index_put_":
        return False
    sizes = [nbytes(state.type) for state in _states(op)]
    written = [_bytes(register) for register in op.writes]
    return any(size >= max(least, 1) and size <= bytes_ for size in sizes for bytes_ in written)


def _states(op: KernelCallOp) -> Iterator[StateOp]:
    for register in op.operands:
        owner = root_of(register).owner
        if isinstance(owner, StateOp):
            yield owner


def _bytes(register: SSAValue) -> int:
    return nbytes(register.type) if isinstance(register.type, TensorType) else 0
