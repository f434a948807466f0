"""SPIR-V modules: numbers of the instructions used here, and checks of binaries.

A module is a sequence of 32-bit words: a header of five, then instructions. The first word of an instruction has its
length in the upper half and the opcode in the lower. Source of the numbers: the SPIR-V specification, version 1.3, and
that of the extended instructions GLSL.std.450.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from et_schema.errors import Error, InvalidFile

__all__ = [
    "ENTRY",
    "GLSL",
    "LOCAL_SIZE",
    "MAGIC",
    "VERSION",
    "BuiltIn",
    "Capability",
    "Decoration",
    "Extended",
    "Instruction",
    "Op",
    "StorageClass",
    "capability_name",
    "check_module",
    "instructions",
]

MAGIC: Final = 0x07230203
VERSION: Final = 0x00010300
"""The version of the modules that are written: 1.3, which Vulkan 1.1 and later take."""
ENTRY: Final = "main"
"""The name of the entry point of a shader."""
GLSL: Final = "GLSL.std.450"
"""The set of extended instructions."""
LOCAL_SIZE: Final = 64
"""Invocations of a workgroup: all devices take 128."""
_HEADER: Final = struct.Struct("<5I")


class Op(IntEnum):
    """Opcodes, by the names of the specification without `Op`."""

    Extension = 10
    ExtInstImport = 11
    ExtInst = 12
    MemoryModel = 14
    EntryPoint = 15
    ExecutionMode = 16
    Capability = 17
    TypeVoid = 19
    TypeBool = 20
    TypeInt = 21
    TypeFloat = 22
    TypeVector = 23
    TypeArray = 28
    TypeRuntimeArray = 29
    TypeStruct = 30
    TypePointer = 32
    TypeFunction = 33
    ConstantTrue = 41
    ConstantFalse = 42
    Constant = 43
    Function = 54
    FunctionEnd = 56
    Variable = 59
    Load = 61
    Store = 62
    AccessChain = 65
    Decorate = 71
    MemberDecorate = 72
    ConvertFToS = 110
    ConvertSToF = 111
    ConvertUToF = 112
    UConvert = 113
    SConvert = 114
    FConvert = 115
    Bitcast = 124
    FNegate = 127
    IAdd = 128
    FAdd = 129
    ISub = 130
    FSub = 131
    IMul = 132
    FMul = 133
    UDiv = 134
    SDiv = 135
    FDiv = 136
    UMod = 137
    SRem = 138
    LogicalEqual = 164
    LogicalNotEqual = 165
    LogicalOr = 166
    LogicalAnd = 167
    LogicalNot = 168
    Select = 169
    IEqual = 170
    INotEqual = 171
    UGreaterThan = 172
    SGreaterThan = 173
    UGreaterThanEqual = 174
    SGreaterThanEqual = 175
    ULessThan = 176
    SLessThan = 177
    ULessThanEqual = 178
    SLessThanEqual = 179
    FOrdEqual = 180
    FUnordEqual = 181
    FOrdNotEqual = 182
    FUnordNotEqual = 183
    FOrdLessThan = 184
    FUnordLessThan = 185
    FOrdGreaterThan = 186
    FUnordGreaterThan = 187
    FOrdLessThanEqual = 188
    FUnordLessThanEqual = 189
    FOrdGreaterThanEqual = 190
    FUnordGreaterThanEqual = 191
    ShiftRightLogical = 194
    ShiftRightArithmetic = 195
    ShiftLeftLogical = 196
    BitwiseOr = 197
    BitwiseXor = 198
    BitwiseAnd = 199
    AtomicUMin = 237
    Phi = 245
    LoopMerge = 246
    SelectionMerge = 247
    Label = 248
    Branch = 249
    BranchConditional = 250
    Return = 253


class Extended(IntEnum):
    """Numbers of instructions of GLSL.std.450."""

    RoundEven = 2
    Trunc = 3
    FAbs = 4
    Floor = 8
    Ceil = 9
    Sqrt = 31
    UMin = 38
    SMin = 39
    UMax = 41
    SMax = 42
    Fma = 50


class Capability(IntEnum):
    """Device features that a module requires."""

    Shader = 1
    Float64 = 10
    Int64 = 11
    Int16 = 22
    Int8 = 39
    StorageBuffer16BitAccess = 4433
    StorageBuffer8BitAccess = 4448


def capability_name(number: int) -> str:
    """The name of a capability, or the number of one that is not used here."""
    known = {one.value: one.name for one in Capability}
    return known.get(number, f"capability {number}")


class StorageClass(IntEnum):
    """Storage classes."""

    Input = 1
    Function = 7
    PushConstant = 9
    StorageBuffer = 12


class Decoration(IntEnum):
    """Facts about a result or a member of a type."""

    Block = 2
    ArrayStride = 6
    BuiltIn = 11
    NonWritable = 24
    Binding = 33
    DescriptorSet = 34
    Offset = 35
    NoContraction = 42


class BuiltIn(IntEnum):
    """Built-in variables, set by the device."""

    GlobalInvocationId = 28


class Instruction(NamedTuple):
    """An instruction of a module."""

    opcode: int
    words: tuple[int, ...]
    """Those after the first."""


def instructions(module: bytes | memoryview) -> Iterator[Instruction]:
    """The instructions of a module. Raises `InvalidFile` if it is invalid."""
    size = len(module)
    if size < _HEADER.size or size % 4:
        raise InvalidFile(f"a shader of {size} bytes", code=Error.DelegateInvalidCompatibility)
    words = struct.unpack(f"<{size // 4}I", module)
    if words[0] != MAGIC:
        raise InvalidFile(
            f"a shader that starts with {words[0]:#010x}, not {MAGIC:#010x}",
            code=Error.DelegateInvalidCompatibility,
        )
    at = _HEADER.size // 4
    while at < len(words):
        length = words[at] >> 16
        if not 0 < length <= len(words) - at:
            raise InvalidFile(
                f"an instruction of {length} words at byte {4 * at} of a shader",
                code=Error.DelegateInvalidCompatibility,
            )
        yield Instruction(words[at] & 0xFFFF, words[at + 1 : at + length])
        at += length


def check_module(module: bytes | memoryview) -> frozenset[int]:
    """Check a module's version, integrity and entry point; returns its capabilities.

    Raises `InvalidFile(DelegateInvalidCompatibility)`. The semantics of instructions are not checked.
    """
    capabilities: set[int] = set()
    entries = functions = ends = 0
    for opcode, words in instructions(module):
        if opcode == Op.Capability and len(words) == 1:
            capabilities.add(words[0])
        entries += opcode == Op.EntryPoint
        functions += opcode == Op.Function
        ends += opcode == Op.FunctionEnd
    (version,) = struct.unpack_from("<I", module, 4)
    if version != VERSION or entries != 1 or functions != ends:
        raise InvalidFile(
            f"a shader of SPIR-V {version >> 16 & 0xFF}.{version >> 8 & 0xFF} with {entries} entry points, "
            f"{functions} functions and {ends} ends of functions",
            code=Error.DelegateInvalidCompatibility,
        )
    return frozenset(capabilities)
