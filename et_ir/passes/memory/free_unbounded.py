"""Free tensors that are allocated at run time after their last use.

```mlir
%0 = executorch.alloc unbound : tensor<0x2xi64>
executorch.kernel_call "aten::nonzero.out"(%x) outs(%0)
executorch.kernel_call "aten::sum.IntList_out"(%0, [0], false, none) outs(%1)
executorch.return %1
// becomes
executorch.kernel_call "aten::sum.IntList_out"(%0, [0], false, none) outs(%1)
executorch.free %0
executorch.return %1
```

Inputs and outputs are the caller's to read until the next execution. What is needed last by a jump stays, too: there is
no one place behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from et_ir.analysis.aliasing import root_of
from et_ir.analysis.liveness import Liveness
from et_ir.dialects.executorch import AllocOp, FreeOp, JumpFalseOp, JumpOp, PlanOp, RegisterOp, ReturnOp
from et_ir.passes.plans import plans_of, refuse_chains
from et_schema.program import TensorShapeDynamism

__all__ = ["FreeUnboundedPass"]


@dataclass(frozen=True)
class FreeUnboundedPass(ModulePass):
    """Free unbounded tensors after their last use."""

    name = "free-unbounded"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plans = [plan for plan in plans_of(op, self) if any(map(_is_unbounded, plan.registers))]
        refuse_chains(plans, self)
        for plan in plans:
            _free(plan)


def _free(plan: PlanOp) -> None:
    registers = [op for op in plan.registers if isinstance(op, AllocOp) and _is_unbounded(op)]
    liveness = Liveness(plan)
    outputs = {root_of(output) for output in plan.return_op.outputs}
    instructions = liveness.instructions
    behind: dict[Operation, list[AllocOp]] = {}
    for op in registers:
        interval = liveness.interval(op.result)
        if interval is None or op.result in outputs or not 0 < interval.last <= len(instructions):
            continue
        last = instructions[interval.last - 1]
        if not isinstance(last, JumpOp | JumpFalseOp | ReturnOp):
            behind.setdefault(last, []).append(op)
    for last, ops in behind.items():
        block = last.parent_block()
        assert block is not None
        for op in reversed(ops):
            free = FreeOp(op.result)
            free.location = last.location
            block.insert_op_after(free, last)


def _is_unbounded(op: RegisterOp) -> bool:
    return isinstance(op, AllocOp) and op.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
