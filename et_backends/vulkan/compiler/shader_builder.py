"""Construction of a compute shader: blocks, constants, and arithmetic on indices that is folded where it is known."""

from __future__ import annotations

from typing import Final, TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from et_backends.codegen.elements import width_of
from et_backends.vulkan.compiler.instructions import STORED, WIDTHS
from et_backends.vulkan.dialect import ConstantOp, EntryPointOp, InstructionOp, ShaderOp, VariableOp
from et_backends.vulkan.dialect import ReturnOp as SpirvReturnOp
from et_backends.vulkan.format.spirv import LOCAL_SIZE, Capability, Op

__all__ = ["Index", "ShaderBuilder", "integer_of", "number_attribute", "scalar_type"]

Index: TypeAlias = int | SSAValue
"""An integer of 32 bits: known when the shader is made, or a value of it."""


class ShaderBuilder:
    """A shader that is being made. Instructions go to the end of the current block, at first the entry block.

    Declarations (constants and variables) are each made once, before the entry point.
    """

    def __init__(self) -> None:
        self._head: Final = Block()
        self._region: Final = Region()
        self._block = Block()
        self._region.add_block(self._block)
        self._entry: Final = self._block
        self._constants: dict[Attribute, SSAValue] = {}
        self._locals: list[VariableOp] = []
        self._types: set[Attribute] = set()
        self._stored: set[Attribute] = set()

    def finish(self, name: str) -> ShaderOp:
        """The shader, which ends where the current block does."""
        self.add(SpirvReturnOp())
        for local in reversed(self._locals):
            first = self._entry.first_op
            assert first is not None
            self._entry.insert_op_before(local, first)
        self._head.add_op(EntryPointOp(LOCAL_SIZE, self._region))
        return ShaderOp(name, self._capabilities(), Region(self._head))

    def _capabilities(self) -> list[str]:
        """Names of the capabilities that the types of the shader need, in the order of their numbers."""
        found = {Capability.Shader}
        for op in self._region.walk():
            for result in op.results:
                self._types.add(result.type)
        for type in self._types:
            if isinstance(type, IntegerType):
                width = width_of(cast("Attribute", type))
                found |= {WIDTHS[width]} if width in WIDTHS else set()
            if isinstance(type, AnyFloat) and type.bitwidth == 64:
                found.add(Capability.Float64)
        for type in self._stored:
            width = width_of(type)
            if width in STORED:
                found.add(STORED[width])
            if isinstance(type, IntegerType) and width in WIDTHS:
                found.add(WIDTHS[width])
        return [one.name for one in sorted(found)]

    # -- declarations and instructions

    def declare(self, op: VariableOp, stored: Attribute | None = None) -> SSAValue:
        """Add a variable of the module, for elements of type `stored` if it is a buffer. Returns a pointer to it."""
        if stored is not None:
            self._stored.add(stored)
        self._head.add_op(op)
        return op.result

    def declare_local(self, op: VariableOp) -> SSAValue:
        """Add a variable of an invocation. Returns a pointer to it."""
        self._locals.append(op)
        return op.result

    def add(self, op: Operation) -> None:
        """Add an instruction."""
        self._block.add_op(op)

    def make(self, op: Operation) -> SSAValue:
        """Add an instruction. Returns its result."""
        self._block.add_op(op)
        return op.results[0]

    def start(self, block: Block) -> None:
        """Make a block the current one. The one before has its terminator."""
        self._region.add_block(block)
        self._block = block

    def constant(self, value: Attribute) -> SSAValue:
        """A scalar constant: that of all elements of a vector's, and of 32 bits for an index."""
        if isinstance(value, DenseIntOrFPElementsAttr):
            (number, *_) = value.get_values()
            value = number_attribute(cast("float", number), scalar_type(cast("Attribute", value.type)))
        if isinstance(value, IntegerAttr):
            integer = cast("IntegerAttr", value)
            value = IntegerAttr(integer.value.data, i32) if isinstance(integer.type, IndexType) else integer
        made = cast("IntegerAttr[IntegerType] | FloatAttr[AnyFloat]", value)
        if made not in self._constants:
            self._types.add(made.type)
            op = ConstantOp(made)
            self._head.add_op(op)
            self._constants[made] = op.result
        return self._constants[made]

    def number(self, number: int) -> SSAValue:
        """A constant of type i32."""
        return self.constant(IntegerAttr(number, i32))

    # -- arithmetic on indices

    def value(self, index: Index) -> SSAValue:
        """An index as a value of the shader."""
        return self.number(index) if isinstance(index, int) else index

    def plus(self, a: Index, b: Index) -> Index:
        """a + b."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self.make(InstructionOp(Op.IAdd, [self.value(a), self.value(b)]))

    def minus(self, a: Index, b: Index) -> Index:
        """a - b."""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self.make(InstructionOp(Op.ISub, [self.value(a), self.value(b)]))

    def times(self, a: Index, b: Index) -> Index:
        """a * b."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a in (0, 1) or b in (0, 1):
            return 0 if 0 in (a, b) else b if a == 1 else a
        return self.make(InstructionOp(Op.IMul, [self.value(a), self.value(b)]))

    def compare(self, op: Op, a: Index, b: Index) -> SSAValue:
        """The boolean that the comparison instruction `op` gives for a and b."""
        return self.make(InstructionOp(op, [self.value(a), self.value(b)]))


def scalar_type(type: Attribute) -> Attribute:
    """The type of a vector's only element, and of an index; other types as they are."""
    if isinstance(type, IndexType):
        return i32
    return cast("VectorType[Attribute]", type).element_type if isinstance(type, VectorType) else type


def integer_of(value: SSAValue) -> int | None:
    """The number that a value of a shader is, if it is an integer constant."""
    owner = value.owner
    if isinstance(owner, ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def number_attribute(number: float, type: Attribute) -> IntegerAttr | FloatAttr[AnyFloat]:
    """A number of an integer or float type."""
    if isinstance(type, AnyFloat):
        return FloatAttr(float(number), type)
    return IntegerAttr(int(number), cast("IntegerType", type))
