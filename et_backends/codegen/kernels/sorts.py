"""Sorts, whole and partial: the first elements of a dimension in order, and their places.

The places of as many elements as are asked for are a heap with the last of them, in the order that is wanted, at the
root: another element that comes before the root takes its place. Then the heap is sorted. That takes O(n log k) steps
in the worst case, and little more than a comparison for each element where few are asked for. The order is total, as
equal elements come in the order of their places: sorts are stable, and the result is the same on all machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i32, i64
from xdsl.ir import Attribute, SSAValue

from et_backends.codegen.dialect import KernelOp, YieldOp
from et_backends.codegen.elements import element_of, is_float
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.pointwise_rules import anchor_of, operator_name
from et_backends.codegen.loop_builder import Index, LoopBuilder
from et_backends.codegen.sizes import Size, product, shape_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8

__all__ = ["SORTS", "is_taken", "kept_size", "least_size", "sort_kernel", "sorted_size"]

SORTS: Final = frozenset({"sort", "sort.stable", "topk"})
"""Operators that put elements of a dimension in order."""

_NAN: Final = 0x7F800000
"""The bits of infinity: those of a NaN, without the sign, are more."""


def is_taken(op: SchemaOp) -> bool:
    """Whether the number of elements that are asked for is known when the program is compiled, or is that of all."""
    return operator_name(op) != "topk" or not isinstance(op.arg("k"), SSAValue)


def least_size(op: SchemaOp) -> int:
    """The number of elements of the dimension that there must be at least."""
    return int(op.arg("k")) if operator_name(op) == "topk" else 0


def sorted_size(op: SchemaOp) -> Size:
    """The number of elements of the dimension of a sort."""
    return _around(op, op.operands[0])[1]


def kept_size(op: SchemaOp) -> Size:
    """The number of elements of a line that a sort puts in order."""
    return _around(op, op.results[0])[1]


def sort_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a sort."""
    op, outside = anchor_of(kernel), kernel.outside()
    last = kernel.body.block.last_op
    assert isinstance(last, YieldOp)
    made = dict(zip(last.operands, kernel.outputs, strict=True))
    values, places = (made.get(result) for result in op.results)
    source = op.operands[0]
    before, count, after = _around(op, source)
    kept = kept_size(op)
    target = host.scratch(product((before, kept, after)), i64) if places is None else host.buffer(places)
    operands = [
        Operand(host.buffer(outside[source]), [before, count, after]),
        Operand(target, [before, kept, after]),
    ]
    if values is not None:
        operands.append(Operand(host.buffer(values), [before, kept, after]))
    element = element_of(source)
    descending = bool(op.arg("largest" if operator_name(op) == "topk" else "descending"))
    levels = host.most(kept).bit_length() - 1

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, heap, *others = buffers
        with b.each([b.dim(x, 0), b.dim(x, 2)]) as (row, column):
            line = _Line(b, x, heap, row, column, levels, _Order(b, element, descending))
            line.sort(b.dim(x, 1), b.dim(heap, 1))
            for y in others:
                with b.for_(0, b.dim(heap, 1)) as loop:
                    value = b.element(x, [row, line.place(loop.index), column])
                    b.set_element(value, y, [row, loop.index, column])

    host.call(operator_name(op).partition(".")[0], operands, build)


def _around(op: SchemaOp, value: SSAValue) -> tuple[Size, Size, Size]:
    """The sizes of a tensor's dimensions before, of and after that of a sort."""
    shape = shape_of(value) or (1,)
    dim = int(op.arg("dim")) % len(shape)
    return product(shape[:dim]), shape[dim], product(shape[dim + 1 :])


