"""Fold per-channel factors and addends into the preceding convolution or matrix product.

```mlir
%1 = aten.convolution %x, %w, %b {…} : (…) -> tensor<1x8x4x4xf32>                                        // before
%2 = aten.mul.Tensor %1, %s : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
%3 = aten.add.Tensor %2, %t : (tensor<1x8x4x4xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x4x4xf32>

%3 = aten.convolution %x, %w2, %b2 {…} : (…) -> tensor<1x8x4x4xf32>                                      // after
```

That is what a batch norm with frozen statistics is where a program computes it by itself. The new weight is `w * s`
and the new bias `b * s + t`, both computed in double precision when their bytes are needed. Constants have a number
for each output channel, or one for all. The layer must have no other user, nor its weight. What is f16 or bf16 stays,
as it would be rounded once more, and so does a sum behind a product of matrices without a bias, which is one that way.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.analysis.affine_layers import Layers, Normalisation, doubles
from et_ir.data.blob import KEEP
from et_ir.dialects.counterparts import known_forms
from et_ir.dialects.program import GetOp, LiteralOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import literal_of
from et_ir.dialects.schema.tensors import same_type, tensor_type
from et_ir.evaluation.arrays import Array
from et_ir.rewriting import rewrite

__all__ = ["FoldScalesPass"]

_COMMUTING: Final = ("add", "mul")
_FLOATS: Final = ("f32", "f64")


class FoldIntoLayer(RewritePattern):
    """Folds one product, quotient, sum or difference."""

    roots = known_forms(
        *(f"{name}.{form}" for name in ("add", "div", "mul", "sub") for form in ("Scalar", "Tensor"))
    )

    def __init__(self, module: ModuleOp):
        self.layers = Layers(module)
        self.readers: Counter[str] = Counter()
        """Use counts of the constants at the start; those that are made here are used once."""
        for op in module.walk():
            if isinstance(op, GetOp):
                self.readers[op.symbol.string_value()] += sum(1 for _ in op.result.uses)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        name = op.operator.view_form.partition(".")[0]
        if "alpha" in op.properties and op.arg("alpha") != 1:
            return
        given = list(op.args().values())[:2]
        pairs = [(given[0], given[1]), *([(given[1], given[0])] if name in _COMMUTING else [])]
        for value, factor in pairs:
            producer = cast("SSAValue[Attribute]", value).owner if isinstance(value, SSAValue) else None
            if isinstance(producer, SchemaOp) and self._fold(op, name, producer, factor, rewriter):
                return

    def _fold(
        self, op: SchemaOp, name: str, producer: SchemaOp, factor: object, rewriter: PatternRewriter
    ) -> bool:
        result = tensor_type(op.results[0])
        if len(producer.results) != 1 or not same_type(producer.results[0].type, result):
            return False
        if not producer.results[0].has_one_use() or str(result.element_type) not in _FLOATS:
            return False
        weight = self.layers.weight(producer)
        if weight is None or self.readers[weight.symbol.key] > 1:
            return False
        if weight.transposed is not None and not weight.transposed.results[0].has_one_use():
            return False
        images = producer.operator.view_form.startswith("conv")
        if images and weight.symbol.type.get_num_dims() != result.get_num_dims():
            return False  # without a batch, channels are first
        bias = self.layers.bias(producer)
        numbers = self._numbers(factor, result.get_num_dims(), result.get_shape()[1])
        if bias is None or numbers is None:
            return False
        if name in ("add", "sub") and producer.operator.view_form == "mm":
            return False
        if name == "div" and not numbers.all():
            return False
        scale, shift = np.ones_like(numbers), np.zeros_like(numbers)
        if name == "mul":
            scale = numbers
        elif name == "div":
            scale = 1.0 / numbers
        else:
            shift = numbers if name == "add" else -numbers
        norm = Normalisation(lambda: scale, lambda: 0.0 * numbers, lambda: shift, bool(shift.any()))
        self.layers.replace(op, producer, norm, weight, bias[0], "scaled", rewriter)
        return True

    def _numbers(self, factor: object, rank: int, channels: int) -> Array | None:
        """The number for each channel that a constant or a literal is, if all are finite."""
        if isinstance(factor, SSAValue):
            value = cast("SSAValue[Attribute]", factor)
            if isinstance(value.owner, LiteralOp):
                factor = literal_of(value.owner.value)
            else:
                symbol = self.layers.constant(value)
                if symbol is None or symbol.value is None or symbol.value.blob.nbytes > KEEP:
                    return None
                shape = symbol.type.get_shape()
                wide = (*(1,) * (rank - len(shape)), *shape)
                if len(shape) > rank or any(size != 1 for dim, size in enumerate(wide) if dim != 1):
                    return None
                factor = doubles(symbol).reshape(-1)
        if isinstance(factor, bool) or not isinstance(factor, int | float | np.ndarray):
            return None
        numbers = np.broadcast_to(np.asarray(factor, np.float64), (channels,))
        return numbers if bool(np.isfinite(numbers).all()) else None


@dataclass(frozen=True)
class FoldScalesPass(ModulePass):
    """Fold factors and sums of channels into layers."""

    name = "fold-scales"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [FoldIntoLayer(op)], recursive=True)
