"""Sorts that the kernel of `topk` does not do by itself: it takes no booleans, and equal elements in any order."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.sizes import size_operand
from et_ir.dialects.schema.dtypes import attr_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.legalize.lines import Group, Lines, is_plain
from et_ops.dtypes import U8

__all__ = ["PATTERNS"]


def ordered(b: Lines, value: SSAValue, *, descending: bool) -> Group:
    """The elements in order, and where they come from; booleans as numbers."""
    return b.results(edge.TopkOp, value, b.length(value), b.dim, descending, True)


def ranks(b: Lines, values: SSAValue) -> SSAValue:
    """Rank of each element of a tensor among the others, as i64; all NaN are one value."""
    shape = b.shape(values)
    size = b.length(values)
    if size == 1:
        return b.full(shape, 0, i64)
    before, after = b.part(values, 0, size - 1), b.part(values, 1, size)
    differs = b(edge.NeTensorOp, before, after)
    if b.dtype(values).is_float:
        both = b(edge.LogicalAndOp, b(edge.IsnanOp, before), b(edge.IsnanOp, after))
        differs = b(edge.LogicalAndOp, differs, b(edge.LogicalNotOp, both))
    return b(edge.CumsumOp, b.padded(b.to(differs, i64), 1, 0, 0), b.dim)


class Sort(RewritePattern):
    """`sort` as the largest or smallest of all elements. Equal ones may come in another order, which `sort` leaves open
    too.
    """

    roots = (edge.SortOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, edge.SortOp)
        type = tensor_type(op.operands[0])
        dim: int = op.arg("dim")
        if not type.get_num_dims() or type.element_type == i1:
            return
        size = size_operand(op.operands[0], dim, rewriter)
        arguments = (op.operands[0], size, dim, op.arg("descending"), True)
        rewriter.replace(op, edge.TopkOp.make(*arguments, result_types=op.result_types))


class StableSort(RewritePattern):
    """`sort` where equal elements keep their order, and of booleans: exact. Sorted twice, by value and then by rank and
    place, which are whole numbers and all different. 14 calls.
    """

    roots = (edge.SortOp, edge.SortStableOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        (value,), dim, descending = op.operands, op.arg("dim"), op.arg("descending")
        if not is_plain(value):
            return
        type = tensor_type(value)
        rank = type.get_num_dims()
        b = Lines(rewriter, dim % rank if rank else 0)
        if not rank:
            rewriter.replace(op, [], [value, b.full((), 0, i64)])
            return
        numbers = b.to(value, attr_of(U8)) if type.element_type == i1 else value
        found, origin = ordered(b, numbers, descending=descending)
        if isinstance(op, edge.SortStableOp):
            rank_first = b(edge.MulScalarOp, ranks(b, found), b.length(value))
            keys = b(edge.AddTensorOp, rank_first, origin)
            _, order = ordered(b, keys, descending=False)
            found, origin = (b(edge.GatherOp, one, b.dim, order) for one in (found, origin))
        rewriter.replace(op, [], [b.to(found, type.element_type), origin])


PATTERNS: Final = (Sort, StableSort)
