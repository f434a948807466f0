"""Replace bitcasts without a kernel by copies.

The copy writes a view that shows the result as elements of the argument's type:

```mlir
%r = executorch.alloc : tensor<4xi32>
executorch.kernel_call "aten::view_copy.dtype_out"(%x, 3) outs(%r)
// becomes
%r = executorch.alloc : tensor<4xi32>
%v = executorch.view %r : tensor<4xf32>
executorch.kernel_call "aten::view_copy.out"(%x, [4]) outs(%v)
```

`copies-to-views` needs no kernel for these either, and no copy; this is for the calls that it leaves. The result of one
in an input's memory, of which there are no planned views, is copied there from a register of its own. Calls on tensors
of dynamic sizes stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.aliasing import has_exact_size, root_of
from et_ir.analysis.byte_copies import REINTERPRETATIONS, copies_of
from et_ir.dialects.executorch import AllocOp, InputOp, KernelCallOp, ListKind, ListValue, ViewOp
from et_ir.dialects.executorch.layout import Tensor
from et_ir.passes.memory.coalescing import erase, insert_before
from et_ir.passes.plans import plans_of
from et_ir.targets.lookup import DEFAULT
from et_ir.targets.rewriting import target_of

__all__ = ["ReinterpretationsToCopiesPass"]

_COPY: Final = "aten::view_copy.out"
"""The kernel that copies bytes of any type of elements."""


@dataclass(frozen=True)
class ReinterpretationsToCopiesPass(ModulePass):
    """Replace bitcasts without a kernel by copies."""

    name = "reinterpretations-to-copies"

    target: str = DEFAULT
    """The runtime whose kernels there are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        missing = REINTERPRETATIONS - target_of(self).kernels
        for plan in plans_of(op, self):
            for call in plan.instructions:
                if isinstance(call, KernelCallOp) and call.key in missing and copies_of(call):
                    _copy(call)


def _copy(op: KernelCallOp) -> None:
    """Make a call that copies bytes a copy of the same elements."""
    source, out = op.inputs[0], op.outs[0]
    declaration = out.owner
    assert isinstance(declaration, AllocOp | ViewOp | InputOp)
    if isinstance(root_of(out).owner, InputOp):
        own = AllocOp(out.type)
        own.location = op.location
        insert_before(own, declaration)
        declaration = own
    view = ViewOp(declaration.result, source.type)
    view.location = op.location
    block = declaration.parent_block()
    assert block is not None
    block.insert_op_after(view, declaration)
    _add_copy(op, source, view.result)
    if declaration.result is not out:
        _add_copy(op, declaration.result, out)
    erase(op)


def _add_copy(op: KernelCallOp, source: SSAValue, out: SSAValue) -> None:
    assert has_exact_size(source, out)
    sizes = ListValue(ListKind.INTS, cast(Tensor, out.type).get_shape())
    call = KernelCallOp(_COPY, [source, sizes], outs=[out])
    call.location = op.location
    insert_before(call, op)
