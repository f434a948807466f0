"""Blob format of the Vulkan backend: tables of compute shaders and dispatches.

Dispatches run in order; each sees the writes of those before it. The buffers of a dispatch are bound to descriptors 0,
1, … of set 0; its words are push constants. The number of an invocation is `x + ROW * y` of its global identifier;
invocations from `invocations` on do nothing. A shader that reports errors has an additional buffer, whose first word
becomes the lowest number of the reported messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from math import prod
from typing import Annotated, Final

from et_backends.vulkan.format.spirv import LOCAL_SIZE, check_module
from et_schema.delegate_blobs import BlobWrites
from et_schema.errors import Error, InvalidFile
from et_schema.reader import Reader, Source
from et_schema.scalar_type import ScalarType
from et_schema.tables import Aligned, Int32, UInt32, UInt64, table

__all__ = [
    "ALIGNMENT",
    "BACKEND",
    "FILE_IDENTIFIER",
    "MAX_WORDS",
    "NO_REPORT",
    "ROW",
    "VERSION",
    "VulkanBuffer",
    "VulkanConstant",
    "VulkanDispatch",
    "VulkanMemory",
    "VulkanMessage",
    "VulkanProgram",
    "VulkanShader",
    "VulkanTensor",
    "capabilities_of",
    "group_counts",
    "nbytes_of",
    "read_vulkan",
    "serialize_vulkan",
    "spirv_writes",
]

BACKEND: Final = "SpirvBackend"
"""The backend id of blobs in this format; `VulkanBackend` is that of ExecuTorch's, which are graphs."""
FILE_IDENTIFIER: Final = b"ETV1"
VERSION: Final = 2
ALIGNMENT: Final = 256
"""Of places in the arena, in bytes: the largest that a device may ask for of offsets of storage buffers."""
ROW: Final = LOCAL_SIZE << 15
"""Invocations of a row of workgroups: all devices take 2**16 - 1 workgroups in each direction."""
MAX_WORDS: Final = 32
"""Push constants that all devices have room for."""
NO_REPORT: Final = 0xFFFFFFFF
"""Value of the report word before a call: nothing is reported."""
MAX_RANK: Final = 16


class VulkanMemory(IntEnum):
    """Roles of a dispatch's buffers."""

    INPUT = 0
    OUTPUT = 1
    CONSTANT = 2
    ARENA = 3
    REPORT = 4


@table
class VulkanTensor:
    """An input or output; contiguous in memory."""

    scalar_type: ScalarType = ScalarType.FLOAT
    sizes: list[Int32] = []
    dim_order: bytes = b""
    # Whether the device has these floats in 16 bits; callers have 32.
    is_half: bool = False


@table
class VulkanConstant:
    """Constant data in the layout that shaders read, stored as named data of the program."""

    key: str = ""
    nbytes: UInt64 = 0


@table
class VulkanShader:
    """A SPIR-V module with one entry point."""

    name: str = ""
    code: Annotated[bytes, Aligned(4)] = b""


@table
class VulkanBuffer:
    """A range of memory bound to a dispatch."""

    memory: VulkanMemory = VulkanMemory.INPUT
    # Of the input, output or constant.
    number: UInt32 = 0
    # In bytes; only the arena has others than 0.
    offset: UInt64 = 0
    nbytes: UInt64 = 0


@table
class VulkanDispatch:
    """An execution of a shader."""

    shader: UInt32 = 0
    buffers: list[VulkanBuffer] = []
    words: list[Int32] = []
    invocations: UInt32 = 0
    # Of all loops of an invocation, at most: some drivers end loops after a number of iterations.
    steps: UInt32 = 0
    # Of the debug map, for what is computed.
    identifier: UInt32 = 0


@table
class VulkanMessage:
    """The meaning of a reported invalid argument: the operator and the error."""

    text: str = ""


@table
class VulkanProgram:
    """A compiled partition."""

    version: UInt32 = 0
    inputs: list[VulkanTensor] = []
    outputs: list[VulkanTensor] = []
    constants: list[VulkanConstant] = []
    arena_size: UInt64 = 0
    shaders: list[VulkanShader] = []
    dispatches: list[VulkanDispatch] = []
    messages: list[VulkanMessage] = []


def read_vulkan(buffer: Source) -> VulkanProgram:
    """Decode and check a blob: tables, memory ranges, and shaders.

    Raises `InvalidFile(DelegateInvalidCompatibility)` with the table path.
    """
    try:
        program = Reader(memoryview(buffer).cast("B").toreadonly()).root(VulkanProgram, FILE_IDENTIFIER)
        _check(program)
    except InvalidFile as error:
        error.code = Error.DelegateInvalidCompatibility
        raise
    return program


def spirv_writes(blob: memoryview, named: Mapping[str, memoryview]) -> BlobWrites:
    """The values that a delegate writes. Raises as `read_vulkan` does."""
    return BlobWrites(len(read_vulkan(blob).outputs))


