"""Literals and shapes that kernels do not take, or take for others."""

from __future__ import annotations

from math import prod
from typing import Final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.edge.resampling import factors_of, given_factors
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import is_static, tensor_type
from et_ir.rewriting import op_type_rewrite_pattern
from et_ops.dtypes import Category

__all__ = ["PATTERNS"]


class ScaledSum(RewritePattern):
    """A sum or difference with a factor.

    The factor has the type of the elements, modulo 256 where these are unsigned. The kernel of `add` multiplies the
    wrong operand where the first has one element and the second more, so the first is expanded.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.AddTensorOp | edge.SubTensorOp, rewriter: PatternRewriter) -> None:
        alpha = op.arg("alpha")
        if not isinstance(alpha, int | float) or (alpha == 1 and isinstance(alpha, int)):
            return
        first, second = op.operands
        result = tensor_type(op.results[0])
        dtype = dtype_of(result.element_type)
        factor = alpha
        if dtype.category is Category.INTEGER and factor == int(factor):
            factor = int(factor) % 256 if dtype.name == "ui8" else int(factor)
        fits = type(factor) is type(alpha) and factor == alpha
        one = _is_one(first) and not _is_one(second) and isinstance(op, edge.AddTensorOp) and factor != 1
        if one and is_static(result) and dim_order_of(result) == contiguous(result.get_num_dims()):
            shape = result.get_shape()
            first = rewriter.insert(edge.ExpandCopyOp.make(first, shape, result_types=[result])).results[0]
        elif fits:
            return
        rewriter.replace(op, type(op).make(first, second, alpha=factor, result_types=[result]))


def _is_one(value: SSAValue) -> bool:
    type = tensor_type(value)
    return is_static(type) and prod(type.get_shape()) == 1


class NegativePads(RewritePattern):
    """`constant_pad_nd` that crops: first the crop, then what is left to pad."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ConstantPadNdOp, rewriter: PatternRewriter) -> None:
        value, result = op.operands[0], tensor_type(op.results[0])
        type, pads = tensor_type(value), [pad for pad in op.arg("pad") or () if isinstance(pad, int)]
        if len(op.operands) != 1 or not is_static(type) or all(pad >= 0 for pad in pads):
            return
        shape = list(type.get_shape())
        for place in range(0, len(pads), 2):
            dim = len(shape) - 1 - place // 2
            start, end = max(0, -pads[place]), shape[dim] - max(0, -pads[place + 1])
            if (start, end) == (0, shape[dim]) or end < start:
                continue
            shape[dim] = end - start
            cropped = TensorType[Attribute](type.element_type, shape)
            crop = edge.SliceCopyTensorOp.make(value, dim, start, end, result_types=[cropped])
            value = rewriter.insert(crop).results[0]
        left = [max(0, pad) for pad in pads]
        if any(left):
            rewriter.replace(
                op, edge.ConstantPadNdOp.make(value, left, op.arg("value"), result_types=[result])
            )
        else:
            rewriter.replace(op, [], [value])


class NarrowIsSlice(RewritePattern):
    """`narrow_copy`, whose kernel takes no negative dimensions."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.NarrowCopyOp, rewriter: PatternRewriter) -> None:
        type, result = tensor_type(op.operands[0]), op.results[0].type
        dim, start, length = op.arg("dim"), op.arg("start"), op.arg("length")
        if not (isinstance(dim, int) and isinstance(start, int) and isinstance(length, int)) or not is_static(
            type
        ):
            return
        dim %= type.get_num_dims()
        start += type.get_shape()[dim] if start < 0 else 0
        made = edge.SliceCopyTensorOp.make(op.operands[0], dim, start, start + length, result_types=[result])
        rewriter.replace(op, made)


class ResizedBySizes(RewritePattern):
    """Resizes by factors where torch goes by the sizes, and kernels go by the factors."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self,
        op: edge.UpsampleNearest2dOp | edge.UpsampleNearest2dVecOp | edge.UnderscoreUpsampleBilinear2dAaOp,
        rewriter: PatternRewriter,
    ) -> None:
        source, result = tensor_type(op.operands[0]), tensor_type(op.results[0])
        given, used = given_factors(op), factors_of(op)
        if given == used or not is_static(source) or not is_static(result):
            return
        ratios = (
            count / extent for extent, count in zip(source.get_shape(), result.get_shape(), strict=True)
        )
        used = [
            ratio if factor is None else factor for factor, ratio in zip(used, list(ratios)[2:], strict=True)
        ]
        if used == given:
            return
        arguments = op.args()
        if isinstance(op, edge.UpsampleNearest2dVecOp):
            arguments["scale_factors"] = used
        else:
            arguments["scales_h"], arguments["scales_w"] = used
        rewriter.replace(op, type(op).make(**arguments, result_types=[result]))


PATTERNS: Final = (ScaledSum, NegativePads, NarrowIsSlice, ResizedBySizes)
