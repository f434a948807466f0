"""Convert methods to destination-passing style: plans of registers and calls that write them.

Each result gets a register of its own and each op becomes a call of its operator's out variant, with the
arguments in the order of that variant's schema. Constants, state and inputs become registers; numbers stand
inline. Stores to mutable buffers, and writes to inputs, stay as they are for the pass `write-back`.

```mlir
func.func @forward(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %b = program.get @"b" : tensor<4xf32>
  %1 = edge.add.Tensor %x, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}
// becomes
executorch.plan @forward {
  %x = executorch.input : tensor<2x4xf32>
  %b = executorch.constant @"b" : tensor<4xf32>
  %1 = executorch.alloc : tensor<2x4xf32>
  executorch.kernel_call "aten::add.out"(%x, %b, 1) outs(%1)
  executorch.return %1
}
```

A tensor whose sizes only the data or the caller tells becomes a `bound` register, as large as it can get
(`et_ir.analysis.bounds`); kernels give it its sizes. Statements about numbers have served their purpose then, and go.

```mlir
%0 = edge.nonzero %x : (tensor<2x3xf32>) -> tensor<?x2xi64>
%n = edge.sym_size.int %0 {dim = 0} : (tensor<?x2xi64>) -> i64
program.range %n from 0 to 6
// becomes
%0 = executorch.alloc bound : tensor<6x2xi64>
executorch.kernel_call "aten::nonzero.out"(%x) outs(%0)
```

A `control.cond` becomes two blocks that write to the registers of its results, a loop one that is jumped back to
(`control_flow.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from et_ir.diagnostics import Diagnostic, PassReport
from et_ir.dialects.executorch import PlanOp
from et_ir.passes.to_executorch.to_out_variant.method_builder import MethodBuilder

__all__ = ["MissingOutVariants", "ToOutVariantPass"]


class MissingOutVariants(PassReport):
    """Operations that no call of a kernel can stand for. If nothing else is wrong, it is operators that are missing."""

    def __init__(self, title: str, findings: Sequence[Diagnostic]):
        super().__init__(title, findings)
        self.exit_code = 4 if all(f.message.startswith("[out_variant_c1]") for f in findings) else 3


@dataclass(frozen=True)
class ToOutVariantPass(ModulePass):
    """Turn methods into plans that write to registers."""

    name = "to-out-variant"

    unbounded: Literal["error", "runtime"] = "error"
    """The treatment of unbounded tensors: errors, or `unbound` registers, which get memory at run time."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        findings: list[Diagnostic] = []
        plans: list[tuple[FuncOp, PlanOp]] = []
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                method = MethodBuilder(function, grows=self.unbounded == "runtime")
                plans.append((function, method.run()))
                findings.extend(method.diagnostics)
        MissingOutVariants.raise_if("operations without an out variant", findings)
        for function, plan in plans:
            block = function.parent_block()
            assert block is not None
            block.insert_op_before(plan, function)
            function.detach()
            function.erase()
