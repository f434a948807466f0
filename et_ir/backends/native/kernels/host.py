"""The function that calls kernels, and buffers of values between them.

A kernel is a function of buffers whose sizes are arguments, so that layers of different sizes share one: kernels with
the same code are one function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import StringIO
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, MemRefType, ModuleOp, StringAttr, f32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.memref import AllocOp, ReinterpretCastOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.printer import Printer

from et_ir.backends.native.loop_builder import LoopBuilder
from et_ir.data import Blob
from et_ir.dialects.native.types import memref_type
from et_ir.dialects.program import Globals
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["Build", "Host", "Operand"]

Build = Callable[[LoopBuilder, Sequence[SSAValue]], None]
"""Appends the loops of a kernel, given its buffers."""


class Operand:
    """A buffer as a kernel takes it."""

    def __init__(self, value: SSAValue, sizes: Sequence[int], fixed: Sequence[int] = ()):
        """`sizes` are those that the kernel sees, with as many elements as the value; those of the dimensions in
        `fixed` are in the type, and the kernel is for these only.
        """
        self.value = value
        self.sizes = tuple(sizes)
        self.fixed = frozenset(fixed)

    @property
    def type(self) -> MemRefType:
        """The type of the kernel's argument."""
        shape = [size if dim in self.fixed else DYNAMIC_INDEX for dim, size in enumerate(self.sizes)]
        return MemRefType(memref_type(self.value).element_type, shape)


class Host:
    """Builds the function of a partition and the kernels it calls, in a module of their own."""

    def __init__(self, module: ModuleOp, name: str, lanes: int, registers: int):
        self.symbols = Globals(module)
        self.lanes = lanes
        """Elements of a vector register."""
        self.registers = registers
        self.module = ModuleOp([])
        self.constants: list[tuple[str, Blob]] = []
        """Key and bytes of the constants, in the order of the arguments for them."""
        self._name = name
        self._block = Block()
        self._b = LoopBuilder(self._block)
        self._buffers: dict[SSAValue, SSAValue] = {}
        self._constants: dict[tuple[str, Attribute], SSAValue] = {}
        self._kernels: dict[str, str] = {}
        self._names: dict[str, int] = {}

    # -- buffers

    def argument(self, value: SSAValue | None, type: MemRefType) -> SSAValue:
        """A new argument of the function, which holds a value."""
        made = self._block.insert_arg(type, len(self._block.args))
        if value is not None:
            self._buffers[value] = made
            made.name_hint = value.name_hint
        return made

    def hold(self, value: SSAValue, buffer: SSAValue) -> None:
        """Note that a buffer holds a value."""
        self._buffers[value] = buffer

    def buffer(self, value: SSAValue) -> SSAValue:
        """The buffer of a value: allocated when first asked for."""
        if value not in self._buffers:
            shape = tensor_type(value).get_shape()
            made = self._b.add_op(AllocOp([], [], MemRefType(f32, [prod(shape)])))
            made.memref.name_hint = value.name_hint
            self._buffers[value] = made.memref
        return self._buffers[value]

    def scratch(self, elements: int) -> SSAValue:
        """A buffer that only the next kernel uses."""
        return self._b.add_op(AllocOp([], [], MemRefType(f32, [elements]))).memref

    def constant(self, blob: Blob, elements: int, element: Attribute = f32) -> SSAValue:
        """A buffer of constant data."""
        key = f"sha256:{blob.sha256}"
        if (key, element) not in self._constants:
            self._constants[key, element] = self.argument(None, MemRefType(element, [elements]))
            self.constants.append((key, blob))
        return self._constants[key, element]

    # -- kernels

    def call(self, name: str, operands: Sequence[Operand], build: Build) -> None:
        """Call a kernel, which is built unless there is one with the same code."""
        block = Block(arg_types=[operand.type for operand in operands])
        builder = LoopBuilder(block)
        build(builder, block.args)
        builder.add_op(ReturnOp())
        text = _text(block)
        if text not in self._kernels:
            number = self._names.get(name, 0)
            self._names[name] = number + 1
            symbol = f"{name}_{number}"
            type = FunctionType.from_lists(block.arg_types, [])
            function = FuncOp(symbol, type, Region(block), visibility=StringAttr("private"))
            self.module.body.block.add_op(function)
            self._kernels[text] = symbol
        arguments = [self._cast(operand) for operand in operands]
        self._b.add_op(CallOp(self._kernels[text], arguments, []))

    def _cast(self, operand: Operand) -> SSAValue:
        """The buffer with the type of a kernel's argument."""
        if operand.value.type == operand.type:
            return operand.value
        dynamic = [self._b.index(size) for dim, size in enumerate(operand.sizes) if dim not in operand.fixed]
        strides = [prod(operand.sizes[dim + 1 :]) for dim in range(len(operand.sizes))]
        made = ReinterpretCastOp(
            operand.value,
            [],
            dynamic,
            [],
            [0],
            operand.type.get_shape(),
            strides,
            operand.type,
        )
        return self._b.add_op(made).result

    def finish(self) -> ModuleOp:
        """The module of the function and its kernels."""
        self._b.add_op(ReturnOp())
        type = FunctionType.from_lists(self._block.arg_types, [])
        self.module.body.block.add_op(FuncOp(self._name, type, Region(self._block)))
        return self.module


def _text(block: Block) -> str:
    """The code of a kernel."""
    stream = StringIO()
    printer = Printer(stream)
    printer.print_block(block)
    return stream.getvalue()
