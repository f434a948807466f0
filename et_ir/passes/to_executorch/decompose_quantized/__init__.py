"""Decompose quantized operators without a correct kernel into arithmetic.

```mlir
%1 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, quant_min = -128,
       quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>                                 // before

%2 = edge.mul.Scalar %x {other = 2.0} : tensor<4xf32>                                                 // after
%3 = edge.round %2 : tensor<4xf32>
%4 = edge.add.Scalar %3 {other = 3} : tensor<4xf32>
%5 = edge.clamp %4 {min = -128, max = 127} : tensor<4xf32>
%1 = edge.dim_order_ops._to_dim_order_copy %5 {dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
```

Programs keep the operators of `quantized_decomposed` down to here, so that whoever has a use for them finds them:
partitioners, and targets with kernels. The arithmetic is that of torch, step by step, so that results are equal to the
bit. Weights stay what they are in the file, and are converted when they are used. An operator whose sizes are not known
is left, and `link-check` names it. With `simplify`, `constant-fold{limit=0},cse,dce` follow where an operator has been
decomposed: in programs without any, these would find nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from et_ir.dialects.edge import EdgeOp
from et_ir.passes.common.constant_fold import ConstantFoldPass
from et_ir.passes.common.cse import CsePass
from et_ir.passes.common.dce import DcePass
from et_ir.passes.to_executorch.decompose_quantized import (  # noqa: F401
    affine,  # pyright: ignore[reportUnusedImport]
    choices,  # pyright: ignore[reportUnusedImport]
    layers,  # pyright: ignore[reportUnusedImport]
    per_axis,  # pyright: ignore[reportUnusedImport]
)
from et_ir.passes.to_executorch.decompose_quantized.builder import DECOMPOSITIONS, Builder
from et_ir.rewriting import rewrite
from et_ir.targets.lookup import DEFAULT
from et_ir.targets.rewriting import TargetPattern, target_of
from et_ir.targets.target import Target

__all__ = ["DECOMPOSITIONS", "DecomposeQuantizedPass"]


class ToArithmetic(TargetPattern):
    """Replaces an op that has no kernel, or one that computes otherwise than torch, by its decomposition."""

    def __init__(self, target: Target):
        super().__init__(target)
        judged = target.quantized_as_torch is not None
        self.roots = tuple(
            cls for cls in DECOMPOSITIONS if judged or cls.operator.kernel not in target.kernels
        )

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        right = self.target.quantized_as_torch
        if op.operator.kernel in self.target.kernels and (right is None or right(op)):
            return
        builder = Builder(op, rewriter)
        found = DECOMPOSITIONS[type(op)](builder, op)
        if found is None:
            return
        values = (found,) if isinstance(found, SSAValue) else found
        fitted = [builder.fitted(new, old.type) for new, old in zip(values, op.results, strict=True)]
        rewriter.replace(op, (), fitted)


@dataclass(frozen=True)
class DecomposeQuantizedPass(ModulePass):
    """Take apart quantized operators without a kernel."""

    name = "decompose-quantized"

    target: str = DEFAULT
    """The runtime whose kernels there are."""
    simplify: bool = False
    """Whether constants of the arithmetic are folded and its equal and dead ops are removed."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        decomposed = rewrite(op, [ToArithmetic(target_of(self))])
        if decomposed and self.simplify:
            for one in (ConstantFoldPass(limit=0), CsePass(), DcePass()):
                one.apply(ctx, op)
