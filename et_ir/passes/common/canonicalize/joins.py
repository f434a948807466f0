"""Concatenations of adjacent slices of one tensor.

```mlir
%1 = aten.slice.Tensor %x {end = 2} : (tensor<4x6xf32>) -> tensor<2x6xf32>                       // before
%2 = aten.slice.Tensor %x {start = 2} : (tensor<4x6xf32>) -> tensor<2x6xf32>
%3 = aten.cat [%1, %2, %y] : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<3x6xf32>) -> tensor<7x6xf32>

%3 = aten.cat [%x, %y] : (tensor<4x6xf32>, tensor<3x6xf32>) -> tensor<7x6xf32>                   // after
```

Pieces are slices, results of splits, and selections and results of unbindings that got their dimension back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from et_ir.dialects.counterparts import forms, sibling
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_static, is_tensor, tensor_type
from et_ir.passes.common.canonicalize.replacing import by_operand
from et_ir.passes.common.canonicalize.slices import slice_bounds, type_of

__all__ = ["PATTERNS"]

_CATS: Final = forms("cat")
_SLICES: Final = forms("slice.Tensor")
_SPLITS: Final = forms("split.Tensor", "split_with_sizes")
_SELECTIONS: Final = forms("select.int")
_UNBINDINGS: Final = forms("unbind.int")
_VIEWS: Final = forms("view", "unsqueeze")


@dataclass(frozen=True)
class _Piece:
    """Part of a tensor along a dimension, and the values that only computing it needs."""

    source: SSAValue
    start: int
    length: int
    through: tuple[SSAValue, ...]

    def joins(self, other: _Piece) -> bool:
        """Whether another slice begins where this one ends."""
        return self.source is other.source and self.start + self.length == other.start


def _piece(value: SSAValue, dim: int, offsets: dict[Operation, list[int]]) -> _Piece | None:
    """The source of a slice along a dimension, and its range. `offsets` are kept of splits: where their results begin,
    and where the last ends; none if a size is not known.
    """
    op = value.owner
    if not isinstance(op, SchemaOp) or not op.operands or not is_tensor(op.operands[0].type):
        return None
    source = op.operands[0]
    if isinstance(op, _SLICES):
        bounds = slice_bounds(op)
        return None if bounds is None or bounds[0] != dim else _Piece(source, *bounds[1:], (value,))
    if isinstance(op, _SPLITS):
        if op.arg("dim") % tensor_type(source).get_num_dims() != dim:
            return None
        found = offsets.get(op)
        if found is None:
            sizes = [tensor_type(result).get_shape()[dim] for result in op.results]
            found = offsets[op] = [] if min(sizes) < 0 else [*accumulate(sizes, initial=0)]
        at = value.index if isinstance(value, OpResult) else 0
        return _Piece(source, found[at], found[at + 1] - found[at], (value,)) if found else None
    return _selected(value, source, dim) if isinstance(op, _VIEWS) else None


def _selected(view: SSAValue, part: SSAValue, dim: int) -> _Piece | None:
    """The slice of size 1 that a viewed selection equals."""
    op = part.owner
    if not isinstance(op, (*_SELECTIONS, *_UNBINDINGS)):
        return None
    source = op.operands[0]
    type = tensor_type(source)
    shape = list(type.get_shape())
    if op.arg("dim") % len(shape) != dim or tensor_type(view).get_shape() != (
        *shape[:dim],
        1,
        *shape[dim + 1 :],
    ):
        return None
    index = (
        op.arg("index") if isinstance(op, _SELECTIONS) else part.index if isinstance(part, OpResult) else 0
    )
    if not isinstance(index, int) or shape[dim] < 0:
        return None
    return _Piece(source, index % shape[dim], 1, (view, part))


def _is_spared(run: Sequence[_Piece], cat: Operation) -> bool:
    """Whether the slices of a run are dead once one slice replaces them."""
    for piece in run:
        for value, user in zip(piece.through, (cat, *(v.owner for v in piece.through)), strict=False):
            if any(use.operation is not user for use in value.uses):
                return False
    # An op with several slices as results makes all of them as long as one is needed.
    makers = {piece.through[-1].owner for piece in run}
    joined = {piece.through[-1] for piece in run}
    return all(
        result in joined or result.first_use is None
        for maker in makers
        if isinstance(maker, Operation)
        for result in maker.results
    )


class JoinNeighbours(RewritePattern):
    """Concatenation of adjacent slices to one slice; a slice of all of a tensor is the tensor."""

    roots = _CATS

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        result = tensor_type(op.results[0])
        rank = result.get_num_dims()
        if not rank or not is_static(result) or dim_order_of(result) != contiguous(rank):
            return
        dim: int = op.arg("dim") % rank
        offsets: dict[Operation, list[int]] = {}
        pieces = [_piece(value, dim, offsets) for value in op.operands]
        operands: list[SSAValue] = []
        start = 0
        ends = [not (a is not None and b is not None and a.joins(b)) for a, b in pairwise(pieces)]
        for end in (*(at + 1 for at, is_end in enumerate(ends) if is_end), len(pieces)):
            run = [piece for piece in pieces[start:end] if piece is not None]
            joined = self._joined(run, op, dim, rewriter) if end - start > 1 else None
            operands += op.operands[start:end] if joined is None else [joined]
            start = end
        if len(operands) == len(op.operands):
            return
        if len(operands) == 1:
            by_operand(op, operands[0], rewriter)
        else:
            rewriter.replace(op, type_of(op).make(operands, dim, result_types=[result]))

    @staticmethod
    def _joined(run: Sequence[_Piece], op: SchemaOp, dim: int, rewriter: PatternRewriter) -> SSAValue | None:
        """The value that a run of slices equals; `None` if it costs more than the slices do."""
        first = run[0]
        type = tensor_type(first.source)
        length = sum(piece.length for piece in run)
        if length == type.get_shape()[dim]:
            return first.source
        if not _is_spared(run, op):
            return None
        shape = list(type.get_shape())
        shape[dim] = length
        made = sibling(op, "slice.Tensor").make(
            first.source,
            dim,
            first.start,
            first.start + length,
            1,
            result_types=[TensorType(type.element_type, shape)],
        )
        return rewriter.insert(made, InsertPoint.before(op)).results[0]


PATTERNS: Final = (JoinNeighbours,)
