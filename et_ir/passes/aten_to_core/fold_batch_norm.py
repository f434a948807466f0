"""Fold constant batch normalization into the preceding convolution or matrix product.

```mlir
%1 = aten.convolution %x, %w, %b {…} : (…) -> tensor<1x8x4x4xf32>                                        // before
%2, %m, %r = aten._native_batch_norm_legit_no_training %1, %gamma, %beta, %mean, %var {momentum = 0.1, eps = 1e-05} : …

%2 = aten.convolution %x, %w2, %b2 {…} : (…) -> tensor<1x8x4x4xf32>                                      // after
```

With `s = gamma / sqrt(var + eps)` per output channel, the new weight is `w * s` and the new bias `(b - mean) * s +
beta`, both computed in double precision when their bytes are needed. The producer must have no other user; convolutions
of any rank and direction, `linear`, and `addmm` or `mm` with a constant second matrix, plain or transposed, are folded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.analysis.affine_layers import Layers, Normalisation, doubles
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.counterparts import forms
from et_ir.dialects.schema import SchemaOp
from et_ir.evaluation.arrays import Array
from et_ir.rewriting import rewrite

__all__ = ["FoldBatchNormPass"]


class FoldIntoProducer(RewritePattern):
    """Folds one batch norm."""

    roots = (*forms("_native_batch_norm_legit_no_training"), aten.BatchNormOp)

    def __init__(self, module: ModuleOp):
        self.layers = Layers(module)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        producer = op.operands[0].owner
        if not isinstance(producer, SchemaOp) or not op.operands[0].has_one_use():
            return
        if any(result.first_use is not None for result in op.results[1:]):
            return
        if isinstance(op, aten.BatchNormOp) and op.arg("training"):
            return
        norm = self._normalisation(op)
        weight = self.layers.weight(producer)
        if norm is None or weight is None:
            return
        bias = self.layers.bias(producer)
        if bias is None:
            return
        self.layers.replace(op, producer, norm, weight, bias[0], "batch_norm", rewriter)

    def _normalisation(self, op: SchemaOp) -> Normalisation | None:
        mean, variance = (
            self.layers.constant(op.arg("running_mean")),
            self.layers.constant(op.arg("running_var")),
        )
        gamma, beta = self.layers.constant(op.arg("weight")), self.layers.constant(op.arg("bias"))
        if mean is None or variance is None:
            return None
        if (gamma is None) != (op.arg("weight") is None) or (beta is None) != (op.arg("bias") is None):
            return None
        eps: float = op.arg("eps")

        def scale() -> Array:
            factor = 1.0 / np.sqrt(doubles(variance) + eps)
            return factor if gamma is None else factor * doubles(gamma)

        def shift() -> Array:
            return np.zeros(mean.type.get_shape()) if beta is None else doubles(beta)

        return Normalisation(scale, lambda: doubles(mean), shift)


@dataclass(frozen=True)
class FoldBatchNormPass(ModulePass):
    """Fold batch normalisation into the layer before it."""

    name = "fold-batch-norm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [FoldIntoProducer(op)])
