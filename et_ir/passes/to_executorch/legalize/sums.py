"""Sums that kernels get wrong, in forms that they get right."""

from __future__ import annotations

from math import prod
from typing import Final

from xdsl.dialects.builtin import TensorType, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema.tensors import is_static, tensor_type
from et_ir.passes.to_executorch.legalize.empty import zeros
from et_ir.passes.to_executorch.legalize.ranks import viewed
from et_ir.rewriting import op_type_rewrite_pattern

__all__ = ["PATTERNS"]


def _is_plain(value: SSAValue) -> bool:
    """Whether a tensor has a known shape, elements, and its dimensions in order."""
    type = tensor_type(value)
    return (
        is_static(type)
        and prod(type.get_shape()) > 0
        and dim_order_of(type) == contiguous(type.get_num_dims())
    )


class SumInDouble(RewritePattern):
    """`sum.dim_IntList` of f64 over one dimension, which the kernel adds up in f32: over that and another of one
    element, which it adds up in f64.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.SumDimIntListOp, rewriter: PatternRewriter) -> None:
        value, result = op.operands[0], tensor_type(op.results[0])
        rank, given = tensor_type(value).get_num_dims(), op.arg("dim")
        double = tensor_type(value).element_type == f64 and result.element_type == f64
        if not double or given is None or len(given) != 1 or not rank or not _is_plain(value):
            return
        longer = viewed(value, (*tensor_type(value).get_shape(), 1), rewriter)
        shape = (*result.get_shape(), 1) if op.arg("keepdim") else result.get_shape()
        total = edge.SumDimIntListOp.make(
            longer,
            [given[0] % rank, rank],
            op.arg("keepdim"),
            result_types=[TensorType[Attribute](f64, shape)],
        )
        sums = rewriter.insert(total).results[0]
        rewriter.replace(
            op, [], [viewed(sums, tuple(result.get_shape()), rewriter) if op.arg("keepdim") else sums]
        )


class PoolGradient(RewritePattern):
    """`max_pool2d_with_indices_backward`, whose kernel adds to whatever is in the bytes of its result: `scatter_add`
    to zeros, a row for each plane.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.MaxPool2dWithIndicesBackwardOp, rewriter: PatternRewriter) -> None:
        gradient, image, places = op.operands
        if not all(map(_is_plain, (gradient, image, places))):
            return
        *planes, height, width = tensor_type(image).get_shape()
        count = prod(planes)
        taken = prod(tensor_type(places).get_shape()) // count
        rows = TensorType[Attribute](tensor_type(image).element_type, [count, height * width])
        blank = rewriter.insert(zeros(rows)).results[0]
        added = edge.ScatterAddOp.make(
            blank,
            1,
            viewed(places, (count, taken), rewriter),
            viewed(gradient, (count, taken), rewriter),
            result_types=[rows],
        )
        total = rewriter.insert(added).results[0]
        rewriter.replace(op, [], [viewed(total, (*planes, height, width), rewriter)])


PATTERNS: Final = (SumInDouble, PoolGradient)
