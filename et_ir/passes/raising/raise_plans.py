"""Raise plans to methods of edge ops: SSA construction from registers, and structured control flow recovery.

A register is memory that instructions write again and again. Each write becomes a value, and a read gets what was
written last to the bytes that the register covers: planned addresses and views are resolved here, and nothing of them
is left. Kernel calls become the functional operators whose out variants or in-place forms they are. What is written to
state or to the caller's own tensors is stored at the end of the method.

```mlir
executorch.plan @forward {arenas = array<i64: 32>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %s = executorch.state @s {memory_id = 1, offset = 16} : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%x, %s, 1) outs(%s)
  executorch.return %s
}
// becomes
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = program.load @s : tensor<4xf32>
  %0 = edge.add.Tensor %x, %s : tensor<4xf32>
  program.store @s, %0 : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
```

Delegates stay calls; what is in blobs for XNNPACK, `raise-xnnpack` raises. Rules: `raise_c1` the operator of each
kernel is known; `raise_c2` calls fit the operator's schema; `raise_c3` memory of a size known at run time is read as
the element type that it was written as; `raise_c4` tensors of such sizes are read as a whole; `raise_c5` jumps are
those of conditions and loops; `raise_c6` registers are written before they are read.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from et_ir.diagnostics import Diagnostic, PassReport
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.executorch import PlanOp
from et_ir.dialects.program import DeclareOperatorOp, Globals
from et_ir.passes.plans import plans_of
from et_ir.passes.raising import loops
from et_ir.passes.raising.calls import Custom
from et_ir.passes.raising.delegate_types import DelegateTypes
from et_ir.passes.raising.method import MethodRaiser
from et_ir.passes.raising.sizes import InputSizes, find_sizes, has_sizes_at_run_time

__all__ = ["RaisePlansPass"]


@dataclass(frozen=True)
class RaisePlansPass(ModulePass):
    """Turn plans into methods of edge ops."""

    name = "raise-plans"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Globals(op)
        delegates = DelegateTypes(op)
        custom = _custom_kernels(op)
        findings: list[Diagnostic] = []
        raised: list[tuple[PlanOp, FuncOp]] = []
        for plan in plans_of(op, self):
            sizes = _sizes(plan, symbols, custom, delegates)
            method = MethodRaiser(plan, symbols, custom, loops, delegates, sizes)
            function = method.run()
            findings.extend(method.diagnostics)
            if function is not None:
                raised.append((plan, function))
        PassReport.raise_if("instructions that cannot be raised", findings)
        for plan, function in raised:
            Rewriter.replace_op(plan, function, [])


def _sizes(plan: PlanOp, symbols: Globals, custom: Custom, delegates: DelegateTypes) -> InputSizes | None:
    """Sizes of inputs that are known at run time only; `None` where all sizes of the plan are exact."""
    if not has_sizes_at_run_time(plan):
        return None

    def is_valid(sizes: InputSizes) -> bool:
        return MethodRaiser(plan, symbols, custom, loops, delegates, sizes).run() is not None

    return find_sizes(plan, is_valid)


def _custom_kernels(module: ModuleOp) -> dict[str, type[EdgeOp]]:
    found: dict[str, type[EdgeOp]] = {}
    for op in module.body.block.ops:
        if isinstance(op, DeclareOperatorOp) and op.out_schema:
            made = op.edge_class()
            found[made.operator.kernel] = made
    return found
