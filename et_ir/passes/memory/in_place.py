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

A pointwise kernel reads an element before it writes the one at the same place; a softmax, or a normalisation, reads
what it needs of a row before it writes that. Which kernels of a target may write their (first) result over which
arguments is in `et_ir/targets/<target>-in-place.txt`, and why others may not. Result and argument must have the same
type and layout. The argument must be memory that the plan allocates, needed last by this call, and the call must not
read it in another shape too. Inputs, constants and state are never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.register_liveness import Liveness, root_of
from et_ir.dialects.executorch import AllocOp, DelegateCallOp, KernelCallOp, PlanOp, ViewOp
from et_ir.dialects.executorch.arguments import ListValue
from et_ir.dialects.executorch.signatures import schema_of
from et_ir.targets.registry import DEFAULT
from et_ir.targets.rewriting import target_of

__all__ = ["InPlacePass", "may_write_over"]


@dataclass(frozen=True)
class InPlacePass(ModulePass):
    """Let kernels write over arguments no longer needed."""

    name = "in-place"

    target: str = DEFAULT
    """The runtime whose kernels there are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = target_of(self).in_place
        for plan in op.body.block.ops:
            if isinstance(plan, PlanOp):
                _Reuse(plan, table).run()


def may_write_over(op: KernelCallOp, argument: SSAValue, table: Mapping[str, frozenset[str]]) -> bool:
    """Whether the kernel of a call may write its first result over an argument, wherever it is given that."""
    schema = schema_of(op.key) if op.key in table else None
    if schema is None:
        return False
    allowed = table[op.key]
    for declared, given in zip(schema.args, op.arguments, strict=False):
        if given is argument and declared.name not in allowed:
            return False
        if isinstance(given, ListValue) and argument in given.items:
            return False
    return True


class _Reuse:
    """One plan."""

    def __init__(self, plan: PlanOp, table: Mapping[str, frozenset[str]]):
        self.plan = plan
        self.table = table
        self.liveness = Liveness(plan)
        self.writers: dict[SSAValue, int] = {}
        """How many instructions write each register, as the plan was."""
        self.redirected: set[SSAValue] = set()
        """Registers that a move, or a view at run time, makes refer to other memory than their own."""
        for op in plan.instructions:
            fills = isinstance(op, KernelCallOp | DelegateCallOp) and len(op.outs) > 0
            for register in op.writes:
                root = root_of(register)
                self.writers[root] = self.writers.get(root, 0) + 1
                if not fills:
                    self.redirected.add(root)
        self.last: dict[SSAValue, int] = {}
        """When registers that others were merged into are needed last."""

    def run(self) -> None:
        for op in self.plan.instructions:
            if isinstance(op, KernelCallOp) and op.key in self.table and op.outs and op.list_out is None:
                self._call(op)

    def _call(self, op: KernelCallOp) -> None:
        result = op.outs[0]
        target = result.owner
        if not isinstance(target, AllocOp) or not target.is_static or self.writers[result] != 1:
            return
        needed = self.liveness.interval(result)
        assert needed is not None
        for argument in op.inputs:
            if argument.type == result.type and self._is_free(op, argument):
                # The argument is declared before the result is used; views of the result follow it.
                result.replace_all_uses_with(argument)
                target.detach()
                target.erase()
                root = root_of(argument)
                self.last[root] = needed.last
                return

    def _is_free(self, op: KernelCallOp, argument: SSAValue) -> bool:
        """Whether a call may write over one of its arguments."""
        root = root_of(argument)
        source, view = root.owner, argument.owner
        if not isinstance(source, AllocOp) or not source.is_static:
            return False
        if isinstance(view, ViewOp) and not view.is_static:
            return False
        if not may_write_over(op, argument, self.table):
            return False
        # Read in another shape too, its elements would be overwritten before they are read.
        if any(other is not argument and root_of(other) is root for other in op.inputs):
            return False
        if root in self.redirected:
            return False
        interval = self.liveness.interval(root)
        last = self.last.get(root, -1 if interval is None else interval.last)
        return last == self.liveness.times[op]
