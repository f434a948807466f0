"""Work and span of a plan: how long its instructions take one after the other, and as soon as each can run.

The work of a kernel call is counted from the types of its registers and priced by the target's table
(`et_ir/targets/costs.py`), as that of operators of the edge level is. Calls of kernels that have not been measured are
priced by the figures of `UNMEASURED`, which are about those of a kernel of numpy; delegates by those of `DELEGATE`.
Sizes that are known at run time only count with their bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Final, NamedTuple, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.executorch import DelegateCallOp, Instruction, KernelCallOp
from et_ir.targets.costs import CostTable, KernelCost, Work, work_of_call
from et_ops import OPERATORS
from et_ops.library import Operator

__all__ = ["DELEGATE", "UNMEASURED", "WorkSpan", "seconds_of", "work_and_span"]

UNMEASURED: Final = KernelCost(call=1000, mac=0.02, read=0.1, written=0.3)
"""Nanoseconds of a kernel that no table has."""
DELEGATE: Final = KernelCost(call=50_000, read=1.0, written=1.0)
"""Nanoseconds of a delegate, of which nothing is known but what it is given."""


class WorkSpan(NamedTuple):
    """Seconds."""

    work: float
    """All instructions, one after the other."""
    span: float
    """The instructions on the critical path: no number of processors takes less."""

    @property
    def parallelism(self) -> float:
        """The most by which further processors can shorten an execution."""
        return self.work / self.span if self.span else 1.0

    def __str__(self) -> str:
        return (
            f"work {self.work * 1e3:.3f} ms, critical path {self.span * 1e3:.3f} ms, "
            f"parallelism {self.parallelism:.2f}"
        )


def work_and_span(costs: Sequence[float], predecessors: Sequence[Sequence[int]]) -> WorkSpan:
    """Work and span of tasks, of which each comes behind those that it waits for."""
    ends: list[float] = []
    for cost, waits in zip(costs, predecessors, strict=True):
        ends.append(cost + max((ends[one] for one in waits), default=0.0))
    return WorkSpan(sum(costs), max(ends, default=0.0))


def seconds_of(op: Instruction, table: CostTable | None) -> float:
    """About how long an instruction takes on a target whose kernels have been measured, or on any if not."""
    if isinstance(op, DelegateCallOp):
        read, written = (sum(map(_numel, values)) for values in (op.inputs, op.outs))
        return DELEGATE.seconds(Work("", 0, read, written))
    if not isinstance(op, KernelCallOp) or not op.outs:
        return UNMEASURED.seconds(Work(""))
    work = _work_of(op)
    measured = None if table is None else table.seconds(work)
    return UNMEASURED.seconds(work) if measured is None else measured


def _work_of(op: KernelCallOp) -> Work:
    written = sum(map(_numel, op.outs))
    read = sum(map(_numel, op.inputs))
    lines = sum(prod(_sizes(out)[:-1]) for out in op.outs)
    operator = _operators().get(op.key)
    if operator is None:
        return Work(op.key, 0, read, written, lines)
    given = dict(zip(operator.schema.by_name, op.arguments, strict=False))

    def sizes(name: str) -> Sequence[int] | None:
        register = given.get(name)
        return _sizes(register) if isinstance(register, SSAValue) else None

    return work_of_call(operator, given.get, sizes, read=read, written=written, lines=lines)


@cache
def _operators() -> dict[str, Operator]:
    """Operators by the names of their kernels."""
    return {operator.kernel: operator for operator in OPERATORS.values()}


def _sizes(register: SSAValue) -> Sequence[int]:
    type = register.type
    return cast("TensorType[Attribute]", type).get_shape() if isinstance(type, TensorType) else ()


def _numel(register: SSAValue) -> int:
    return prod(_sizes(register)) if isinstance(register.type, TensorType) else 0
