"""`scatter_reduce` onto the kernel of `scatter_add`, for sums and means."""

from __future__ import annotations

from math import prod
from typing import Final

from xdsl.dialects.builtin import ComplexType, TensorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from et_ir.dialects.aten.inference.dtypes import dtype_of
from et_ir.dialects.edge.generated import ops as edge
from et_ir.dialects.schema.tensors import is_static, tensor_type

__all__ = ["PATTERNS"]


class ScatterSum(RewritePattern):
    """A sum adds to the tensor, or to zeros at the places that are written; a mean divides it by how many were added,
    as torch does: integers are rounded down.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ScatterReduceTwoOp, rewriter: PatternRewriter) -> None:
        types = [tensor_type(value) for value in op.operands]
        element = types[0].element_type
        plain = all(is_static(type) and prod(type.get_shape()) and type.get_num_dims() for type in types)
        if op.arg("reduce") not in ("sum", "mean") or not plain or element == i1:
            return
        if isinstance(element, ComplexType):
            return
        (start, index, source), dim = op.operands, op.arg("dim")
        result = tensor_type(op.results[0])
        with_self = op.arg("include_self")
        if not with_self:
            cleared = edge.ScatterValueOp.make(start, dim, index, 0, result_types=[result])
            start = rewriter.insert(cleared).results[0]
        total = _added(start, dim, index, source, rewriter)
        if op.arg("reduce") == "sum":
            rewriter.replace(op, [], [total])
            return
        first = _filled(types[0], 1 if with_self else 0, rewriter)
        count = _added(first, dim, index, _filled(types[2], 1, rewriter), rewriter)
        if not with_self:
            clamped = edge.ClampOp.make(count, min=1, result_types=[count.type])
            count = rewriter.insert(clamped).results[0]
        if dtype_of(element).is_float:
            mean = edge.DivTensorOp.make(total, count, result_types=[result])
        else:
            mean = edge.DivTensorModeOp.make(total, count, rounding_mode="floor", result_types=[result])
        rewriter.replace(op, mean)


def _filled(like: TensorType[Attribute], value: int, rewriter: PatternRewriter) -> SSAValue:
    """A tensor of one value, of the type and shape of another."""
    type = TensorType[Attribute](like.element_type, like.get_shape())
    number = float(value) if dtype_of(like.element_type).is_float else value
    full = edge.FullOp.make(list(like.get_shape()), number, dtype=like.element_type, result_types=[type])
    return rewriter.insert(full).results[0]


def _added(
    start: SSAValue, dim: int, index: SSAValue, source: SSAValue, rewriter: PatternRewriter
) -> SSAValue:
    added = edge.ScatterAddOp.make(start, dim, index, source, result_types=[start.type])
    return rewriter.insert(added).results[0]


PATTERNS: Final = (ScatterSum,)
