"""Builder of loops: `scf`, `memref`, `arith` and `vector` ops at the end of a block.

Kernels are made with it. Index arithmetic on Python integers is folded, so that sizes may be numbers or values.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import copysign
from typing import TypeAlias, TypeVar, cast

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.func import CallOp
from xdsl.dialects.memref import AllocaOp, DimOp, LoadOp, ReinterpretCastOp, StoreOp, ViewOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from et_backends.codegen.dialect import (
    BarrierOp,
    CompareOp,
    ConcatOp,
    ConvertOp,
    DotOp,
    OuterProductOp,
    PartOp,
    PrefetchOp,
    ReportedOp,
    ReportOp,
    SelectOp,
    StridedLoadOp,
)
from et_backends.codegen.dialect.types import float_splat, integer_splat, memref_type, vector_of, vector_type
from et_backends.codegen.elements import in_memory
from et_ops.sizes import Expression

__all__ = ["Build", "Index", "Loop", "LoopBuilder", "vector_of"]

Index: TypeAlias = int | SSAValue
"""A size or a place: a number, or a value of type `index`."""

Build: TypeAlias = "Callable[[LoopBuilder, Sequence[SSAValue]], None]"
"""Appends the loops of a function, given its arguments."""

_Op = TypeVar("_Op", bound=Operation)


@cache
def _index_attribute(value: int) -> IntegerAttr[IndexType]:
    """A number of type `index`: made once, as each attribute that is made is verified."""
    return IntegerAttr.from_index_int_value(value)


@dataclass
class Loop:
    """A loop as it is built."""

    index: SSAValue
    args: Sequence[SSAValue]
    """Loop-carried values at the start of an iteration."""
    next: Sequence[SSAValue] = ()
    """Loop-carried values at its end: as many as `args`."""
    results: Sequence[SSAValue] = field(default_factory=tuple)
    """Their values after the loop."""


class LoopBuilder:
    """Appends ops to a block; constants go to its function's entry, once each."""

    def __init__(
        self,
        entry: Block,
        message: Callable[[str], int] | None = None,
        function: Callable[[str, Sequence[Attribute], Build, Hashable | None], str] | None = None,
        *,
        small: bool = False,
        fine: bool = False,
        few: bool = False,
        large_stack: bool = True,
    ):
        """`message` numbers the messages of reports; `function` gives the symbol of a function as `call` describes it;
        `small` is for code of few instructions, without vectors, `fine` for parallel loops of many short iterations,
        `few` for few vector registers, as small processors have; `large_stack` says whether the stack has more than
        some kilobytes.
        """
        self.small = small
        self.fine = fine
        self.few = few
        self.large_stack = large_stack
        self._block = entry
        self._message = message
        self._function = function
        self.active: SSAValue | None = None
        """The lanes of vectors that have elements, where some have none."""
        self._constants: dict[tuple[Attribute, Attribute], SSAValue] = {}
        self._indices: dict[int, SSAValue] = {}
        self._splats: dict[tuple[Attribute, float, float], SSAValue] = {}
        self._entry = entry
        self._last_constant: Operation | None = None

    # -- ops

    def add_op(self, op: _Op) -> _Op:
        """Append an op."""
        self._block.add_op(op)
        return op

    def value(self, op: Operation) -> SSAValue:
        """Append an op with one result."""
        self._block.add_op(op)
        return op.results[0]

    def combined(self, kind: type[Operation], *operands: SSAValue) -> SSAValue:
        """The result of arithmetic whose operands and result have one type.

        It is made without the constructor, which takes several times as long to sort what it is given.
        """
        return self.value(kind.create(operands=operands, result_types=[operands[0].type]))

    def constant(
        self, value: IntegerAttr | FloatAttr[AnyFloat] | DenseIntOrFPElementsAttr, type: Attribute
    ) -> SSAValue:
        """A constant, at the entry of the function."""
        key = (value, type)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._enter(value, type)
        return found

    def _enter(self, value: Attribute, type: Attribute) -> SSAValue:
        """A new constant at the entry of the function."""
        op = arith.ConstantOp.create(result_types=[type], properties={"value": value})
        if self._last_constant is not None:
            self._entry.insert_op_after(op, self._last_constant)
        elif self._entry.first_op is not None:
            self._entry.insert_op_before(op, self._entry.first_op)
        else:
            self._entry.add_op(op)
        self._last_constant = op
        return op.result

    # -- index arithmetic

    def index(self, value: Index) -> SSAValue:
        """A value of type `index`."""
        if not isinstance(value, int):
            return value
        found = self._indices.get(value)
        if found is None:
            found = self._indices[value] = self._enter(_index_attribute(value), IndexType())
        return found

    def add(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if isinstance(a, int) and a == 0:
            return b
        if isinstance(b, int) and b == 0:
            return a
        return self.combined(arith.AddiOp, self.index(a), self.index(b))

    def sub(self, a: Index, b: Index) -> Index:
        if isinstance(b, int) and (isinstance(a, int) or b == 0):
            return a - b if isinstance(a, int) else a
        return self.combined(arith.SubiOp, self.index(a), self.index(b))

    def mul(self, a: Index, b: Index) -> Index:
        for one, other in ((a, b), (b, a)):
            if isinstance(one, int) and one in (0, 1):
                return 0 if one == 0 else other
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        return self.combined(arith.MuliOp, self.index(a), self.index(b))

    def floordiv(self, a: Index, b: int) -> Index:
        if isinstance(a, int):
            return a // b
        return a if b == 1 else self.combined(arith.DivUIOp, a, self.index(b))

    def quotient(self, a: Index, b: Index) -> Index:
        """`a // b`, of numbers that are not negative."""
        if isinstance(b, int):
            return self.floordiv(a, b)
        return self.combined(arith.DivUIOp, self.index(a), b)

    def remainder(self, a: Index, b: Index) -> Index:
        """`a % b`, of numbers that are not negative."""
        if isinstance(a, int) and isinstance(b, int):
            return a % b
        return self.combined(arith.RemUIOp, self.index(a), self.index(b))

    def expression(self, size: Expression, symbols: Mapping[str, Index]) -> Index:
        """A size, of which the operands of each division are not negative."""

        def apply(function: str, a: Index, b: Index) -> Index:
            match function:
                case "add":
                    return self.add(a, b)
                case "mul":
                    return self.mul(a, b)
                case "floordiv":
                    return self.quotient(a, b)
                case "mod":
                    return self.remainder(a, b)
                case "max":
                    return self.max(a, b)
                case _:
                    return self.min(a, b)

        return size.folded(symbols.__getitem__, int, apply)

    def ceildiv(self, a: Index, b: int) -> Index:
        return self.floordiv(self.add(a, b - 1), b)

    def multiple_below(self, a: Index, b: int) -> Index:
        """The largest multiple of `b` that is at most `a`."""
        return self.mul(self.floordiv(a, b), b)

    def max(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        return self.combined(arith.MaxSIOp, self.index(a), self.index(b))

    def below(self, a: Index, b: Index) -> SSAValue:
        """Whether a < b."""
        return self.value(arith.CmpiOp(self.index(a), self.index(b), "slt"))

    def at_least(self, a: Index, b: Index) -> SSAValue:
        """Whether a >= b."""
        return self.value(arith.CmpiOp(self.index(a), self.index(b), "sge"))

    def choose(self, condition: SSAValue, a: Index, b: Index) -> Index:
        """`a` where the condition holds, else `b`."""
        return self.value(arith.SelectOp(condition, self.index(a), self.index(b)))

    def both(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether two conditions hold."""
        return self.value(arith.AndIOp(a, b))

    def to_float(self, value: Index) -> SSAValue:
        """An index as f32."""
        return self.value(arith.SIToFPOp(self.to_i64(value), f32))

    def to_i64(self, value: Index) -> SSAValue:
        """An index as i64."""
        if isinstance(value, int):
            return self.constant(IntegerAttr(value, i64), i64)
        return self.value(arith.IndexCastOp(value, i64))

    def min(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self.combined(arith.MinSIOp, self.index(a), self.index(b))

    def dim(self, base: SSAValue, dim: int) -> Index:
        """A size of a buffer."""
        size = memref_type(base).get_shape()[dim]
        return size if size >= 0 else self.value(DimOp(base, self.index(dim)))

    def view(self, base: SSAValue, start: Index, sizes: Sequence[Index]) -> SSAValue:
        """The elements of a buffer from a place on, as a buffer of other sizes."""
        shape = [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes]
        strides: list[Index] = [1]
        for size in reversed(sizes[1:]):
            strides.insert(0, self.mul(strides[0], size))
        type = MemRefType(memref_type(base).element_type, shape)
        return self.value(ReinterpretCastOp.from_dynamic(base, [start], sizes, strides, type))

    def rows(self, base: SSAValue, first: Index, count: Index) -> SSAValue:
        """Some rows of a buffer: neighbors of its first dimension."""
        sizes = [self.dim(base, dim) for dim in range(1, memref_type(base).get_num_dims())]
        start = first
        for size in sizes:
            start = self.mul(start, size)
        return self.view(base, start, [count, *sizes])

    def static_dim(self, base: SSAValue, dim: int) -> int:
        """A size that the type of a buffer says; -1 for one that it does not."""
        return memref_type(base).get_shape()[dim]

    def steps_within(self, start: Index, count: int, step: int, size: int) -> tuple[Index, Index]:
        """The first of `count` places, `step` apart from `start` on, that is in `[0, size)`, and the end of these."""
        before = self.floordiv(self.add(self.max(self.sub(0, start), 0), step - 1), step)
        left = self.max(self.sub(size, start), 0)
        return before, self.min(self.floordiv(self.add(left, step - 1), step), count)

    # -- loops

    @contextmanager
    def for_(
        self, start: Index, end: Index, step: Index = 1, carried: Sequence[SSAValue] = ()
    ) -> Generator[Loop]:
        """A sequential loop, whose body is what is appended within. Set `next` where values are carried."""
        body = Block(arg_types=[IndexType(), *(value.type for value in carried)])
        loop = Loop(body.args[0], body.args[1:])
        bounds = [self.index(start), self.index(end), self.index(step)]
        outside, self._block = self._block, body
        yield loop
        self._block.add_op(scf.YieldOp(*loop.next))
        self._block = outside
        op = self.add_op(scf.ForOp(bounds[0], bounds[1], bounds[2], carried, body))
        loop.results = op.results

    @contextmanager
    def parallel(self, end: Index, step: Index = 1) -> Generator[SSAValue]:
        """A loop from 0 whose iterations threads share."""
        body = Block(arg_types=[IndexType()])
        bounds = [self.index(0), self.index(end), self.index(step)]
        outside, self._block = self._block, body
        yield body.args[0]
        self._block.add_op(scf.ReduceOp())
        self._block = outside
        self.add_op(scf.ParallelOp(bounds[:1], bounds[1:2], bounds[2:], Region(body)))

    @contextmanager
    def each(self, sizes: Sequence[Index]) -> Generator[list[Index]]:
        """A parallel loop with an iteration for each place of some dimensions, the last of which is innermost."""
        total: Index = 1
        for size in sizes:
            total = self.mul(total, size)
        with self.parallel(total) as number:
            rest: Index = number
            place: list[Index] = []
            for size in reversed(sizes[1:]):
                place.insert(0, self.remainder(rest, size))
                rest = self.quotient(rest, size)
            yield [rest, *place]

    @contextmanager
    def part(self, end: Index, most: int | None = None) -> Generator[tuple[SSAValue, SSAValue, SSAValue]]:
        """The bounds of a thread's part of a loop from 0, and its number, below `most` if that is given; within, the
        loop is appended.

        Threads wait for each other after it.
        """
        op = self.add_op(PartOp(self.index(end), most))
        yield op.first, op.last, op.number
        self.add_op(BarrierOp())

    def own_part(self, end: Index, condition: SSAValue | None = None) -> tuple[Index, Index]:
        """The bounds of a thread's part of a loop from 0, or of all of it if there is a condition that does not hold.

        Unlike with `part`, threads do not wait for each other.
        """
        op = self.add_op(PartOp(self.index(end), None))
        if condition is None:
            return op.first, op.last
        return self.choose(condition, op.first, 0), self.choose(condition, op.last, end)

    @contextmanager
    def parallel_ranges(
        self, end: Index, step: int, most: int, condition: SSAValue | None = None
    ) -> Generator[tuple[SSAValue, Index]]:
        """A loop over ranges from 0 to `end`, of at most `most` places, by their first place and their end.

        Threads share multiples of `step`, of which `most` is one, so that their parts differ by as little. A loop whose
        iterations are the ranges would give one thread a whole range more than another. If there is a condition that
        does not hold, each thread visits all ranges.
        """
        steps = self.quotient(self.add(end, step - 1), step)
        first, last = self.own_part(steps, condition)
        stop = self.min(self.mul(last, step), end)
        with self.for_(self.mul(first, step), stop, most) as loop:
            yield loop.index, self.min(self.add(loop.index, most), stop)
        self.add_op(BarrierOp())

    @contextmanager
    def if_(self, condition: SSAValue) -> Generator[Callable[[], AbstractContextManager[None]]]:
        """A branch, whose body is what is appended within; what is appended within what it yields is the other."""
        then, otherwise = Block(), Block()
        outside, self._block = self._block, then

        @contextmanager
        def other() -> Generator[None]:
            self._block = otherwise
            yield
            self._block = then

        yield other
        self._block = outside
        for block in (then, otherwise):
            block.add_op(scf.YieldOp())
        self.add_op(scf.IfOp(condition, [], Region(then), Region(otherwise)))

    def call(self, name: str, arguments: Sequence[Index], build: Build, key: Hashable | None = None) -> None:
        """Call a function of its own, which other kernels share: `build` appends its loops, given its arguments.

        Functions of one name that have the same key, which is not None, and arguments of the same types are the same.
        """
        assert self._function is not None
        given = [self.index(argument) for argument in arguments]
        symbol = self._function(name, [argument.type for argument in given], build, key)
        self.add_op(CallOp(symbol, given, []))

    # -- vectors

    def splat(self, number: float, type: VectorType[Attribute]) -> SSAValue:
        """A vector of equal constants; whole ones where its elements are integers or bits."""
        # Zeros of both signs are equal as numbers.
        key = (type, number, copysign(1, number))
        found = self._splats.get(key)
        if found is None:
            if isinstance(type.element_type, IntegerType):
                found = self.constant(integer_splat(type, int(number)), type)
            else:
                found = self.constant(float_splat(type, number), type)
            self._splats[key] = found
        return found

    def number(self, number: float, type: Attribute) -> SSAValue:
        """A constant of the type of what it is combined with: a vector, or a number."""
        if isinstance(type, VectorType):
            return self.splat(number, cast("VectorType[Attribute]", type))
        if isinstance(type, IntegerType):
            element = cast("IntegerType", type)
            return self.constant(IntegerAttr(int(number), element), element)
        element = f64 if type == f64 else f32
        return self.constant(FloatAttr(number, element), element)

    def element_type(self, base: SSAValue) -> Attribute:
        """The type of the elements of a buffer."""
        return memref_type(base).element_type

    def convert(self, kind: str, value: SSAValue, element: Attribute) -> SSAValue:
        """A vector with its elements converted."""
        return self.value(ConvertOp(kind, value, element))

    def bits(self, bytes: SSAValue) -> SSAValue:
        """Bits of a vector of bytes: those that are not zero."""
        type = vector_type(bytes)
        return self.value(CompareOp("ne", bytes, self.splat(0, type)))

    def load(self, base: SSAValue, at: Sequence[Index], type: VectorType[Attribute]) -> SSAValue:
        """The elements of a buffer from a place on, as a vector; bits of bytes."""
        if type.element_type == i1:
            wide = vector_of(*type.get_shape(), element=in_memory(i1))
            return self.bits(self.load(base, at, wide))
        operands = base, *(self.index(one) for one in at)
        return self.value(vector.LoadOp.create(operands=operands, result_types=[type]))

    def masked_load(
        self, base: SSAValue, at: Sequence[Index], mask: SSAValue, otherwise: SSAValue
    ) -> SSAValue:
        """As `load`, with the lanes of `otherwise` where the mask is clear."""
        if vector_type(otherwise).element_type == i1:
            wide = self.convert("zext", otherwise, in_memory(i1))
            return self.bits(self.masked_load(base, at, mask, wide))
        return self.value(vector.MaskedLoadOp(base, [self.index(one) for one in at], mask, otherwise))

    def store(self, value: SSAValue, base: SSAValue, at: Sequence[Index]) -> None:
        """Write a vector to a buffer from a place on; of rank 2, to rows of its last two dimensions."""
        value = self._stored(value)
        self.add_op(vector.StoreOp.create(operands=(value, base, *(self.index(one) for one in at))))

    def masked_store(self, value: SSAValue, base: SSAValue, at: Sequence[Index], mask: SSAValue) -> None:
        """As `store`, of rank 1, where the mask is set."""
        value = self._stored(value)
        self.add_op(vector.MaskedStoreOp(base, [self.index(one) for one in at], mask, value))

    def _stored(self, value: SSAValue) -> SSAValue:
        """A vector as buffers hold it: bits as bytes."""
        element = vector_type(value).element_type
        return self.convert("zext", value, in_memory(element)) if element == i1 else value

    def load_row(
        self,
        base: SSAValue,
        at: Sequence[Index],
        mask: SSAValue | None,
        width: int,
        element: Attribute | None = None,
    ) -> SSAValue:
        """A vector of rank 1, of what the buffer holds unless told otherwise; zeros where a mask is clear."""
        type = vector_of(width, element=element or self.element_type(base))
        if mask is None:
            return self.load(base, at, type)
        return self.masked_load(base, at, mask, self.splat(0.0, type))

    def panels(self, base: SSAValue, column: Index, rows: Sequence[Index], width: int) -> SSAValue:
        """A row of `width` columns of a matrix packed in panels, from a column on: of whole panels, or within one."""
        element = self.element_type(base)
        panel = self.static_dim(base, memref_type(base).get_num_dims() - 1)
        first = self.quotient(column, panel)
        if width < panel:
            return self.load(
                base, [first, *rows, self.remainder(column, panel)], vector_of(width, element=element)
            )
        parts = [
            self.load(base, [self.add(first, place), *rows, 0], vector_of(panel, element=element))
            for place in range(width // panel)
        ]
        return self.concat(parts)

    def mask(self, count: Index, lanes: int) -> SSAValue:
        """A mask of the first `count` lanes."""
        return self.value(vector.CreateMaskOp([self.index(count)], vector_of(lanes, element=i1)))

    def select(self, mask: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """Elements of the one vector where a mask is set, of the other elsewhere."""
        return self.value(SelectOp(mask, yes, no))

    def widened(self, value: SSAValue, width: int) -> SSAValue:
        """A vector repeated up to a width."""
        return self.concat([value] * (width // vector_type(value).get_shape()[0]))

    def store_first(self, value: SSAValue, base: SSAValue, at: Sequence[Index]) -> None:
        """Write the first element of a vector."""
        self.masked_store(value, base, at, self.mask(1, vector_type(value).get_shape()[0]))

    def element(self, base: SSAValue, at: Sequence[Index]) -> SSAValue:
        """One element of a buffer."""
        return self.value(LoadOp.get(base, [self.index(one) for one in at]))

    def local(self, *shape: int, element: Attribute = f32) -> SSAValue:
        """A small buffer of the thread's own, on its stack, for the whole kernel."""
        made = AllocaOp.get(element, 64, shape)
        if self._entry.first_op is not None:
            self._entry.insert_op_before(made, self._entry.first_op)
        else:
            self._entry.add_op(made)
        return made.memref

    def set_element(self, value: SSAValue, base: SSAValue, at: Sequence[Index]) -> None:
        """Write one element of a buffer."""
        self.add_op(StoreOp.get(value, base, [self.index(one) for one in at]))

    def broadcast(self, value: SSAValue, type: VectorType[Attribute]) -> SSAValue:
        """A vector of equal elements, or of equal rows."""
        if value.type == type:
            return value
        if type.element_type == i1 and value.type == in_memory(i1):
            return self.bits(self.broadcast(value, vector_of(*type.get_shape(), element=in_memory(i1))))
        return self.value(vector.BroadcastOp(value, type))

    def check(self, wrong: SSAValue, message: str) -> None:
        """Report an invalid argument of the call where a condition holds, or that of a lane which has an element."""
        assert self._message is not None
        if isinstance(wrong.type, VectorType):
            if self.active is not None:
                wrong = self.both(wrong, self.active)
            kind = vector.CombiningKindAttr(vector.CombiningKindFlag.OR)
            wrong = self.value(
                vector.ReductionOp.build(operands=[[wrong], []], properties={"kind": kind}, result_types=[i1])
            )
        with self.if_(wrong):
            self.add_op(ReportOp(self._message(message)))

    def reported(self) -> SSAValue:
        """Whether a kernel before this one has reported an invalid argument of the call."""
        return self.value(ReportedOp())

    def column(
        self, base: SSAValue, at: Sequence[Index], dim: int, stride: int, type: VectorType
    ) -> SSAValue:
        """Elements `stride` apart along a dimension."""
        return self.value(StridedLoadOp(base, [self.index(one) for one in at], dim, stride, type))

    def concat(self, parts: Sequence[SSAValue]) -> SSAValue:
        """One vector of several."""
        return parts[0] if len(parts) == 1 else self.value(ConcatOp(parts))

    def prefetch(self, base: SSAValue, at: Sequence[Index]) -> None:
        """Say that a place of a buffer is read soon."""
        self.add_op(PrefetchOp(base, [self.index(one) for one in at]))

    def quads(self, base: SSAValue, sizes: Sequence[Index]) -> SSAValue:
        """The bytes of a buffer of one dimension in fours, as a buffer of i32."""
        type = MemRefType(i32, [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes])
        dynamic = [size for size in sizes if not isinstance(size, int)]
        return self.value(ViewOp(base, self.index(0), dynamic, type))

    def joined_bytes(self, bytes: Sequence[SSAValue]) -> SSAValue:
        """Up to four vectors of bytes as one of i32, the first in the low bits."""
        made: SSAValue | None = None
        for place, one in enumerate(bytes):
            wide = self.convert("zext", one, i32)
            if place:
                wide = self.value(arith.ShLIOp(wide, self.number(8 * place, wide.type)))
            made = wide if made is None else self.value(arith.OrIOp(made, wide))
        assert made is not None
        return made

    def dot(self, x: SSAValue, w: SSAValue, accumulator: SSAValue) -> SSAValue:
        """`accumulator` plus four products of the bytes of each lane."""
        return self.value(DotOp(x, w, accumulator))

    def outer_product(self, column: SSAValue, row: SSAValue, accumulator: SSAValue) -> SSAValue:
        """`accumulator + column ⊗ row`."""
        return self.value(OuterProductOp(column, row, accumulator))
