"""`scatter_reduce` onto other kernels: sums and means by `scatter_add`, products and extremes by a sort and a scan."""

from __future__ import annotations

from math import prod
from typing import Final

from xdsl.dialects.builtin import ComplexType, f32, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema.dtypes import attr_of
from et_ir.dialects.schema.tensors import is_static, tensor_type
from et_ir.passes.to_executorch.legalize.lines import Group, Lines
from et_ir.passes.to_executorch.legalize.sorts import ordered
from et_ir.rewriting import op_type_rewrite_pattern
from et_ops.dtypes import U8

__all__ = ["PATTERNS", "combined"]

_COMBINE: Final[dict[str, type[EdgeOp]]] = {
    "amax": edge.MaximumOp,
    "amin": edge.MinimumOp,
    "prod": edge.MulTensorOp,
}
_OF_TRUTH: Final = {"sum": "amax", "prod": "amin"}
"""Sums and products of booleans, as functions of numbers."""


class ScatterReduce(RewritePattern):
    """A sum adds to the tensor, or to zeros at the places that are written; a mean divides it by how many were added,
    as torch does: integers are rounded down.

    Of products and extremes the elements are sorted by where they go. A scan of each run of equal indices leaves at its
    end what all of them combine to, which is scattered; what is not at an end goes to a place behind the last. Extremes
    are exact, NaN being above and below all; products are rounded in another order, those of half precision in f32.
    That is 7 calls for each of log2(n) steps over n indices of a line, and 15 more.

    Tensors without dimensions get one, and where there are no indices nothing is written.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ScatterReduceTwoOp, rewriter: PatternRewriter) -> None:
        types = [tensor_type(value) for value in op.operands]
        element, rank = types[0].element_type, types[0].get_num_dims()
        if (
            not all(map(is_static, types))
            or not prod(types[0].get_shape())
            or isinstance(element, ComplexType)
        ):
            return
        if any(dim_order_of(type) != contiguous(type.get_num_dims()) for type in types):
            return
        b = Lines(rewriter, op.dim % rank if rank else 0)
        if not prod(types[1].get_shape()):
            rewriter.replace(op, [], [b(edge.DimOrderOpsUnderscoreCloneDimOrderOp, op.operands[0])])
            return
        start, index, source = (
            b.view(value, type.get_shape() or (1,)) for value, type in zip(op.operands, types, strict=True)
        )
        for dim, size in enumerate(b.shape(index)):
            source = Lines(rewriter, dim).part(source, 0, size)
        reduce = _OF_TRUTH.get(op.reduce, op.reduce) if element == i1 else op.reduce
        with_self = bool(op.include_self)
        index = b.to(index, i64)
        if reduce in _COMBINE:
            wide = attr_of(U8) if element == i1 else _wide(b, start) if reduce == "prod" else element
            given = b.to(start, wide), index, b.to(source, wide)
            made = b.to(combined(b, *given, _COMBINE[reduce], with_self=with_self), element)
        else:
            made = _summed(b, start, index, source, mean=reduce == "mean", with_self=with_self)
        rewriter.replace(op, [], [b.view(made, types[0].get_shape())])


def _wide(b: Lines, value: SSAValue) -> Attribute:
    kind = b.dtype(value)
    return f32 if kind.is_float and kind.bits == 16 else attr_of(kind)


def combined(
    b: Lines, start: SSAValue, index: SSAValue, source: SSAValue, cls: type[EdgeOp], *, with_self: bool
) -> SSAValue:
    """The `source`, combined by an operator of two tensors, where indices along the dimension of `b` are equal, and
    written to `start`, or with `with_self` combined with what is there. All of `index` and `source` is used.
    """
    goals, order = ordered(b, index, descending=False)
    size, behind = b.length(goals), b.length(start)

    def combine(before: Group, after: Group, step: int) -> Group:
        same = b(edge.EqTensorOp, b.part(goals, 0, size - step), b.part(goals, step, size))
        return [b(edge.WhereSelfOp, same, b(cls, before[0], after[0]), after[0])]

    (values,) = b.scanned([b(edge.GatherOp, source, b.dim, order)], combine)
    if with_self:
        values = b(cls, values, b(edge.GatherOp, start, b.dim, goals))
    if size > 1:
        before, after = b.part(goals, 0, size - 1), b.part(goals, 1, size)
        ends = b(edge.MaskedFillScalarOp, before, b(edge.EqTensorOp, before, after), behind)
        goals = b.joined(ends, b.part(goals, size - 1, size))
    written = b(edge.ScatterSrcOp, b.padded(start, 0, 1, 0), b.dim, goals, values)
    return b.part(written, 0, behind)


def _summed(
    b: Lines, start: SSAValue, index: SSAValue, source: SSAValue, *, mean: bool, with_self: bool
) -> SSAValue:
    shape, element = b.shape(start), attr_of(b.dtype(start))
    if not with_self:
        start = b(edge.ScatterValueOp, start, b.dim, index, 0)
    total = b(edge.ScatterAddOp, start, b.dim, index, source)
    if not mean:
        return total
    none, ones = b.full(shape, 1 if with_self else 0, element), b.full(b.shape(source), 1, element)
    count = b(edge.ScatterAddOp, none, b.dim, index, ones)
    if not with_self:
        count = b(edge.ClampOp, count, min=1)
    if b.dtype(start).is_float:
        return b(edge.DivTensorOp, total, count)
    return b(edge.DivTensorModeOp, total, count, rounding_mode="floor")


PATTERNS: Final = (ScatterReduce,)
