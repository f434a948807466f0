"""Copies into a tensor, and scattered elements that are whole slices."""

from __future__ import annotations

from typing import Final

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.aten import AtenOp
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.counterparts import forms, sibling
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_static, same_type, tensor_type
from et_ir.passes.common.canonicalize.replacing import by_operand
from et_ir.rewriting import op_type_rewrite_pattern

__all__ = ["PATTERNS"]

_EXPANSIONS: Final = forms("expand")


class CopyIsSource(RewritePattern):
    """A copy into a tensor is what is copied, expanded and converted to what the tensor is.

    Sizes of the same expression are not expanded; ones of which nothing is known may be.
    """

    roots = forms("copy")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source, result = op.operands[1], tensor_type(op.results[0])
        type = tensor_type(source)
        if same_type(type, result):
            by_operand(op, source, rewriter)
            return
        if not is_static(type) or not is_static(result):
            return
        if any(dim_order_of(t) != contiguous(t.get_num_dims()) for t in (type, result)):
            return
        if type.element_type != result.element_type:
            # An edge program names the dim order that a conversion has; there it has been said already.
            if isinstance(op, AtenOp):
                converted = sibling(op, "_to_copy").make(source, dtype=result.element_type)
                rewriter.replace(op, [converted, _copy(op, converted.results[0])])
            return
        sizes = list(result.get_shape())
        rewriter.replace(op, sibling(op, "expand").make(source, sizes, result_types=[result]))


def _copy(op: SchemaOp, source: SSAValue) -> SchemaOp:
    """The same copy of another source."""
    return type(op).make(op.operands[0], source, result_types=[op.results[0].type])


class ScatterOfSlices(RewritePattern):
    """Scatter of elements to scatter of slices, if the index is the same for all elements of a slice."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.ScatterSrcOp, rewriter: PatternRewriter) -> None:
        source, index = tensor_type(op.src), tensor_type(op.index)
        target, before = tensor_type(op.self), op.index.owner
        if not isinstance(before, _EXPANSIONS) or not all(map(is_static, (source, index, target))):
            return
        places = tensor_type(before.operands[0])
        rank, shape = target.get_num_dims(), index.get_shape()
        if not rank or not is_static(places):
            return
        dim = op.dim % rank
        whole = target.get_shape()
        others = [d for d in range(rank) if d != dim]
        if source.get_shape() != shape or any(shape[d] != whole[d] for d in others):
            return
        padded = (1,) * (rank - places.get_num_dims()) + places.get_shape()
        if padded[dim] != shape[dim] or any(padded[d] != 1 for d in others):
            return
        flat = sibling(op, "view").make(before.operands[0], [shape[dim]])
        put = aten.IndexPutOp.make(op.self, [*(None,) * dim, flat.results[0]], op.src)
        rewriter.replace(op, [flat, put])


PATTERNS: Final = (CopyIsSource, ScatterOfSlices)
