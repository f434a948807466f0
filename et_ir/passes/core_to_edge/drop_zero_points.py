"""Drop converted zero points that are 0.

```mlir
%z = edge.dim_order_ops._to_dim_order_copy %zeros {dtype = i64} : (tensor<64x4xi8>) -> tensor<64x4xi64>
%w = edge.quantized_decomposed.dequantize_per_channel_group %q, %s, %z {group_size = 32, …}                 // before

%w = edge.quantized_decomposed.dequantize_per_channel_group %q, %s {group_size = 32, …}                     // after
```

Symmetric weights of torchao have zero points of a narrow type, which the operators convert. `constant-fold` leaves the
conversion of many, as the file would grow by it: they would be converted in each call, and backends that take
constants only could not take the weights. Zero points that are constants as they are stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.analysis.quantization import numbers_of
from et_ir.dialects.counterparts import forms
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.rewriting import rewrite

__all__ = ["DropZeroPointsPass"]


@dataclass(frozen=True)
class DropZeroPointsPass(ModulePass):
    """Drop converted zero points that are 0."""

    name = "drop-zero-points"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_DropZeroPoints(Globals(op))], recursive=False)


class _DropZeroPoints(RewritePattern):
    """Zero points that are converted from a constant of zeros."""

    # Those whose zero points are optional.
    roots = forms(
        "quantized_decomposed.dequantize_per_channel", "quantized_decomposed.dequantize_per_channel_group"
    )

    def __init__(self, symbols: Globals):
        self._symbols = symbols

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        points = op.arg("zero_points")
        if points is None or not isinstance(points.owner, SchemaOp):
            return
        numbers = numbers_of(points, self._symbols, np.int64)
        if numbers is None or numbers.any():
            return
        made = type(op).make(**{**op.args(), "zero_points": None}, location=op.location)
        rewriter.replace(op, made)
