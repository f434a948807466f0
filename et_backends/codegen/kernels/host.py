"""The function that calls kernels, and buffers of values between them.

A kernel is a function of buffers whose sizes are arguments, so that layers of different sizes share one: kernels with
the same code are one function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cache
from typing import Final, TypeAlias

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FunctionType,
    IndexType,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    f32,
    i32,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.memref import AllocOp, ReinterpretCastOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from et_backends.codegen.dialect import SERIAL, KernelOp
from et_backends.codegen.dialect.types import memref_type
from et_backends.codegen.elements import element_of, in_memory
from et_backends.codegen.kernels.packing import Numbers, packed_blob, source_key
from et_backends.codegen.loop_builder import Build, Index, LoopBuilder
from et_backends.codegen.sizes import Known, Size, count_of, extremum, largest, normal, number_of, product
from et_ir.data import Blob
from et_ir.dialects.program import GetOp, Globals
from et_ops.sizes import Ranges

__all__ = ["PREPARATION", "Host", "Number", "Operand", "Packed", "code_of", "code_of_ops", "kernel_key"]

PREPARATION: Final = "native.prepare"
"""The name of the function that computes derived constants; that of no method has a point in it."""

Packed: TypeAlias = dict[tuple[object, ...], tuple[Sequence[Numbers], Blob]]
"""Arrays in the order in which kernels read them, by form and place of the arrays they are of."""


@cache
def _buffer_of(element: Attribute, shape: tuple[int, ...]) -> MemRefType:
    """The type of a buffer: made once, as each one that is made is verified."""
    return MemRefType(element, shape)


class Operand:
    """A buffer as a kernel takes it."""

    def __init__(self, value: SSAValue, sizes: Sequence[Size], fixed: Sequence[int] = ()):
        """`sizes` are those that the kernel sees, with as many elements as the value; those of the dimensions in
        `fixed` are in the type, and the kernel is for these only.
        """
        self.value = value
        self.sizes = tuple(sizes)
        self.fixed = frozenset(fixed)

    @property
    def type(self) -> MemRefType:
        """The type of the kernel's argument."""
        shape = [
            size if dim in self.fixed and isinstance(size, int) else DYNAMIC_INDEX
            for dim, size in enumerate(self.sizes)
        ]
        return _buffer_of(memref_type(self.value).element_type, tuple(shape))


class Number:
    """A size or a place as a kernel takes it, of type `index`, or the number of a loop's turn."""

    def __init__(self, value: Size | SSAValue):
        self.value = value
        self.type = IndexType()


