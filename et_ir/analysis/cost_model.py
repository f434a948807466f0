"""Cost model of edge operators on a target.

The work of an operator is counted from the shapes of its tensors and priced by the target's table
(`et_ir/targets/costs.py`). Views cost nothing, since they become other names of memory, and neither does what new
forms compute from constants only, since that is done at compile time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Final, cast

from xdsl.ir import Operation, SSAValue

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.targets.costs import CostTable, Work, work_of_call
from et_ir.targets.lookup import find_target

__all__ = ["CostModel", "work_of"]

TYPICAL: Final = 64
"""Assumed value of an unknown size."""


def work_of(op: EdgeOp) -> Work:
    """The work of an operator. Sizes that are known at run time only are taken to be `TYPICAL`."""
    written = sum(_numel(value) for value in op.results)
    read = sum(_numel(value) for value in op.operands if is_tensor(value.type))
    lines = sum(_lines(value) for value in op.results)
    if isinstance(op, edge.AddTensorOp | edge.MulTensorOp) and any(
        is_tensor(value.type) and _numel(value) != written for value in op.operands
    ):
        return Work(f"{op.operator.kernel} broadcast", 0, read, written, lines)
    return work_of_call(
        op.operator, op.arg, lambda name: _sizes_of(op.arg(name)), read=read, written=written, lines=lines
    )


def _sizes_of(value: object) -> list[int] | None:
    return _sizes(cast("SSAValue", value)) if isinstance(value, SSAValue) else None


def _sizes(value: SSAValue) -> list[int]:
    return [TYPICAL if size < 0 else size for size in tensor_type(value).get_shape()]


def _numel(value: SSAValue) -> int:
    return prod(_sizes(value))


def _lines(value: SSAValue) -> int:
    return prod(_sizes(value)[:-1])


def _is_constant(op: Operation) -> bool:
    """Whether an op that is not inserted yet will be folded. What is left of others at this stage has not been."""
    return (
        op.parent is None
        and bool(op.operands)
        and all(isinstance(value.owner, GetOp) for value in op.operands)
    )


@dataclass(frozen=True)
class CostModel:
    """Prices operators by a target's table."""

    table: CostTable

    @staticmethod
    def of(target: str) -> CostModel | None:
        """The model of a target, None if its kernels have not been measured."""
        table = find_target(target).costs
        return None if table is None else CostModel(table)

    def seconds(self, ops: Iterable[Operation]) -> float | None:
        """Total time of operators; None if one of them cannot be priced."""
        total = 0.0
        for op in ops:
            if isinstance(op, edge.ViewCopyOp) or _is_constant(op):
                continue
            each = self.table.seconds(work_of(op)) if isinstance(op, EdgeOp) else None
            if each is None:
                return None
            total += each
        return total
