"""Let pointwise kernels write over an argument that nothing needs afterwards.

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

Such a kernel reads an element before it writes the one at the same place, so the result may be the argument
if both have the same type and layout. The argument must be memory that the plan allocates, needed last by
this call, and the call must not read it in another shape too. Inputs, constants and state are never written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from et_ir.dialects.executorch import AllocOp, DelegateCallOp, KernelCallOp, PlanOp, ViewOp
from et_ir.passes.register_liveness import Liveness, root_of

__all__ = ["POINTWISE", "InPlacePass"]

POINTWISE: Final = frozenset(
    f"aten::{name}"
    for name in """
    abs.out acos.out acosh.out add.Scalar_out add.out asin.out asinh.out atan.out atan2.out atanh.out
    bitwise_and.Scalar_out bitwise_and.Tensor_out bitwise_not.out bitwise_or.Scalar_out
    bitwise_or.Tensor_out bitwise_xor.Scalar_out bitwise_xor.Tensor_out ceil.out clamp.Tensor_out
    clamp.out cos.out cosh.out div.Scalar_out div.out elu.out eq.Scalar_out eq.Tensor_out erf.out
    exp.out expm1.out floor.out fmod.Scalar_out fmod.Tensor_out ge.Scalar_out ge.Tensor_out gelu.out
    gt.Scalar_out gt.Tensor_out hardtanh.out le.Scalar_out le.Tensor_out leaky_relu.out log.out
    log10.out log1p.out log2.out logical_and.out logical_not.out logical_or.out logical_xor.out
    logit.out lt.Scalar_out lt.Tensor_out masked_fill.Scalar_out maximum.out minimum.out mul.Scalar_out
    mul.out ne.Scalar_out ne.Tensor_out neg.out pow.Scalar_out pow.Tensor_Scalar_out
    pow.Tensor_Tensor_out reciprocal.out relu.out remainder.Scalar_out remainder.Tensor_out round.out
    rsqrt.out rsub.Scalar_out sigmoid.out sign.out sin.out sinh.out sqrt.out sub.Scalar_out sub.out
    tan.out tanh.out trunc.out where.self_out
    """.split()  # noqa: SIM905
)
"""Operators whose kernels, in every runtime that the tests run, may write over any of their tensor arguments."""


@dataclass(frozen=True)
class InPlacePass(ModulePass):
    """Let kernels write over arguments no longer needed."""

    name = "in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for plan in op.body.block.ops:
            if isinstance(plan, PlanOp):
                _Reuse(plan).run()


class _Reuse:
    """One plan."""

    def __init__(self, plan: PlanOp):
        self.plan = plan
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
            if isinstance(op, KernelCallOp) and op.key in POINTWISE and len(op.outs) == 1:
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
        # Read in another shape too, its elements would be overwritten before they are read.
        if any(other is not argument and root_of(other) is root for other in op.inputs):
            return False
        if root in self.redirected:
            return False
        interval = self.liveness.interval(root)
        last = self.last.get(root, -1 if interval is None else interval.last)
        return last == self.liveness.times[op]