@dataclass(frozen=True)
class _Order:
    """The order of elements, as that of integers: what comes first has the largest."""

    b: LoopBuilder
    element: Attribute
    descending: bool

    def key(self, value: SSAValue) -> SSAValue:
        """The integer of an element: i64 of i64, else i32."""
        b = self.b
        if is_float(self.element):
            key = self._of_float(b.value(arith.BitcastOp(value, i32)))
        elif self.element == i64:
            key = value
        else:
            key = value if self.element == i32 else b.value(arith.ExtSIOp(value, i32))
            if self.element == ui8:
                key = b.combined(arith.AndIOp, key, b.number(0xFF, i32))
        return key if self.descending else b.combined(arith.XOrIOp, key, b.number(-1, key.type))

    def _of_float(self, bits: SSAValue) -> SSAValue:
        """An integer with the order of floats: both zeros are one, and every NaN is the largest."""
        b = self.b
        without_sign = b.combined(arith.AndIOp, bits, b.number(0x7FFFFFFF, i32))
        negative = b.value(arith.CmpiOp(bits, b.number(0, i32), "slt"))
        opposite = b.combined(arith.SubiOp, b.number(0, i32), without_sign)
        key = b.value(arith.SelectOp(negative, opposite, without_sign))
        is_nan = b.value(arith.CmpiOp(without_sign, b.number(_NAN, i32), "sgt"))
        return b.value(arith.SelectOp(is_nan, b.number(0x7FFFFFFF, i32), key))


@dataclass(frozen=True)
class _Line:
    """One line of elements, and the heap of places in it."""

    b: LoopBuilder
    x: SSAValue
    heap: SSAValue
    row: Index
    column: Index
    levels: int
    """The most steps from the root to a leaf."""
    order: _Order

    def place(self, node: Index) -> Index:
        """The place of the element of a node."""
        found = self.b.element(self.heap, [self.row, node, self.column])
        return self.b.value(arith.IndexCastOp(found, IndexType()))

    def _set(self, node: Index, place: Index) -> None:
        self.b.set_element(self.b.to_i64(place), self.heap, [self.row, node, self.column])

    def _key(self, place: Index) -> SSAValue:
        return self.order.key(self.b.element(self.x, [self.row, place, self.column]))

    def _precedes(self, key: SSAValue, place: Index, other: SSAValue, its: Index) -> SSAValue:
        """Whether the element of a key and place comes before another."""
        b = self.b
        greater = b.value(arith.CmpiOp(key, other, "sgt"))
        equal = b.both(b.value(arith.CmpiOp(key, other, "eq")), b.below(place, its))
        return b.value(arith.OrIOp(greater, equal))

    def sort(self, count: Index, kept: Index) -> None:
        """Have the places of the first `kept` of `count` elements in the heap, in order."""
        b = self.b
        with b.for_(0, kept) as loop:
            self._set(loop.index, loop.index)
        half = b.floordiv(kept, 2)
        with b.for_(0, half) as loop:
            node = b.sub(b.sub(half, 1), loop.index)
            self._sink(node, kept, self.place(node))
        with b.for_(kept, count) as loop:
            # Behind all that are kept: of equal elements, these are first.
            better = b.value(arith.CmpiOp(self._key(loop.index), self._key(self.place(0)), "sgt"))
            with b.if_(better):
                self._sink(0, kept, loop.index)
        with b.for_(1, kept) as loop:
            end = b.sub(kept, loop.index)
            place = self.place(end)
            self._set(end, self.place(0))
            self._sink(0, end, place)

    def _sink(self, start: Index, size: Index, place: Index) -> None:
        """Put an element into the heap of the first `size` nodes: at `start`, or below it, with those that come after
        it above.
        """
        b = self.b
        key, final = self._key(place), b.sub(size, 1)
        with b.for_(0, self.levels, 1, [b.index(start)]) as loop:
            node = loop.args[0]
            first = b.add(b.mul(node, 2), 1)
            # Nodes that are not there are those of the last one, and not taken.
            left, right = (b.min(one, final) for one in (first, b.add(first, 1)))
            one, other = self.place(left), self.place(right)
            key_of_one, key_of_other = self._key(one), self._key(other)
            precedes = self._precedes(key_of_one, one, key_of_other, other)
            child = b.choose(precedes, right, left)
            found = b.choose(precedes, other, one)
            key_of_found = b.value(arith.SelectOp(precedes, key_of_other, key_of_one))
            sinks = b.both(b.below(first, size), self._precedes(key, place, key_of_found, found))
            with b.if_(sinks):
                self._set(node, found)
            loop.next = [b.index(b.choose(sinks, child, node))]
        self._set(loop.results[0], place)
