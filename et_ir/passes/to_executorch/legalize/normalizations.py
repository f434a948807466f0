"""Normalizations of f64, which kernels compute in f32, step by step: x less its mean, divided by the root of its
variance.

A group is a row of a matrix. 12 calls, each over all elements or one for each row. Results are exact to a few units of
the last place, as the variance is the mean of squares of differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.legalize.lines import Lines, is_plain

__all__ = ["PATTERNS"]


def _rows_normalized(b: Lines, value: SSAValue, rows: int, eps: float) -> tuple[SSAValue, SSAValue, SSAValue]:
    """A matrix, each row normalized, with the mean and the inverse deviation of each."""
    size = prod(b.shape(value)) // rows
    matrix = b.view(value, (rows, size))
    mean = b(edge.DivScalarOp, b(edge.SumDimIntListOp, matrix, [1], True), float(size))
    centred = b(edge.SubTensorOp, matrix, mean)
    squares = b(edge.SumDimIntListOp, b(edge.MulTensorOp, centred, centred), [1], True)
    variance = b(edge.DivScalarOp, squares, float(size))
    inverse = b(edge.ReciprocalOp, b(edge.SqrtOp, b(edge.AddScalarOp, variance, eps)))
    return b(edge.MulTensorOp, centred, inverse), mean, inverse


def _scaled(
    b: Lines, value: SSAValue, weight: SSAValue | None, bias: SSAValue | None, shape: Sequence[int]
) -> SSAValue:
    if weight is not None:
        value = b(edge.MulTensorOp, value, b.view(weight, shape))
    return value if bias is None else b(edge.AddTensorOp, value, b.view(bias, shape))


class LayerNormInDouble(RewritePattern):
    """`native_layer_norm` of f64."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.NativeLayerNormOp, rewriter: PatternRewriter) -> None:
        if not is_plain(*op.operands, *op.results) or tensor_type(op.operands[0]).element_type != f64:
            return
        b = Lines(rewriter, 0)
        shape = b.shape(op.operands[0])
        inner = len(op.normalized_shape)
        found, mean, inverse = _rows_normalized(
            b, op.operands[0], prod(shape[: len(shape) - inner]), float(op.eps)
        )
        found = _scaled(b, b.view(found, shape), op.weight, op.bias, shape[len(shape) - inner :])
        kept = b.shape(op.results[1])
        rewriter.replace(op, [], [found, b.view(mean, kept), b.view(inverse, kept)])


class GroupNormInDouble(RewritePattern):
    """`native_group_norm` of f64."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.NativeGroupNormOp, rewriter: PatternRewriter) -> None:
        if not is_plain(*op.operands, *op.results) or tensor_type(op.operands[0]).element_type != f64:
            return
        b = Lines(rewriter, 0)
        shape, groups = b.shape(op.operands[0]), b.shape(op.results[1])
        found, mean, inverse = _rows_normalized(b, op.operands[0], prod(groups), float(op.eps))
        found = b.view(found, (shape[0], shape[1], prod(shape[2:])))
        found = _scaled(b, found, op.weight, op.bias, (shape[1], 1))
        rewriter.replace(op, [], [b.view(found, shape), b.view(mean, groups), b.view(inverse, groups)])


PATTERNS: Final = (LayerNormInDouble, GroupNormInDouble)
