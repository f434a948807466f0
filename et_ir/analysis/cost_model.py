"""Cost model of edge operators on a target.

The work of an operator is counted from the shapes of its tensors and priced by the target's table
(`et_ir/targets/costs.py`). Views cost nothing, since they become other names of memory, and neither does what new
forms compute from constants only, since that is done at compile time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Final

from xdsl.ir import Operation, SSAValue

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.targets.costs import CostTable, Work
from et_ir.targets.lookup import find_target

__all__ = ["CostModel", "work_of"]

TYPICAL: Final = 64
"""Assumed value of an unknown size."""


def work_of(op: EdgeOp) -> Work:
    """The work of an operator. Sizes that are known at run time only are taken to be `TYPICAL`."""
    written = sum(_numel(value) for value in op.results)
    read = sum(_numel(value) for value in op.operands if is_tensor(value.type))
    lines = sum(_lines(value) for value in op.results)
    kernel = op.operator.kernel
    contracted = op.operator.facts.contracts
    if contracted is not None:
        inner = _sizes(op.arg(contracted))[-1]
        return Work(kernel, written * inner, read, written, lines)
    if isinstance(op, edge.ConvolutionOp):
        weight = _sizes(op.operands[1])
        # Each element of a transposed convolution's input meets what each of its outputs does otherwise.
        met = _numel(op.operands[0]) if op.transposed else written
        depthwise = op.groups != 1 and weight[1] == 1
        return Work(
            f"{kernel} depthwise" if depthwise else kernel, met * prod(weight[1:]), read, written, lines
        )
    if isinstance(op, edge.AddTensorOp | edge.MulTensorOp) and any(
        is_tensor(value.type) and _numel(value) != written for value in op.operands
    ):
        return Work(f"{kernel} broadcast", 0, read, written, lines)
    return Work(kernel, 0, read, written, lines)


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
