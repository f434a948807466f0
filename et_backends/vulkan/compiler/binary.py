"""Encoding of shaders of the `spirv` dialect as SPIR-V binaries.

Each operation becomes the instruction of the same name; types and decorations are derived from the types of values.
Encoding is deterministic. The order of the sections is that of the specification ("Logical Layout of a Module").
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, cast

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, VectorType, i1, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from et_backends.vulkan.dialect import (
    AccessChainOp,
    ArrayType,
    AtomicMinimumOp,
    BranchOp,
    ConstantOp,
    EntryPointOp,
    ExtendedOp,
    InstructionOp,
    LoadOp,
    LoopBranchOp,
    PointerType,
    ReturnOp,
    RuntimeArrayType,
    SelectionBranchOp,
    ShaderOp,
    StoreOp,
    StructType,
    VariableOp,
)
from et_backends.vulkan.format.spirv import (
    ENTRY,
    GLSL,
    MAGIC,
    VERSION,
    BuiltIn,
    Capability,
    Decoration,
    Extended,
    Op,
    StorageClass,
)

__all__ = ["encode_shader"]

_EXTENSIONS: Final = {Capability.StorageBuffer8BitAccess: "SPV_KHR_8bit_storage"}
"""Extensions of SPIR-V 1.3 that capabilities are of."""

_GL_COMPUTE: Final = 5
_LOCAL_SIZE_MODE: Final = 17
_LOGICAL, _GLSL450 = 0, 1
_DEVICE_SCOPE: Final = 1
_RELAXED: Final = 0

_EXACT: Final = frozenset({Op.FAdd, Op.FSub, Op.FMul, Op.FDiv, Op.FNegate})
"""Arithmetic that drivers are not to rearrange: roundings of sums are what some functions are made of."""


def encode_shader(shader: ShaderOp) -> bytes:
    """The binary of a shader, little-endian."""
    return _Encoder().encode(shader)


class _Encoder:
    def __init__(self) -> None:
        self._ids: dict[SSAValue | Block, int] = {}
        self._bound = 1
        self._types: dict[Attribute | str, int] = {}
        self._globals: list[int] = []
        self._decorations: list[int] = []
        self._code: list[int] = []
        self._constants: dict[Attribute, int] = {}
        self._glsl = self._fresh()
        self._incoming: dict[Block, list[tuple[Block, Sequence[SSAValue]]]] = {}

    def encode(self, shader: ShaderOp) -> bytes:
        capabilities = sorted(Capability[one.data] for one in shader.capabilities)
        interface: list[int] = []
        function = size = 0
        for op in shader.body.block.ops:
            match op:
                case VariableOp():
                    self._variable(op)
                    if op.builtin is not None:
                        interface.append(self._ids[op.result])
                case ConstantOp():
                    self._constant(op)
                case EntryPointOp():
                    function = self._function(op)
                    size = op.local_size.value.data
                case _:
                    raise ValueError(f"'{op.name}' is not a part of a shader")
        head: list[int] = []
        for one in capabilities:
            head += _words(Op.Capability, one)
        for one in capabilities:
            if one in _EXTENSIONS:
                head += _words(Op.Extension, *_string(_EXTENSIONS[one]))
        head += _words(Op.ExtInstImport, self._glsl, *_string(GLSL))
        head += _words(Op.MemoryModel, _LOGICAL, _GLSL450)
        head += _words(Op.EntryPoint, _GL_COMPUTE, function, *_string(ENTRY), *interface)
        head += _words(Op.ExecutionMode, function, _LOCAL_SIZE_MODE, size, 1, 1)
        words = [MAGIC, VERSION, 0, self._bound, 0, *head, *self._decorations, *self._globals, *self._code]
        return struct.pack(f"<{len(words)}I", *words)

    # -- identifiers

    def _fresh(self) -> int:
        made = self._bound
        self._bound += 1
        return made

    def _id(self, value: SSAValue | Block) -> int:
        if value not in self._ids:
            self._ids[value] = self._fresh()
        return self._ids[value]

    # -- types and constants

    def _type(self, type: Attribute) -> int:
        found = self._types.get(type)
        if found is not None:
            return found
        match type:
            case IntegerType() if type == i1:
                words = [Op.TypeBool]
            case IntegerType():
                words = [Op.TypeInt, type.width.data, 0]
            case VectorType():
                words = [Op.TypeVector, self._type(type.element_type), type.get_shape()[0]]
            case PointerType():
                words = [Op.TypePointer, type.storage_class, self._type(type.pointee)]
            case RuntimeArrayType():
                words = [Op.TypeRuntimeArray, self._type(type.element)]
            case ArrayType():
                count = self._number(IntegerAttr(type.count.data, i32))
                words = [Op.TypeArray, self._type(type.element), count]
            case StructType():
                words = [Op.TypeStruct, *map(self._type, type.members)]
            case _ if isinstance(type, AnyFloat):
                words = [Op.TypeFloat, type.bitwidth]
            case _:
                raise ValueError(f"{type} is not a type of SPIR-V")
        made = self._types[type] = self._fresh()
        self._globals += _words(words[0], made, *words[1:])
        if isinstance(type, RuntimeArrayType):
            self._decorate(made, Decoration.ArrayStride, _nbytes(type.element))
        if isinstance(type, StructType):
            self._decorate(made, Decoration.Block)
            for number in range(len(type.members)):
                self._decorations += _words(Op.MemberDecorate, made, number, Decoration.Offset, 4 * number)
        return made

    def _named_type(self, name: str, op: Op, *operands: int) -> int:
        if name not in self._types:
            self._types[name] = self._fresh()
            self._globals += _words(op, self._types[name], *operands)
        return self._types[name]

    def _decorate(self, target: int, decoration: Decoration, *literals: int) -> None:
        self._decorations += _words(Op.Decorate, target, decoration, *literals)

    def _constant(self, op: ConstantOp) -> None:
        self._ids[op.result] = self._number(op.value)

    def _number(self, value: Attribute) -> int:
        """A constant, once each."""
        if value in self._constants:
            return self._constants[value]
        assert isinstance(value, IntegerAttr | FloatAttr)
        number = cast("IntegerAttr[IntegerType] | FloatAttr[AnyFloat]", value)
        type = self._type(number.type)
        made = self._constants[value] = self._fresh()
        if number.type == i1:
            op = Op.ConstantTrue if number.value.data else Op.ConstantFalse
            self._globals += _words(op, type, made)
        else:
            self._globals += _words(Op.Constant, type, made, *_literal(number))
        return made

    def _variable(self, op: VariableOp) -> None:
        type = op.result.type
        assert isinstance(type, PointerType)
        pointer, made = self._type(type), self._id(op.result)
        inside = type.storage_class == StorageClass.Function
        words = _words(Op.Variable, pointer, made, type.storage_class)
        if inside:
            self._code += words
        else:
            self._globals += words
        if op.binding is not None:
            self._decorate(made, Decoration.DescriptorSet, 0)
            self._decorate(made, Decoration.Binding, op.binding.value.data)
        if op.read_only is not None:
            self._decorate(made, Decoration.NonWritable)
        if op.builtin is not None:
            self._decorate(made, Decoration.BuiltIn, BuiltIn[op.builtin.data])

    # -- code

    def _function(self, op: EntryPointOp) -> int:
        void = self._named_type("void", Op.TypeVoid)
        type = self._named_type("function", Op.TypeFunction, void)
        function = self._fresh()
        for block in op.body.blocks:
            last = block.last_op
            if isinstance(last, BranchOp):
                self._incoming.setdefault(last.successor, []).append((block, last.arguments))
        self._code += _words(Op.Function, void, function, 0, type)
        for block in op.body.blocks:
            self._block(block)
        self._code += _words(Op.FunctionEnd)
        return function

    def _block(self, block: Block) -> None:
        self._code += _words(Op.Label, self._id(block))
        incoming = self._incoming.get(block, ())
        for number, argument in enumerate(block.args):
            words = [self._type(argument.type), self._id(argument)]
            for source, values in incoming:
                words += [self._id(values[number]), self._id(source)]
            self._code += _words(Op.Phi, *words)
        for op in block.ops:
            self._op(op)

    def _op(self, op: Operation) -> None:
        match op:
            case VariableOp():
                self._variable(op)
            case ConstantOp():
                self._constant(op)
            case InstructionOp():
                made = self._result(op.op, op.result, [self._id(value) for value in op.arguments])
                if op.op in _EXACT:
                    self._decorate(made, Decoration.NoContraction)
            case ExtendedOp():
                arguments = [self._id(value) for value in op.arguments]
                made = self._result(Op.ExtInst, op.result, [self._glsl, op.op, *arguments])
                if op.op == Extended.Fma:
                    self._decorate(made, Decoration.NoContraction)
            case AccessChainOp():
                self._result(Op.AccessChain, op.result, [self._id(value) for value in op.operands])
            case LoadOp():
                self._result(Op.Load, op.result, [self._id(op.pointer)])
            case StoreOp():
                self._code += _words(Op.Store, self._id(op.pointer), self._id(op.value))
            case AtomicMinimumOp():
                scope, semantics = (
                    self._number(IntegerAttr(number, i32)) for number in (_DEVICE_SCOPE, _RELAXED)
                )
                words = [self._type(i32), self._fresh(), self._id(op.pointer), scope, semantics]
                self._code += _words(Op.AtomicUMin, *words, self._id(op.value))
            case BranchOp():
                self._code += _words(Op.Branch, self._id(op.successor))
            case SelectionBranchOp():
                then, otherwise, merge = map(self._id, (op.then, op.otherwise, op.merge))
                self._code += _words(Op.SelectionMerge, merge, 0)
                self._code += _words(Op.BranchConditional, self._id(op.condition), then, otherwise)
            case LoopBranchOp():
                body, merge, proceed = map(self._id, (op.body, op.merge, op.proceed))
                self._code += _words(Op.LoopMerge, merge, proceed, 0)
                self._code += _words(Op.BranchConditional, self._id(op.condition), body, merge)
            case ReturnOp():
                self._code += _words(Op.Return)
            case _:
                raise ValueError(f"'{op.name}' is not an instruction of a shader")

    def _result(self, op: Op, result: SSAValue, operands: Sequence[int]) -> int:
        type, made = self._type(result.type), self._id(result)
        self._code += _words(op, type, made, *operands)
        return made


def _words(op: int, *operands: int) -> list[int]:
    return [(len(operands) + 1) << 16 | op, *operands]


def _string(text: str) -> list[int]:
    """UTF-8 that ends in a zero, padded to words."""
    data = text.encode() + b"\0"
    data += bytes(-len(data) % 4)
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def _literal(value: IntegerAttr[IntegerType] | FloatAttr[AnyFloat]) -> list[int]:
    """The words of a number, the low one first."""
    width = value.type.bitwidth
    if isinstance(value, FloatAttr):
        data = struct.pack("<d" if width == 64 else "<f", value.value.data)
        return list(struct.unpack(f"<{width // 32}I", data))
    bits = value.value.data & ((1 << width) - 1)
    return [bits & 0xFFFFFFFF, bits >> 32] if width == 64 else [bits]


def _nbytes(element: Attribute) -> int:
    assert isinstance(element, IntegerType | AnyFloat)
    return cast("IntegerType | AnyFloat", element).bitwidth // 8
