"""Let kernels write over an argument that nothing needs afterwards.

```mlir
%r = executorch.alloc : tensor<1x96x112x112xf32>
executorch.kernel_call "aten::convolution.out"(%x, …) outs(%r)
%a = executorch.alloc : tensor<1x96x112x112xf32>
executorch.kernel_call "aten::hardtanh.out"(%r, 0.0, 6.0) outs(%a)
executorch.return %a
// becomes
%r = executorch.alloc : tensor<1x96x112x112xf32>
executorch.kernel_call "aten::convolution.out"(%x, …) outs(%r)
executorch.kernel_call "aten::hardtanh.out"(%r, 0.0, 6.0) outs(%r)
executorch.return %r
```

A pointwise kernel reads an element before it writes the one at the same place; a softmax, or a normalization, reads
what it needs of a row before it writes that. Which kernels of a target may write their (first) result over which
arguments is in `et_ir/targets/<target>-in-place.txt`, and why others may not. Result and argument must have the same
type and layout. The argument must be memory that the plan allocates, and must not interfere with the result but by this
call (`et_ir.analysis.interference`). Inputs, constants and state are never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.aliasing import extent_of
from et_ir.analysis.interference import may_write_over
from et_ir.dialects.executorch import AllocOp, KernelCallOp, PlanOp
from et_ir.passes.memory.coalescing import Coalescing
from et_ir.passes.plans import plans_in_one_chain
from et_ir.targets.lookup import DEFAULT
from et_ir.targets.rewriting import target_of

__all__ = ["InPlacePass"]


@dataclass(frozen=True)
class InPlacePass(ModulePass):
    """Let kernels write over arguments no longer needed."""

    name = "in-place"

    target: str = DEFAULT
    """The runtime whose kernels there are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = target_of(self).in_place
        for plan in plans_in_one_chain(op, self):
            _write_over_arguments(plan, table)


def _write_over_arguments(plan: PlanOp, over: Mapping[str, frozenset[str]]) -> None:
    calls = [op for op in plan.instructions if isinstance(op, KernelCallOp) and op.key in over and op.outs]
    memory = Coalescing(plan, over) if calls else None
    for op in calls:
        assert memory is not None
        result = op.outs[0]
        if not _is_allocated(result) or len(memory.writes(result)) != 1:
            continue
        for argument in op.inputs:
            extent = extent_of(argument)
            if (
                _is_allocated(extent.root)
                and may_write_over(op, argument, over)
                and memory.may_unite(result, extent.root, extent.first)
            ):
                memory.coalesce(result, extent.root, extent.first, argument)
                break
    if memory is not None:
        memory.finish()


def _is_allocated(register: SSAValue) -> bool:
    return isinstance(register.owner, AllocOp) and register.owner.is_static
