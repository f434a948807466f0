"""Reads of memory as edge ops: reshapes, slices and concatenations of what lies there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Final, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.edge import OP_BY_NAME, EdgeOp
from et_ir.dialects.edge.attributes import contiguous, dim_order_of, with_dim_order
from et_ir.dialects.executorch.layout import Tensor, nbytes, scalar_type
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.passes.raising.calls import CannotRaise, build
from et_ir.passes.raising.contents import Definition, Piece

__all__ = ["Reader"]

_BYTE: Final = ELEMENT_TYPES["ui8"]

Insert = Callable[[EdgeOp], None]


class Reader:
    """Makes the value of a register from the pieces of memory that it covers; `insert` adds an op."""

    def __init__(self, insert: Insert):
        self._insert = insert

    def value(self, pieces: Sequence[Piece], type: Tensor) -> SSAValue:
        """The tensor of a type that lies in these bytes.

        Raises `CannotRaise` for tensors with sizes known at run time only of which parts are read, or elements of
        another type.
        """
        whole = self._whole(pieces, type)
        if whole is not None:
            return whole
        for piece in pieces:
            if piece.definition.value.type != piece.definition.type:
                label = "raise_c4" if piece.definition.type.element_type == type.element_type else "raise_c3"
                raise CannotRaise(
                    f"[{label}] a part of a tensor with sizes known at run time is read as {type}",
                    "compile the program from its source",
                )
        first = pieces[0].definition.type
        if not nbytes(type) and first.element_type != type.element_type:
            # Nothing says of what tensor a place without bytes is.
            raise CannotRaise(
                f"[raise_c3] memory without bytes that was written as {first} is read as {type}",
                "compile the program from its source",
            )
        pieces = self._as_elements(pieces, type.element_type)
        whole = self._whole(pieces, type)
        if whole is not None:
            return whole
        if len(pieces) == 1:
            return self._part(pieces[0], type)
        return self._joined(pieces, type)

    def _whole(self, pieces: Sequence[Piece], type: Tensor) -> SSAValue | None:
        """The value of the one definition that the bytes are, where its type need not change."""
        definition = pieces[0].definition
        is_whole = (
            len(pieces) == 1 and definition.type == type == definition.value.type and not pieces[0].offset
        )
        return definition.value if is_whole else None

    # -- elements

    def _as_elements(self, pieces: Sequence[Piece], element: Attribute) -> Sequence[Piece]:
        """The same bytes as pieces of definitions that have elements of this type."""
        width = scalar_type(element).itemsize
        starts = [place for piece in pieces for place in (piece.offset, piece.end - piece.start)]
        if any(start % width for start in starts):
            # Elements that lie across pieces, or begin within one of the definition's.
            count = pieces[-1].end - pieces[0].start
            single = self.value(pieces, TensorType[Attribute](_BYTE, [count]))
            pieces = [
                Piece(pieces[0].start, pieces[-1].end, Definition(single, cast(Tensor, single.type)), 0)
            ]
        return [self._reinterpreted(piece, element) for piece in pieces]

    def _reinterpreted(self, piece: Piece, element: Attribute) -> Piece:
        source = piece.definition
        if source.type.element_type == element:
            return piece
        value = source.value
        straight = self._straight(value, source.type)
        sizes = [scalar_type(one).itemsize for one in (source.type.element_type, element)]
        if straight is not value or sizes[0] != sizes[1]:
            value = self._reshaped(straight, [prod(source.type.get_shape())])
        made = self._op("view_copy.dtype", value, element)
        return piece._replace(definition=Definition(made, cast(Tensor, made.type)))

    # -- shapes

    def _op(self, name: str, *args: object) -> SSAValue:
        op = build(OP_BY_NAME[name], *args)
        self._insert(op)
        return op.result

    def _straight(self, value: SSAValue, type: Tensor) -> SSAValue:
        """The tensor with its dimensions in the order of memory, contiguous."""
        order = dim_order_of(type)
        if order == contiguous(len(order)):
            return value
        plain = self._op("dim_order_ops._clone_dim_order", value, False, list(contiguous(len(order))))
        return self._op("permute_copy", plain, list(order))

    def _laid_out(self, value: SSAValue, type: Tensor) -> SSAValue:
        """Inverse of `_straight`: `value` has the dimensions of `type` in the order of memory."""
        order = dim_order_of(type)
        if order == contiguous(len(order)):
            return value
        back = self._op("permute_copy", value, [order.index(dim) for dim in range(len(order))])
        return self._op("dim_order_ops._clone_dim_order", back, False, list(order))

    def _in_order(self, type: Tensor) -> tuple[int, ...]:
        """Sizes in the order of memory."""
        return tuple(type.get_shape()[dim] for dim in dim_order_of(type))

    def _reshaped(self, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
        if cast("TensorType[Attribute]", value.type).get_shape() == tuple(sizes):
            return value
        return self._op("view_copy", value, list(sizes))

    def _part(self, piece: Piece, type: Tensor) -> SSAValue:
        """Consecutive elements of a definition: along one dimension where they are a slice, else of all elements."""
        source = piece.definition
        width = nbytes(type) // max(prod(type.get_shape()), 1)
        if piece.end - piece.start == nbytes(source.type) or not piece.end - piece.start:
            straight = self._straight(source.value, source.type)
            return self._laid_out(self._reshaped(straight, self._in_order(type)), type)
        axis = _axis(source.type, [type])
        if axis is not None:
            inner = prod(self._in_order(source.type)[axis + 1 :]) * width
            first, dim = piece.offset // inner, dim_order_of(source.type)[axis]
            if piece.offset % inner == 0:
                plain = self._plain(source.value, source.type)
                part = self._op("slice_copy.Tensor", plain, dim, first, first + type.get_shape()[dim])
                return self._ordered(part, type)
        return self._laid_out(self._reshaped(self._flat(piece, width), self._in_order(type)), type)

    def _flat(self, piece: Piece, width: int) -> SSAValue:
        source = piece.definition
        count = prod(source.type.get_shape())
        flat = self._reshaped(self._straight(source.value, source.type), [count])
        first = piece.offset // width
        last = first + (piece.end - piece.start) // width
        return flat if (first, last) == (0, count) else self._op("slice_copy.Tensor", flat, 0, first, last)

    def _joined(self, pieces: Sequence[Piece], type: Tensor) -> SSAValue:
        """Several definitions behind each other: along one dimension where all are whole, else element by element."""
        types = [piece.definition.type for piece in pieces]
        complete = all(
            piece.offset == 0 and piece.end - piece.start == nbytes(piece.definition.type) for piece in pieces
        )
        axis = _axis(type, types) if complete else None
        if axis is not None:
            dim = dim_order_of(type)[axis]
            parts = [self._plain(piece.definition.value, piece.definition.type) for piece in pieces]
            return self._ordered(self._op("cat", parts, dim), type)
        width = nbytes(type) // max(prod(type.get_shape()), 1)
        flat = self._op("cat", [self._flat(piece, width) for piece in pieces], 0)
        return self._laid_out(self._reshaped(flat, self._in_order(type)), type)

    def _plain(self, value: SSAValue, type: Tensor) -> SSAValue:
        """The tensor in contiguous order."""
        order = contiguous(type.get_num_dims())
        if dim_order_of(type) == order:
            return value
        return self._op("dim_order_ops._clone_dim_order", value, False, list(order))

    def _ordered(self, value: SSAValue, type: Tensor) -> SSAValue:
        """A contiguous tensor in the order of a type."""
        if with_dim_order(cast("TensorType[Attribute]", value.type), dim_order_of(type)) == value.type:
            return value
        return self._op("dim_order_ops._clone_dim_order", value, False, list(dim_order_of(type)))


def _axis(whole: Tensor, parts: Sequence[Tensor]) -> int | None:
    """The dimension, in the order of memory, along which consecutive bytes of a tensor are tensors of these types."""
    order, shape = dim_order_of(whole), whole.get_shape()
    if any(part.get_num_dims() != len(shape) or dim_order_of(part) != order for part in parts):
        return None
    for axis, dim in enumerate(order):
        same = all(
            part.get_shape()[other] == size
            for part in parts
            for other, size in enumerate(shape)
            if other != dim
        )
        if same and prod(shape[outer] for outer in order[:axis]) == 1:
            return axis
    return None
