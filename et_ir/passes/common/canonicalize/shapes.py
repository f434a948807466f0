"""Views, permutations and broadcasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.counterparts import forms, sibling
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.edge.promotion import computation_dtype
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_static, is_tensor, same_type, tensor_type
from et_ir.passes.common.canonicalize.replacing import by_operand, by_view, view_sizes
from et_ops.dtypes import DType

__all__ = ["PATTERNS"]

_VIEWS: Final = forms("view")
_PERMUTATIONS: Final = forms("permute")
_EXPANSIONS: Final = forms("expand")


def _is_contiguous(*values: SSAValue) -> bool:
    """Whether tensors lie in memory as their sizes say, so that a view of one is no copy of the other."""
    return all(dim_order_of(t) == contiguous(t.get_num_dims()) for t in map(tensor_type, values))


class ReshapeIsView(RewritePattern):
    """Every operator that keeps the order of elements is a view of its operand."""

    roots = forms(
        "_reshape_alias",
        "_unsafe_view",
        "flatten.using_ints",
        "reshape",
        "squeeze",
        "squeeze.dim",
        "squeeze.dims",
        "unflatten.int",
        "unsqueeze",
    )

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        if _is_contiguous(op.operands[0], op.results[0]):
            by_view(op, op.operands[0], rewriter)


class ViewOfView(RewritePattern):
    """A view of a view is one of the first operand; a view of the same shape is none."""

    roots = _VIEWS

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source = op.operands[0]
        if same_type(source.type, op.results[0].type):
            by_operand(op, source, rewriter)
        elif isinstance(source.owner, _VIEWS):
            by_view(op, source.owner.operands[0], rewriter)


class TransposeIsPermutation(RewritePattern):
    """Transpositions are permutations."""

    roots = forms("t", "transpose.int")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source, result = op.operands[0], op.results[0]
        rank = tensor_type(source).get_num_dims()
        order = list(range(rank))
        if rank > 1:
            first, second = (0, 1) if op.operator.view_form == "t" else (op.arg("dim0"), op.arg("dim1"))
            order[first], order[second] = order[second], order[first]
        rewriter.replace(op, sibling(op, "permute").make(source, order, result_types=[result.type]))


def _order(op: SchemaOp) -> list[int]:
    rank = tensor_type(op.operands[0]).get_num_dims()
    return [dim % rank for dim in op.arg("dims")]


class SimplifyPermutation(RewritePattern):
    """Permutations that compose, that change nothing, or that move only dimensions of size 1."""

    roots = _PERMUTATIONS

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source, result = op.operands[0], op.results[0]
        order = _order(op)
        if order == list(range(len(order))):
            by_operand(op, source, rewriter, keeps_sizes=True)
            return
        if not _is_contiguous(source, result):
            return
        shape = tensor_type(source).get_shape()
        moved = [dim for dim in order if shape[dim] != 1]
        if moved == sorted(moved):
            by_view(op, source, rewriter)
            return
        before = source.owner
        if isinstance(before, _PERMUTATIONS):
            inner = _order(before)
            composed = [inner[dim] for dim in order]
            rewriter.replace(op, type(op).make(before.operands[0], composed, result_types=[result.type]))
        elif isinstance(before, _VIEWS) and isinstance(before.operands[0].owner, _PERMUTATIONS):
            _swap_with_view(op, before, order, rewriter)


def _swap_with_view(op: SchemaOp, view: SchemaOp, order: Sequence[int], rewriter: PatternRewriter) -> None:
    """Permute before a view that only adds or drops dimensions of size 1, so that two permutations meet."""
    base = view.operands[0]
    inner, outer = tensor_type(base), tensor_type(view.results[0])
    if not is_static(inner) or not is_static(outer):
        return
    inner_dims = [dim for dim, size in enumerate(inner.get_shape()) if size != 1]
    outer_dims = [dim for dim, size in enumerate(outer.get_shape()) if size != 1]
    if [inner.get_shape()[d] for d in inner_dims] != [outer.get_shape()[d] for d in outer_dims]:
        return
    place = dict(zip(outer_dims, inner_dims, strict=True))
    moved = iter([place[dim] for dim in order if dim in place])
    # Dimensions of size 1 stay where they are; the others fill the remaining places in their new order.
    permuted = [dim if size == 1 else next(moved) for dim, size in enumerate(inner.get_shape())]
    type_ = TensorType(inner.element_type, [inner.get_shape()[dim] for dim in permuted])
    permutation = type(op).make(base, permuted, result_types=[type_])
    result = tensor_type(op.results[0])
    sizes = view_sizes(result)
    if sizes is None:
        return
    rewriter.replace(op, [permutation, sibling(op, "view").make(permutation, sizes, result_types=[result])])


class SimplifyExpansion(RewritePattern):
    """Expansions to the same shape, of expansions, and by leading dimensions of size 1."""

    roots = _EXPANSIONS

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source, result = op.operands[0], op.results[0]
        before, after = tensor_type(source), tensor_type(result)
        if before == after:
            # Unknown sizes that look alike may differ: 1 expands to anything.
            if is_static(before):
                by_operand(op, source, rewriter)
            return
        if not is_static(before) or not is_static(after) or not _is_contiguous(source, result):
            return
        if before.get_shape() == after.get_shape()[-before.get_num_dims() or after.get_num_dims() :] and set(
            after.get_shape()[: after.get_num_dims() - before.get_num_dims()]
        ) <= {1}:
            by_view(op, source, rewriter)
        elif isinstance(source.owner, _EXPANSIONS):
            shape = after.get_shape()
            rewriter.replace(op, type(op).make(source.owner.operands[0], shape, result_types=[after]))


def _computed(op: SchemaOp) -> DType | None:
    """The element type that an op computes in, if it lets its operands mix types."""
    promotion = op.operator.facts.promotion
    return None if promotion is None else computation_dtype(op, promotion)


class BroadcastInPlace(RewritePattern):
    """Pointwise operators broadcast their operands by themselves."""

    roots = (SchemaOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, SchemaOp) or not op.operator.is_pointwise:
            return
        expanded = [i for i, v in enumerate(op.operands) if isinstance(v.owner, _EXPANSIONS)]
        result = op.results[0].type
        if not expanded or op.info().needs_segments or not is_tensor(result) or not is_static(result):
            return
        changed = False
        computed = _computed(op)
        for index in expanded:
            wide = op.operands[index]
            assert isinstance(wide.owner, _EXPANSIONS)
            op.operands[index] = wide.owner.operands[0]
            # Shape or element type may have come from the expansion: tensors without dimensions promote otherwise,
            # which the type of a comparison's result does not show.
            if tuple(op.infer(op) or ()) == (result,) and _computed(op) == computed:
                changed = True
            else:
                op.operands[index] = wide
        if changed:
            rewriter.notify_op_modified(op)


PATTERNS: Final = (
    ReshapeIsView,
    ViewOfView,
    TransposeIsPermutation,
    SimplifyPermutation,
    SimplifyExpansion,
    BroadcastInPlace,
)
