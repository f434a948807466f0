"""Replace copies that leave every byte in place by views.

`view_copy`, `squeeze_copy`, `unsqueeze_copy`, a slice or selection along the outermost dimension, a
permutation that moves only dimensions of size 1, a clone to the same layout: the result of each is the memory
of its argument under another type. Where that is known it becomes a view, and the call is gone:

```mlir
%r = executorch.alloc : tensor<2x4xf32>
executorch.kernel_call "aten::relu.out"(%x) outs(%r)
%v = executorch.alloc : tensor<8xf32>
executorch.kernel_call "aten::view_copy.out"(%r, [8]) outs(%v)
// becomes
%r = executorch.alloc : tensor<2x4xf32>
executorch.kernel_call "aten::relu.out"(%x) outs(%r)
%v = executorch.view %r : tensor<8xf32>
```

So does each piece of a split along the outermost dimension, if all of them start at a multiple of 16 bytes. A view of a
constant is the constant under another type. A call stays

- if argument and result interfere: what one holds is needed where the other is written;
- if the result is written by other instructions too;
- if the result is an output of the method and the argument an input: the caller may give the input's memory
  to something else;
- if the argument is an input and the result is a part of it, unless `inputs` says that the plan has the memory of
  inputs;
- if a tensor is dynamic, where a clone becomes its argument, a `view_copy` a view at run time, and everything else
  stays:

```mlir
%v = executorch.view bound %r : tensor<8xf32>
executorch.kernel_call "executorch_prim::et_view.default"(%r, [%n]) returns(%v)
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.aliasing import extent_of, has_exact_size
from et_ir.analysis.byte_copies import CAT, ByteCopy, copies_of, is_copy
from et_ir.dialects.executorch import AllocOp, ConstantOp, InputOp, KernelCallOp, PlanOp, StateOp
from et_ir.passes.memory.coalescing import Coalescing, erase, insert_before
from et_ir.passes.plans import plans_in_one_chain
from et_ops.conventions import ET_VIEW
from et_schema.program import TensorShapeDynamism

__all__ = ["CopiesToViewsPass"]

ALIGNMENT: Final = 16
"""Bytes that a view's start is a multiple of, so that kernels find views as well aligned as other tensors."""


@dataclass(frozen=True)
class CopiesToViewsPass(ModulePass):
    """Replace copies that move no bytes by views."""

    name = "copies-to-views"

    inputs: bool = False
    """Whether inputs are planned, so that a result may be a view of one."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for plan in plans_in_one_chain(op, self):
            calls = [
                op
                for op in plan.instructions
                if isinstance(op, KernelCallOp) and op.outs and is_copy(op) and op.key != CAT
            ]
            elision = _Elision(plan, self.inputs) if calls else None
            for call in calls:
                assert elision is not None
                elision.elide(call)
            if elision is not None:
                elision.memory.finish()


def _takes_sizes(copy: ByteCopy, out: SSAValue) -> bool:
    """Whether the result of a copy has the sizes of its argument, which are known at run time only."""
    return not copy.resizes and not has_exact_size(out)


class _Elision:
    """The views of one plan."""

    def __init__(self, plan: PlanOp, inputs: bool):
        self.memory = Coalescing(plan, {}, planned_inputs=inputs)

    def elide(self, op: KernelCallOp) -> None:
        """Make the results of a call views of its argument if it copies bytes only."""
        copies = copies_of(op)
        base = copies[0].source.root if copies else None
        # Each result as a whole is bytes of the argument.
        if base is None or [copy.target for copy in copies] != [extent_of(out) for out in op.outs]:
            return
        if not all(self._may_view(op, copy, out) for copy, out in zip(copies, op.outs, strict=True)):
            return
        self.memory.forget(op)
        for copy, out in zip(copies, op.outs, strict=True):
            alloc, source = out.owner, base.owner
            assert isinstance(alloc, AllocOp)
            if isinstance(source, ConstantOp):
                properties = dict(source.properties)
                self.memory.replace(alloc, ConstantOp.create(properties=properties, result_types=[out.type]))
                continue
            # A clone of dynamic size has the sizes that its argument has at run time.
            place = op.inputs[0] if _takes_sizes(copy, out) else None
            view = self.memory.coalesce(out, base, copy.source.first, place)
            if copy.resizes:
                call = KernelCallOp(ET_VIEW, op.arguments, returns=[view])
                call.location = op.location
                insert_before(call, op)
        erase(op)

    def _may_view(self, op: KernelCallOp, copy: ByteCopy, out: SSAValue) -> bool:
        """Whether a result of a call may be bytes of its argument."""
        alloc, base, first = out.owner, copy.source.root, copy.source.first
        if not isinstance(alloc, AllocOp) or alloc.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND:
            return False
        if [write.op for write in self.memory.writes(out)] != [op] or first % ALIGNMENT:
            return False
        if _takes_sizes(copy, out) and not self.memory.is_declared_before(op.inputs[0], alloc):
            return False
        is_output = out in self.memory.outputs
        match base.owner:
            case ConstantOp() as source:
                # A constant has one type; it cannot be resized, and there is no view of a part.
                whole = copy.source == extent_of(source.result) and not copy.resizes
                return whole and not is_output
            case InputOp() | StateOp():
                if is_output:
                    return False
            case AllocOp() as source:
                if source.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND:
                    return False
            case _:
                return False
        return self.memory.may_unite(out, base, first, replaced={op: [copy]})