class Host:
    """Builds the function of a partition and the kernels it calls, in a module of their own."""

    def __init__(
        self,
        module: ModuleOp,
        name: str,
        lanes: int,
        registers: int,
        known: Known,
        ranges: Ranges,
        packed: Packed,
        *,
        small: bool = False,
        dual_products: bool = False,
        fine: bool = False,
        large_stack: bool = True,
    ):
        """`packed` has the constants that were packed for other instruction sets, and gets those of this one."""
        self.serial = False
        """Whether the next calls are of so little work that one thread does all of it."""
        self.in_place: set[SSAValue] = set()
        """Values whose memory holds what they replace elements of."""
        self.small = small
        """Whether code is to be small, as for machines without vectors: tiles have one row or pixel."""
        self.dual_products = dual_products
        """Whether there is an instruction for two products of 16 bits, so that products of bytes take few."""
        self.fine = fine
        """Whether parallel loops are to have many short iterations."""
        self.large_stack = large_stack
        """Whether kernels may take more than some kilobytes of the stack."""
        self.symbols = Globals(module)
        self.lanes = lanes
        """Elements of a vector register."""
        self.registers = registers
        self.module = ModuleOp([])
        self.constants: list[tuple[str, Blob]] = []
        """Key and bytes of the constants, in the order of the arguments for them."""
        self.module_path = ""
        """The module of the kernel that is lowered, by which constants packed for it are named."""
        self._named: Counter[str] = Counter()
        self.derived_sizes: list[int] = []
        """Bytes of the derived constants, in the order of the arguments for them, after the constants."""
        self.messages: list[str] = []
        """Messages of the reports of the code, by number."""
        self.called: list[str] = []
        """Names of the kernels by what they compute, in the order of the calls: those of the functions that are called,
        unless kernels of another name have the same code.
        """
        self.multiplies_bytes = False
        """Whether kernels have products of bytes, which some processors have an instruction for."""
        self._packed = packed
        self._derived: dict[str, SSAValue] = {}
        # The arguments of derived constants, until it is known which there are before them.
        self._derived_block = Block()
        self._preparations: list[tuple[str, Sequence[Operand]]] = []
        self._name = name
        self._block = Block()
        self._b = LoopBuilder(self._block)
        self._buffers: dict[SSAValue, SSAValue] = {}
        self._constants: dict[tuple[str, Attribute], SSAValue] = {}
        self._kernels: dict[Hashable, str] = {}
        self._by_key: dict[Hashable, str] = {}
        self._names: dict[str, int] = {}
        self._labels: dict[tuple[str, str], str] = {}
        self._known = known
        self._ranges = ranges
        self._words: dict[str, SSAValue] = {}
        self._indices: dict[Size, Index] = {}
        self.turn: SSAValue | None = None
        """In the function of a loop: the number of the turn."""
        self._around: Host | None = None
        self._given: dict[SSAValue, SSAValue] = {}
        """In the function of a loop: its arguments, by the values of the function around that they are."""

    @property
    def tile_pixels(self) -> int:
        """Pixels of a register tile, of 16 channels each: these take more registers where vectors are shorter."""
        return 1 if self.small or self.few else 8 if self.lanes == 16 else 3

    @property
    def few(self) -> bool:
        """Whether there are so few vector registers that tiles are two rows by two vectors."""
        return 0 < self.registers <= 8

    @property
    def step(self) -> int:
        """Elements of a vector that pointwise loops go by."""
        return 1 if self.small else self.lanes

    def panel(self, whole: int, *, bytes: bool = False) -> int:
        """Columns of a panel of constants, of which large code has `whole`; `bytes` are multiplied in fours."""
        if self.few:
            return 2 * self.lanes
        return whole if not self.small else 2 if bytes else 4

    # -- sizes

    def word(self, name: str) -> None:
        """A new argument of the function: a size that is known at run time only."""
        made = self._words[name] = self._block.insert_arg(IndexType(), len(self._block.args))
        made.name_hint = name

    def index(self, size: Size) -> Index:
        """A size in the function of the partition."""
        if isinstance(size, int):
            return size
        if self._around is not None:
            found = self._around.index(size)
            return found if isinstance(found, int) else self.given(found)
        if size not in self._indices:
            told = self._known.told(size)
            self._indices[size] = told if isinstance(told, int) else self._b.expression(told, self._words)
        return self._indices[size]

    def number(self, value: SSAValue) -> Size:
        """An integer: a number, or an expression of what the partition is told. Raises ValueError for others."""
        found = number_of(value, self._known.numbers)
        if found is None:
            raise ValueError(f"{value} is known to the program only")
        return normal(found)

    def place(self, value: SSAValue, size: Size) -> Size:
        """An integer that is a place of a dimension; one that is below 0 counts from the end, and may be before it.

        Raises ValueError as `number` does.
        """
        found = self.number(value)
        if isinstance(found, int):
            return normal(found + size) if found < 0 else found
        range = found.interval(self._ranges)
        if range.least is not None and range.least >= 0:
            return found
        if range.most is not None and range.most < 0:
            return normal(found + size)
        is_below = extremum(min, extremum(max, normal(-found), 0), 1)
        return normal(found + product((size, is_below)))

    def most(self, size: Size) -> int:
        """The upper bound of a size."""
        found = largest(size, self._ranges)
        if found is None:
            raise ValueError(f"the size {size} has no upper bound")
        return found

    # -- buffers

    def argument(self, value: SSAValue | None, type: MemRefType) -> SSAValue:
        """A new argument of the function, which holds a value."""
        made = self._block.insert_arg(type, len(self._block.args))
        if value is not None:
            self._buffers[value] = made
            made.name_hint = value.name_hint
        return made

    def unread(self) -> None:
        """An argument of the function in the place of an input that is a number: a word is told instead."""
        self._block.insert_arg(IndexType(), len(self._block.args))

    def hold(self, value: SSAValue, buffer: SSAValue) -> None:
        """Note that a buffer holds a value."""
        self._buffers[value] = buffer

    def buffer(self, value: SSAValue) -> SSAValue:
        """The buffer of a value: allocated when first asked for."""
        if value not in self._buffers and self._around is not None:
            self._buffers[value] = self.given(self._around.buffer(value))
        elif value not in self._buffers:
            made = self._b.add_op(AllocOp([], [], self.type_of(value)))
            made.memref.name_hint = value.name_hint
            self._buffers[value] = made.memref
        return self._buffers[value]

    def type_of(self, value: SSAValue) -> MemRefType:
        """The type of the buffer of a value, with room for as many elements as it can have."""
        return MemRefType(in_memory(element_of(value)), [self.most(count_of(value))])

    def scratch(self, elements: Size, element: Attribute = f32) -> SSAValue:
        """A buffer that only the next kernel uses."""
        if self._around is not None:
            return self.given(self._around.scratch(elements, element))
        return self._b.add_op(AllocOp([], [], MemRefType(in_memory(element), [self.most(elements)]))).memref

    def constant(self, blob: Blob, elements: int, element: Attribute = f32) -> SSAValue:
        """A buffer of constant data."""
        if self._around is not None:
            return self.given(self._around.constant(blob, elements, element))
        key = f"sha256:{blob.sha256}"
        held = in_memory(element)
        if (key, held) not in self._constants:
            self._constants[key, held] = self.argument(None, MemRefType(held, [elements]))
            self.constants.append((key, blob.named(self._name_of_constant()) if self.module_path else blob))
        return self._constants[key, held]

    def _name_of_constant(self) -> str:
        """A name for a constant of the kernel that is lowered."""
        name = f"{self.module_path}.packed"
        number = self._named[name]
        self._named[name] += 1
        return f"{name}_{number}" if number else name

    def message(self, text: str) -> int:
        """The number of a message that code reports, in the order of kernels; neighbors of one text are one."""
        if self.messages[-1:] != [text]:
            self.messages.append(text)
        return len(self.messages) - 1

    def packed(self, form: str, sources: Sequence[Numbers], pack: Callable[..., Numbers]) -> Blob:
        """The bytes of arrays in some form, as `packed_blob` makes them."""
        key = source_key(form, sources)
        if key not in self._packed:
            # With the arrays, as their addresses are others' once they are gone.
            self._packed[key] = sources, packed_blob(form, sources, pack)
        return self._packed[key][1]

    # -- loops

    def nested(self) -> Host:
        """A builder of a function that calls kernels in a loop: it has the kernels and constants of this one."""
        made = copy(self)
        made._around = self
        made._block = Block()
        made._b = self._builder(made._block)
        made._buffers, made._given, made.called = {}, {}, []
        return made

    def given(self, value: SSAValue) -> SSAValue:
        """The argument of the function of a loop that is a value of the function around."""
        if value not in self._given:
            self._given[value] = self._block.insert_arg(value.type, len(self._block.args))
        return self._given[value]

    def is_held(self, value: SSAValue) -> bool:
        """Whether a buffer holds a value already."""
        return value in self._buffers

    @contextmanager
    def loop(self, count: Size) -> Generator[Index]:
        """A sequential loop of `count` turns, which calls what is called within."""
        with self._b.for_(0, self._b.index(self.index(count))) as loop:
            self.turn = loop.index
            yield loop.index

    def span(self, buffer: SSAValue, first: Size, count: Size) -> SSAValue:
        """Elements of a buffer that follow one another."""
        return self._b.view(buffer, self.index(first), [self.index(count)])

    def part(self, buffer: SSAValue, number: Index, elements: Size) -> SSAValue:
        """One of the equal parts of a buffer, by number."""
        size = self.index(elements)
        return self._b.view(buffer, self._b.mul(number, size), [size])

    def call_nested(self, name: str, nested: Host) -> None:
        """Call the function of a loop."""
        nested._b.add_op(ReturnOp())
        symbol = self._function(name, nested._block)
        self.called.append(self._label(name, symbol))
        self._b.add_op(CallOp(symbol, list(nested._given), []))
        self.multiplies_bytes |= nested.multiplies_bytes

    # -- kernels

    def call(
        self, name: str, operands: Sequence[Operand | Number], build: Build, key: Hashable | None = None
    ) -> None:
        """Call a kernel, which is built unless there is one with the same code; `key` as for `LoopBuilder.call`."""
        symbol = self._kernel(name, [operand.type for operand in operands], build, key)
        self.called.append(self._label(name, symbol))
        call = self._b.add_op(CallOp(symbol, [self._cast(self._b, operand) for operand in operands], []))
        if self.serial:
            call.attributes[SERIAL] = UnitAttr()

    def derived(
        self,
        key: str,
        elements: int,
        name: str,
        sources: Sequence[Operand],
        sizes: Sequence[int],
        build: Build,
        code: Hashable | None = None,
    ) -> SSAValue:
        """A constant that a kernel computes of others when the program is loaded; one for each `key`.

        The kernel takes the sources, then the result with the given sizes. `code` is its key as for `LoopBuilder.call`.
        """
        if key not in self._derived:
            type = MemRefType(f32, [elements])
            made = self._derived_block.insert_arg(type, len(self._derived_block.args))
            self.derived_sizes.append(elements * 4)
            operands = [*sources, Operand(made, sizes)]
            symbol = self._kernel(name, [operand.type for operand in operands], build, code)
            self._preparations.append((symbol, operands))
            self._derived[key] = made
        return self._derived[key]

    def _kernel(
        self, name: str, types: Sequence[Attribute], build: Build, key: Hashable | None = None
    ) -> str:
        """The name of a kernel, which is built unless there is one with the same code, or that the key says is it."""
        if key is None:
            return self._built(name, types, build)
        known = (name, *types, key)
        if known not in self._by_key:
            self._by_key[known] = self._built(name, types, build)
        return self._by_key[known]

    def _built(self, name: str, types: Sequence[Attribute], build: Build) -> str:
        block = Block(arg_types=types)
        builder = self._builder(block)
        build(builder, block.args)
        builder.add_op(ReturnOp())
        return self._function(name, block)

    def _builder(self, block: Block) -> LoopBuilder:
        return LoopBuilder(
            block,
            self.message,
            self._kernel,
            small=self.small,
            fine=self.fine,
            few=self.few,
            large_stack=self.large_stack,
        )

    def _function(self, name: str, block: Block) -> str:
        """The name of the function of a block: one for blocks of the same code."""
        code = code_of(block)
        if code not in self._kernels:
            symbol = self._new_name(name)
            self._labels[name, symbol] = symbol
            type = FunctionType.from_lists(block.arg_types, [])
            function = FuncOp(symbol, type, Region(block), visibility=StringAttr("private"))
            self.module.body.block.add_op(function)
            self._kernels[code] = symbol
        return self._kernels[code]

    def _new_name(self, name: str) -> str:
        number = self._names.get(name, 0)
        self._names[name] = number + 1
        return f"{name}_{number}"

    def _label(self, name: str, symbol: str) -> str:
        """A function as kernels of a name call it, which may be built for those of another name."""
        if (name, symbol) not in self._labels:
            self._labels[name, symbol] = self._new_name(name)
        return self._labels[name, symbol]

    def _cast(self, b: LoopBuilder, operand: Operand | Number) -> SSAValue:
        """The value with the type of a kernel's argument."""
        if isinstance(operand, Number):
            value = operand.value
            return value if isinstance(value, SSAValue) else b.index(self.index(value))
        if operand.value.type == operand.type:
            return operand.value
        shape = operand.type.get_shape()
        dynamic = [
            b.index(self.index(size)) for size, known in zip(operand.sizes, shape, strict=True) if known < 0
        ]
        strides = [product(operand.sizes[dim + 1 :]) for dim in range(len(operand.sizes))]
        unknown = [b.index(self.index(one)) for one in strides if not isinstance(one, int)]
        known = tuple(one if isinstance(one, int) else DYNAMIC_INDEX for one in strides)
        made = ReinterpretCastOp.create(
            operands=[operand.value, *dynamic, *unknown],
            result_types=[operand.type],
            properties=_cast_properties(shape, known, len(dynamic), len(unknown)),
        )
        return b.add_op(made).result

    def finish(self) -> ModuleOp:
        """The module of the function and its kernels, and of the function that prepares derived constants."""
        self._b.add_op(ReturnOp())
        for value in list(self._derived_block.args):
            value.replace_all_uses_with(self.argument(None, memref_type(value)))
        self._add_function(self._name, self._block)
        if self._preparations:
            self._add_function(PREPARATION, self._preparation())
        return self.module

    def _preparation(self) -> Block:
        """Calls of the kernels that compute derived constants, which take the same arguments as the function."""
        block = Block(arg_types=self._block.arg_types)
        b = LoopBuilder(block)
        first = len(block.args) - len(self._derived)
        for place, (symbol, operands) in enumerate(self._preparations):
            *sources, result = operands
            values = [block.args[self._block.args.index(one.value)] for one in sources]
            made = [
                Operand(value, one.sizes, sorted(one.fixed))
                for value, one in zip([*values, block.args[first + place]], [*sources, result], strict=True)
            ]
            b.add_op(CallOp(symbol, [self._cast(b, one) for one in made], []))
        b.add_op(ReturnOp())
        return block

    def _add_function(self, name: str, block: Block) -> None:
        type = FunctionType.from_lists(block.arg_types, [])
        self.module.body.block.add_op(FuncOp(name, type, Region(block)))


