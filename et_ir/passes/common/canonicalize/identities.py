"""Operators that are identities, views or slices for their sizes and arguments.

```mlir
%1 = aten.constant_pad_nd %x {pad = [0, 0]} : tensor<4x6xf32>                                    // before
%2 = aten.repeat %1 {repeats = [1, 4, 1]} : (tensor<4x6xf32>) -> tensor<1x16x6xf32>
%3 = aten.upsample_nearest2d %i {output_size = [8, 8]} : tensor<1x3x8x8xf32>

%2 = aten.repeat %x {repeats = [1, 4, 1]} : (tensor<4x6xf32>) -> tensor<1x16x6xf32>              // after; uses of %i
```

What adds or divides stays: a sum or a mean of one element makes +0.0 of -0.0.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.data.blob import KEEP
from et_ir.dialects.counterparts import forms, known_forms, sibling
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.edge.resampling import factors_of
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_static, may_be_same_type, tensor_type
from et_ir.evaluation.arrays import array_of
from et_ir.passes.common.canonicalize.replacing import by_operand, by_view
from et_ir.passes.common.canonicalize.slices import type_of

__all__ = ["PATTERNS", "SelectRange"]

_FLIPS: Final = forms("flip")


class PadNothing(RewritePattern):
    """Padding by no elements."""

    roots = known_forms("constant_pad_nd", "pad")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        if all(isinstance(count, int) and count == 0 for count in op.arg("pad")):
            by_operand(op, op.operands[0], rewriter, keeps_sizes=True)


class RepeatIsExpansion(RewritePattern):
    """Repetitions of dimensions of size 1, and of none, which pointwise operators do by themselves."""

    roots = forms("repeat")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source, result = op.operands[0], tensor_type(op.results[0])
        type = tensor_type(source)
        if not is_static(type) or not is_static(result) or 0 in result.get_shape():
            return
        if any(dim_order_of(t) != contiguous(t.get_num_dims()) for t in (type, result)):
            return
        shape = (*(1,) * (result.get_num_dims() - type.get_num_dims()), *type.get_shape())
        repeated = (
            before != after for before, after in zip(shape, result.get_shape(), strict=True) if before != 1
        )
        if not any(repeated):
            sizes = list(result.get_shape())
            rewriter.replace(op, sibling(op, "expand").make(source, sizes, result_types=[result]))


class ResizeToSame(RewritePattern):
    """The nearest of as many elements is the element itself, unless torch goes by a factor that says otherwise."""

    roots = known_forms(
        *(
            f"{kind}{dims}d{form}"
            for kind in ("upsample_nearest", "_upsample_nearest_exact")
            for dims in (1, 2, 3)
            for form in ("", ".vec")
        )
    )

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source = op.operands[0]
        type = tensor_type(source)
        if type != op.results[0].type or not is_static(type):
            return
        if all(factor in (None, 1) for factor in factors_of(op)):
            by_operand(op, source, rewriter)


class PoolOfOne(RewritePattern):
    """The maximum of one element each."""

    roots = known_forms(*(f"max_pool{dims}d{form}" for dims in (1, 2, 3) for form in ("", "_with_indices")))

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        kernel = tuple(op.arg("kernel_size"))
        stride = tuple(op.arg("stride")) or kernel
        source, (result, *indices) = op.operands[0], op.results
        ones = (*kernel, *stride) == (1,) * (len(kernel) + len(stride))
        if not ones or any(op.arg("padding")) or not may_be_same_type(source.type, result.type):
            return
        if not indices:
            by_operand(op, source, rewriter, keeps_sizes=True)
        elif all(index.first_use is None for index in indices) and isinstance(source.owner, SchemaOp):
            rewriter.replace(op, [], [source, *[None] * len(indices)])


class LargestOfOne(RewritePattern):
    """The largest or smallest along dimensions of size 1 is a view."""

    roots = forms("amax", "amin")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source = op.operands[0]
        type = tensor_type(source)
        rank = type.get_num_dims()
        dims = op.arg("dim") or range(rank)
        if rank and dim_order_of(type) == contiguous(rank) and all(type.get_shape()[d] == 1 for d in dims):
            by_view(op, source, rewriter)


class FlipTwice(RewritePattern):
    """Flips that follow each other: what is flipped twice is as it was."""

    roots = _FLIPS

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source = op.operands[0]
        type = tensor_type(source)
        rank = type.get_num_dims()
        dims: set[int] = {dim % rank for dim in op.arg("dims")} if rank else set()
        if all(type.get_shape()[dim] == 1 for dim in dims):
            by_operand(op, source, rewriter, keeps_sizes=True)
        elif isinstance(source.owner, _FLIPS) and source.has_one_use():
            before = source.owner
            both = dims ^ {dim % rank for dim in before.arg("dims")}
            made = type_of(op).make(before.operands[0], sorted(both), result_types=[op.results[0].type])
            rewriter.replace(op, made)


class SelectRange(RewritePattern):
    """A selection by constant indices that follow each other is a slice."""

    roots = forms("index_select")

    def __init__(self, module: ModuleOp):
        self.globals = Globals(module)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source, result = op.operands[0], tensor_type(op.results[0])
        rank = result.get_num_dims()
        first = self._range(op.operands[1])
        if first is None or not rank or not is_static(result):
            return
        dim: int = op.arg("dim") % rank
        count = result.get_shape()[dim]
        if first + count <= tensor_type(source).get_shape()[dim]:
            slice_ = sibling(op, "slice.Tensor")
            rewriter.replace(op, slice_.make(source, dim, first, first + count, 1, result_types=[result]))

    def _range(self, index: SSAValue) -> int | None:
        """The first of constant indices, each one more than the one before."""
        symbol = self.globals.constant_of(index)
        if symbol is None or symbol.value is None:
            return None
        blob = symbol.value.blob
        if not blob.is_resolved or blob.nbytes > KEEP:
            return None
        indices = array_of(symbol.type, blob).reshape(-1)
        if not indices.size or indices[0] < 0 or bool((np.diff(indices) != 1).any()):
            return None
        return int(indices[0])


PATTERNS: Final = (PadNothing, RepeatIsExpansion, ResizeToSame, PoolOfOne, LargestOfOne, FlipTwice)