def serialize_vulkan(program: VulkanProgram) -> bytes:
    """The bytes of a blob, which are deterministic."""
    from et_schema.writer import encode

    return bytes(encode(program, FILE_IDENTIFIER))


def capabilities_of(program: VulkanProgram) -> frozenset[int]:
    """Device features that the shaders require: numbers of `et_backends.vulkan.format.spirv.Capability`."""
    return frozenset(one for shader in program.shaders for one in check_module(shader.code))


def group_counts(invocations: int) -> tuple[int, int]:
    """Workgroups of a dispatch, in x and y."""
    groups = -(-invocations // LOCAL_SIZE)
    columns = min(groups, ROW // LOCAL_SIZE)
    return columns, -(-groups // columns)


def nbytes_of(tensor: VulkanTensor) -> int:
    """The bytes of an input or output on the device."""
    return prod(tensor.sizes) * (ScalarType.HALF if tensor.is_half else tensor.scalar_type).itemsize


def _nbytes_of_all(program: VulkanProgram) -> int:
    """The bytes of the arena, of constants, and of inputs and outputs."""
    tensors = sum(map(nbytes_of, (*program.inputs, *program.outputs)))
    return program.arena_size + sum(one.nbytes for one in program.constants) + tensors


def _check(program: VulkanProgram) -> None:
    if program.version != VERSION:
        raise InvalidFile(
            f"shaders of version {program.version}; this runtime knows version {VERSION}",
            where="version",
            hint="compile the program again",
        )
    for name, tensors in (("inputs", program.inputs), ("outputs", program.outputs)):
        for number, tensor in enumerate(tensors):
            where = f"{name}[{number}]"
            rank = len(tensor.sizes)
            if rank > MAX_RANK or any(size < 0 for size in tensor.sizes):
                raise InvalidFile(f"sizes {list(tensor.sizes)}", where=f"{where}.sizes")
            if tensor.is_half and tensor.scalar_type != ScalarType.FLOAT:
                raise InvalidFile(f"{tensor.scalar_type.name} as halves", where=f"{where}.is_half")
            if sorted(tensor.dim_order) != list(range(rank)):
                raise InvalidFile(
                    f"dim order {list(tensor.dim_order)} of {rank} dimensions", where=f"{where}.dim_order"
                )
    for number, shader in enumerate(program.shaders):
        try:
            check_module(shader.code)
        except InvalidFile as error:
            error.where = f"shaders[{number}].code"
            raise
    if _nbytes_of_all(program) >> 62:
        raise InvalidFile("more bytes than there are addresses", where="arena_size")
    if not program.dispatches:
        raise InvalidFile("nothing is dispatched", where="dispatches")
    for number, dispatch in enumerate(program.dispatches):
        _check_dispatch(program, dispatch, f"dispatches[{number}]")
    # A shader is compiled for what its first dispatch gives it.
    first: dict[int, tuple[int, int]] = {}
    for number, dispatch in enumerate(program.dispatches):
        given = len(dispatch.buffers), len(dispatch.words)
        if first.setdefault(dispatch.shader, given) != given:
            raise InvalidFile(
                f"{given[0]} buffers and {given[1]} words for a shader that has been given "
                f"{first[dispatch.shader][0]} and {first[dispatch.shader][1]}",
                where=f"dispatches[{number}]",
            )


def _check_dispatch(program: VulkanProgram, dispatch: VulkanDispatch, where: str) -> None:
    if dispatch.shader >= len(program.shaders):
        raise InvalidFile(f"shader {dispatch.shader} of {len(program.shaders)}", where=f"{where}.shader")
    if len(dispatch.words) > MAX_WORDS:
        raise InvalidFile(f"{len(dispatch.words)} words; there may be {MAX_WORDS}", where=f"{where}.words")
    if dispatch.invocations == 0:
        raise InvalidFile("no invocations", where=f"{where}.invocations")
    for number, buffer in enumerate(dispatch.buffers):
        place = f"{where}.buffers[{number}]"
        room = _room(program, buffer, place)
        if not 0 < buffer.nbytes <= room - buffer.offset or buffer.offset % ALIGNMENT:
            raise InvalidFile(
                f"{buffer.nbytes} bytes from {buffer.offset} on of {room} in {buffer.memory.name.lower()}",
                where=place,
            )


def _room(program: VulkanProgram, buffer: VulkanBuffer, where: str) -> int:
    """The bytes of the memory that a buffer is in."""
    match buffer.memory:
        case VulkanMemory.ARENA:
            return program.arena_size
        case VulkanMemory.REPORT:
            return 4
        case VulkanMemory.CONSTANT:
            sizes = [one.nbytes for one in program.constants]
        case VulkanMemory.INPUT:
            sizes = [nbytes_of(one) for one in program.inputs]
        case _:
            sizes = [nbytes_of(one) for one in program.outputs]
    if buffer.number >= len(sizes):
        raise InvalidFile(f"{buffer.memory.name.lower()} {buffer.number} of {len(sizes)}", where=where)
    return sizes[buffer.number]
