"""Legalization of empty tensors and empty contractions.

What has no elements is not computed, and a product over no elements is zero.
"""

from __future__ import annotations

from typing import Final

from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema.tensors import is_static, is_tensor, tensor_type
from et_ir.rewriting import op_type_rewrite_pattern

__all__ = ["PATTERNS", "ProductOverNothing"]


def zeros(type: Attribute) -> EdgeOp:
    """Zeros of a static tensor type."""
    assert is_tensor(type)
    return edge.FullOp.make(type.get_shape(), 0, dtype=type.element_type, result_types=[type])


def _is_empty(type: Attribute) -> bool:
    return is_tensor(type) and is_static(type) and 0 in type.get_shape()


class EmptyResults(RewritePattern):
    """An op whose results have no elements, each contiguous."""

    roots = (EdgeOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        types = list(op.result_types)
        if not types or not all(map(_is_empty, types)) or isinstance(op, edge.FullOp | edge.ViewCopyOp):
            return
        if any(is_tensor(t) and dim_order_of(t) != contiguous(t.get_num_dims()) for t in types):
            return
        made = [zeros(type) for type in types]
        rewriter.replace(op, made, [one.results[0] for one in made])


class ProductOverNothing(RewritePattern):
    """`mm` and `bmm` with no inner elements, whose kernels leave the result as it was."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.MmOp | edge.BmmOp, rewriter: PatternRewriter) -> None:
        if tensor_type(op.operands[0]).get_shape()[-1] == 0 and is_static(tensor_type(op.results[0])):
            rewriter.replace(op, zeros(op.results[0].type))


PATTERNS: Final = (EmptyResults, ProductOverNothing)
