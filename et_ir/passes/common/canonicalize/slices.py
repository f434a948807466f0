"""Slices, selections, splits and concatenations."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.counterparts import forms, sibling
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.common.canonicalize.replacing import by_operand, by_view

__all__ = ["PATTERNS", "slice_bounds", "type_of"]

_SLICES: Final = forms("slice.Tensor")
_SPLITS: Final = forms("split.Tensor", "split_with_sizes")
_CATS: Final = forms("cat")


def slice_bounds(op: SchemaOp) -> tuple[int, int, int] | None:
    """Dimension, start and length of a slice with step 1 whose bounds are known; `None` for any other."""
    type = tensor_type(op.operands[0])
    start, end = op.arg("start"), op.arg("end")
    if op.arg("step") != 1 or not isinstance(start, int | None) or not isinstance(end, int | None):
        return None
    dim: int = op.arg("dim") % type.get_num_dims()
    size = type.get_shape()[dim]
    if size < 0:
        return None
    first, last, _ = slice(start, end).indices(size)
    return dim, first, max(last - first, 0)


def _slice(op: SchemaOp, value: SSAValue, dim: int, start: int, type: TensorType[Attribute]) -> SchemaOp:
    end = start + type.get_shape()[dim]
    return sibling(op, "slice.Tensor").make(value, dim, start, end, 1, result_types=[type])


class SimplifySlice(RewritePattern):
    """A slice of everything, of a slice, or of one operand of a concatenation."""

    roots = _SLICES

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source, result = op.operands[0], tensor_type(op.results[0])
        bounds = slice_bounds(op)
        if bounds is None:
            if (op.arg("start") or 0) == 0 and op.arg("end") in (None, 2**63 - 1) and op.arg("step") == 1:
                by_operand(op, source, rewriter, keeps_sizes=True)
            return
        dim, start, length = bounds
        if length == tensor_type(source).get_shape()[dim]:
            by_operand(op, source, rewriter, keeps_sizes=True)
            return
        before = source.owner
        if isinstance(before, _SLICES):
            outer = slice_bounds(before)
            if outer is not None and outer[0] == dim:
                rewriter.replace(op, _slice(op, before.operands[0], dim, outer[1] + start, result))
        elif isinstance(before, _CATS) and before.arg("dim") % result.get_num_dims() == dim:
            self._of_piece(op, before, bounds, rewriter)

    @staticmethod
    def _of_piece(
        op: SchemaOp, cat: SchemaOp, bounds: tuple[int, int, int], rewriter: PatternRewriter
    ) -> None:
        dim, start, length = bounds
        result = tensor_type(op.results[0])
        for piece in cat.operands:
            type = tensor_type(piece)
            if type.get_num_dims() != result.get_num_dims() or type.element_type != result.element_type:
                return
            size = type.get_shape()[dim]
            if size < 0:
                return
            if start + length <= size:
                rewriter.replace(op, _slice(op, piece, dim, start, result))
                return
            if start < size:
                return
            start -= size


class SimplifySelection(RewritePattern):
    """A selection from a dimension of size 1 is a view; one of a slice is one of the slice's operand."""

    roots = forms("select.int")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source = op.operands[0]
        type = tensor_type(source)
        dim, index = op.arg("dim") % type.get_num_dims(), op.arg("index")
        if type.get_shape()[dim] == 1 and dim_order_of(type) == contiguous(type.get_num_dims()):
            by_view(op, source, rewriter)
            return
        before = source.owner
        if not isinstance(before, _SLICES) or not isinstance(index, int):
            return
        bounds = slice_bounds(before)
        if bounds is not None and bounds[0] == dim:
            position = bounds[1] + index % bounds[2]
            result = op.results[0].type
            rewriter.replace(op, type_of(op).make(before.operands[0], dim, position, result_types=[result]))


def type_of(op: SchemaOp) -> type[SchemaOp]:
    """The class of an op, as the type checker sees it."""
    return type(op)


class SimplifySplit(RewritePattern):
    """A split into one part, or with one used result."""

    roots = _SPLITS

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source = op.operands[0]
        if len(op.results) == 1:
            by_operand(op, source, rewriter, keeps_sizes=True)
            return
        used = [result for result in op.results if result.first_use is not None]
        dim: int = op.arg("dim") % tensor_type(source).get_num_dims()
        sizes = [tensor_type(result).get_shape()[dim] for result in op.results]
        if len(used) != 1 or min(sizes) < 0:
            return
        (only,) = used
        piece = _slice(op, source, dim, sum(sizes[: only.index]), tensor_type(only))
        rewriter.replace(op, piece, [piece.results[0] if r is only else None for r in op.results])


class UnbindOne(RewritePattern):
    """An unbinding of which one result is used is a selection."""

    roots = forms("unbind.int")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        used = [result for result in op.results if result.first_use is not None]
        if len(used) != 1:
            return
        (only,) = used
        made = sibling(op, "select.int").make(
            op.operands[0], op.arg("dim"), only.index, result_types=[only.type]
        )
        rewriter.replace(op, made, [made.results[0] if r is only else None for r in op.results])


class SimplifyConcatenation(RewritePattern):
    """A concatenation of all parts of a split, or of concatenations with a single use."""

    roots = _CATS

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        result = tensor_type(op.results[0])
        dim = op.arg("dim") % max(result.get_num_dims(), 1)
        first = op.operands[0].owner
        if (
            isinstance(first, _SPLITS)
            and tuple(op.operands) == tuple(first.results)
            and first.arg("dim") % result.get_num_dims() == dim
        ):
            by_operand(op, first.operands[0], rewriter, keeps_sizes=True)
            return
        # The outermost of nested concatenations takes all operands at once: to join them one by one, or once more when
        # the outer one has left them unused, would take squared time.
        use = op.results[0].first_use
        if use is None or (isinstance(use.operation, _CATS) and _joins(op.results[0], use.operation)):
            return
        flat: list[SSAValue] = []
        rest = list(reversed(op.operands))
        while rest:
            piece = rest.pop()
            inner = piece.owner
            if isinstance(inner, _CATS) and _joins(piece, op):
                rest.extend(reversed(inner.operands))
            else:
                flat.append(piece)
        if len(flat) > len(op.operands):
            rewriter.replace(op, type_of(op).make(flat, dim, result_types=[result]))


def _joins(piece: SSAValue, outer: SchemaOp) -> bool:
    """Whether a concatenation may be merged into its user."""
    inner = piece.owner
    result, type = tensor_type(outer.results[0]), tensor_type(piece)
    rank = max(result.get_num_dims(), 1)
    return (
        isinstance(inner, _CATS)
        and piece.has_one_use()
        and type.element_type == result.element_type
        and type.get_num_dims() == result.get_num_dims()
        and inner.arg("dim") % rank == outer.arg("dim") % rank
    )


PATTERNS: Final = (SimplifySlice, SimplifySelection, SimplifySplit, UnbindOne, SimplifyConcatenation)