@cache
def _cast_properties(
    sizes: Sequence[int], strides: Sequence[int], dynamic: int, unknown: int
) -> dict[str, Attribute]:
    """Properties of a cast of a whole buffer with so many sizes and strides that are operands: made once."""
    return {
        "static_offsets": DenseArrayBase.from_list(i64, [0]),
        "static_sizes": DenseArrayBase.from_list(i64, sizes),
        "static_strides": DenseArrayBase.from_list(i64, strides),
        "operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 0, dynamic, unknown]),
    }


def kernel_key(kernel: KernelOp) -> Hashable | None:
    """A key of the loops of a kernel, complete but for the types of their arguments; None if sizes are not known.

    It is for forms whose loops do not depend on the elements of constants.
    """
    if not kernel.has_fixed_sizes():
        return None
    types = tuple(value.type for value in (*kernel.inputs, *kernel.outputs))
    constants = tuple(isinstance(value.owner, GetOp) for value in kernel.inputs)
    return kernel.form.data, types, constants, code_of(kernel.body.block)


def code_of(block: Block) -> Hashable:
    """The code of a kernel or of a module, equal for blocks that are the same up to the names of values.

    Control flow is structured: blocks have no successors. Ops and attributes are hashed as they are: to print them
    takes longer. Attributes of floats are equal where the bits are, so that zeros of both signs differ.
    """
    return _Numbered().code(block)


def code_of_ops(ops: Iterable[Operation], given: Sequence[SSAValue]) -> Hashable:
    """As `code_of`, of some ops of a block, of values that have numbers by their order."""
    numbered = _Numbered()
    numbered.number(given)
    return numbered.ops(ops)


class _Numbered:
    """Code with values by number, in the order in which they are defined."""

    def __init__(self) -> None:
        self._places: dict[SSAValue, int] = {}

    def number(self, values: Sequence[SSAValue]) -> tuple[Attribute, ...]:
        places = self._places
        for value in values:
            places[value] = len(places)
        return tuple(value.type for value in values)

    def code(self, block: Block) -> Hashable:
        return self.number(block.args), self.ops(block.ops)

    def ops(self, ops: Iterable[Operation]) -> Hashable:
        places = self._places
        return tuple(
            (
                op.name,
                tuple(places[operand] for operand in op.operands),
                tuple(op.properties.items()),
                tuple(op.attributes.items()),
                self.number(op.results),
                tuple(tuple(map(self.code, region.blocks)) for region in op.regions),
            )
            for op in ops
        )
