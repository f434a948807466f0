"""Construction of functions of xDSL's `llvm` dialect: values made once, constants at the entry."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

__all__ = ["Binary", "Index", "Kind", "LlvmBuilder", "type_suffix"]

Index: TypeAlias = int | SSAValue
"""A number that is known here, or a value."""

Kind: TypeAlias = tuple[type[Operation], *tuple[Any, ...]]
"""The class of an op, and what its properties depend on."""

Binary: TypeAlias = (
    type[llvm.ArithmeticBinOperation]
    | type[llvm.ArithmeticBinOpOverflow]
    | type[llvm.ArithmeticBinOpExact]
    | type[llvm.ArithmeticBinOpDisjoint]
    | type[llvm.AbstractFloatArithOp]
)


class LlvmBuilder:
    """Builds one function, block after block.

    `properties` are those of the ops that were made before, by what they depend on: constructors take long.
    """

    def __init__(self, index_type: IntegerType, properties: dict[Kind, dict[str, Attribute]]) -> None:
        """`index_type` is the integer that indices are."""
        self.index_type: Final = index_type
        self.region: Final = Region()
        self.entry = self._block = Block()
        self._properties = properties
        self._constants: dict[tuple[Attribute, Attribute], SSAValue] = {}
        self._numbers: dict[tuple[int, IntegerType], SSAValue] = {}
        self._last_entered: Operation | None = None
        self._at_entry: set[SSAValue] = set()
        """Values that all places of the function know."""
        self._undefined: dict[Attribute, SSAValue] = {}
        self._products: dict[tuple[object, ...], SSAValue] = {}
        self._numbered: dict[tuple[object, ...], SSAValue] = {}

    def begin(self, types: Sequence[Attribute]) -> Sequence[SSAValue]:
        """The arguments of the function, which have these types."""
        self.entry = self._block = Block(arg_types=types)
        self.region.add_block(self.entry)
        self._at_entry.update(self.entry.args)
        return self.entry.args

    def continue_in(self, block: Block) -> None:
        """Add a block to the function: what is made from now on is in it."""
        self.region.add_block(block)
        self._block = block

    def intrinsic(self, name: str, operands: Sequence[SSAValue], type: Attribute) -> SSAValue:
        """The result of a call of an intrinsic."""
        made = self.like(
            (llvm.CallIntrinsicOp, name),
            operands,
            [type],
            lambda: llvm.CallIntrinsicOp(name, operands, [type]),
        )
        return self.made(made)

    def icmp(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        def make() -> Operation:
            return llvm.ICmpOp(lhs, rhs, IntegerAttr(llvm.ICmpPredicateFlag(predicate).to_int(), i64))

        key = (llvm.ICmpOp, predicate)
        return self.once((*key, lhs, rhs), lambda: self.like(key, (lhs, rhs), [i1], make))

    def binary(self, kind: Binary, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        def make() -> Operation:
            return self.like((kind,), (lhs, rhs), [lhs.type], lambda: kind(lhs, rhs))

        return self.once((kind, lhs, rhs), make)

    def once(self, key: tuple[object, ...], make: Callable[[], Operation]) -> SSAValue:
        """The result of an op without effects: of an equal one that dominates this place, where there is one.

        The key says all of it: what it computes, and of which values.
        """
        found = self._numbered.get(key)
        if found is None:
            found = self._numbered[key] = self.made(make())
        return found

    def like(
        self,
        kind: Kind,
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        make: Callable[[], Operation],
        successors: Sequence[Block] = (),
    ) -> Operation:
        """An op of a class and with properties that `kind` says: made with those of the first, as constructors take
        long."""
        properties = self._properties.get(kind)
        if properties is None:
            first = make()
            self._properties[kind] = first.properties
            return first
        return kind[0].create(
            operands=operands, result_types=types, properties=properties, successors=successors
        )

    @contextmanager
    def dominated(self) -> Generator[None]:
        """A scope for blocks that do not dominate those after them: values made within are known within only."""
        outside, self._numbered = self._numbered, self._numbered.copy()
        yield
        self._numbered = outside

    def plus(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self.binary(llvm.AddOp, self.index(a), self.index(b))

    def times(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1 or b == 1:
            return b if a == 1 else a
        one, other = self.index(a), self.index(b)
        if one not in self._at_entry or other not in self._at_entry:
            return self.binary(llvm.MulOp, one, other)
        # Of sizes and numbers: once, as it may be in loops.
        key = (llvm.MulOp, one, other)
        found = self._products.get(key)
        if found is None:
            made = self.like(key[:1], (one, other), [one.type], lambda: llvm.MulOp(one, other))
            found = self._products[key] = self.enter(made)
        return found

    def index(self, value: Index) -> SSAValue:
        return self.number_of(value, self.index_type) if isinstance(value, int) else value

    def number_of(self, number: int, type: IntegerType) -> SSAValue:
        found = self._numbers.get((number, type))
        if found is None:
            found = self._numbers[number, type] = self.constant(IntegerAttr(number, type), type)
        return found

    def constant(self, value: Attribute, type: Attribute) -> SSAValue:
        """A constant at the entry of the function, once each."""
        if isinstance(type, IndexType):
            assert isinstance(value, IntegerAttr)
            return self.number_of(value.value.data, self.index_type)
        key = (value, type)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self.enter(
                llvm.ConstantOp.create(result_types=[type], properties={"value": value})
            )
        return found

    def undefined(self, type: Attribute) -> SSAValue:
        """A value of which nothing is known, at the entry of the function."""
        if type not in self._undefined:
            self._undefined[type] = self.enter(llvm.UndefOp(type))
        return self._undefined[type]

    def enter(self, op: Operation) -> SSAValue:
        """The result of an op that is put at the entry of the function, after those before."""
        if self._last_entered is not None:
            self.entry.insert_op_after(op, self._last_entered)
        elif self.entry.first_op is not None:
            self.entry.insert_op_before(op, self.entry.first_op)
        else:
            self.entry.add_op(op)
        self._last_entered = op
        self._at_entry.add(op.results[0])
        return op.results[0]

    def add(self, op: Operation) -> None:
        self._block.add_op(op)

    def made(self, op: Operation) -> SSAValue:
        self._block.add_op(op)
        return op.results[0]

    def bits_as(self, value: SSAValue, type: Attribute) -> SSAValue:
        return self.once((llvm.BitcastOp, type, value), lambda: llvm.BitcastOp(value, type))


def type_suffix(type: Attribute) -> str:
    """The end of an intrinsic's name: `f32`, `v16f32`, `v8i1`."""
    if isinstance(type, VectorType):
        vector = cast("VectorType[Attribute]", type)
        return f"v{vector.get_shape()[0]}{type_suffix(vector.element_type)}"
    if isinstance(type, IntegerType):
        type = cast("IntegerType", type)
        return f"i{type.width.data}"
    if isinstance(type, IndexType):
        return "i64"
    return str(type)
