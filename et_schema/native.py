"""Tables of the blobs of the native backend: machine code, and what a runtime must know to call it.

    native_entry(context, pointers, thread, threads)

`pointers` are the addresses of the inputs, outputs and constants, each in the order of its table, and of the arena.
Every thread calls the function, with a number of its own below `threads`; the context is that of the call. An invalid
argument, such as an index that is out of range, is reported in the context by the number of a message.
"""

from __future__ import annotations

from typing import Annotated

from et_schema.errors import Error, InvalidFile
from et_schema.reader import Reader, Source
from et_schema.scalar_type import ScalarType
from et_schema.tables import Aligned, Int32, UInt32, UInt64, table

__all__ = [
    "ENTRY",
    "FILE_IDENTIFIER",
    "MAX_ALIGNMENT",
    "NO_REPORT",
    "REPORT_AT",
    "VERSION",
    "NativeConstant",
    "NativeMessage",
    "NativeObject",
    "NativeProgram",
    "NativeTensor",
    "read_native",
    "serialize_native",
]

FILE_IDENTIFIER = b"ETN1"
VERSION = 2
ENTRY = "native_entry"
"""The symbol of the function that runs the program."""
REPORT_AT = 192
"""Where the context of a call has the least number that the code has reported, an i32."""
NO_REPORT = 0xFFFFFFFF
"""What is there before a call."""
MAX_ALIGNMENT = 4096
MAX_RANK = 16


@table
class NativeTensor:
    """An input or output. Its elements are in memory in the order of dimensions, without gaps."""

    scalar_type: ScalarType = ScalarType.FLOAT
    sizes: list[Int32] = []
    dim_order: bytes = b""


@table
class NativeConstant:
    """Constant data, packed as the code reads it: named data of the program."""

    key: str = ""
    nbytes: UInt64 = 0


@table
class NativeMessage:
    """What the report of an invalid argument of a call means: the operator, and what is wrong."""

    text: str = ""


@table
class NativeObject:
    """A relocatable ELF object for one instruction set."""

    instruction_set: str = ""
    # Of the processor, as Linux names them, with spaces between.
    cpu_features: str = ""
    code: Annotated[bytes, Aligned(16)] = b""


@table
class NativeProgram:
    """A compiled partition; `objects` are for different machines, the best first."""

    version: UInt32 = 0
    inputs: list[NativeTensor] = []
    outputs: list[NativeTensor] = []
    constants: list[NativeConstant] = []
    arena_size: UInt64 = 0
    arena_alignment: UInt32 = 0
    objects: list[NativeObject] = []
    # Of invalid arguments of a call, by the number that the code reports.
    messages: list[NativeMessage] = []


def read_native(buffer: Source) -> NativeProgram:
    """Decode and check a blob; the code of its objects is not copied, and not looked into.

    Raises `InvalidFile(DelegateInvalidCompatibility)` with the table path.
    """
    try:
        program = Reader(memoryview(buffer).cast("B").toreadonly()).root(NativeProgram, FILE_IDENTIFIER)
        _check(program)
    except InvalidFile as error:
        error.code = Error.DelegateInvalidCompatibility
        raise
    return program


def serialize_native(program: NativeProgram) -> bytes:
    """The bytes of a blob, which depend on the program alone."""
    from et_schema.writer import encode

    return bytes(encode(program, FILE_IDENTIFIER))


def _check(program: NativeProgram) -> None:
    if program.version != VERSION:
        raise InvalidFile(
            f"native code of version {program.version}; this runtime knows version {VERSION}",
            where="version",
            hint="compile the program again",
        )
    alignment = program.arena_alignment
    if not 0 < alignment <= MAX_ALIGNMENT or alignment & (alignment - 1):
        raise InvalidFile(
            f"an arena alignment of {alignment}; a power of two up to {MAX_ALIGNMENT} is required",
            where="arena_alignment",
        )
    if not program.objects:
        raise InvalidFile("there is no code", where="objects")
    for name, tensors in (("inputs", program.inputs), ("outputs", program.outputs)):
        for number, tensor in enumerate(tensors):
            where = f"{name}[{number}]"
            rank = len(tensor.sizes)
            if rank > MAX_RANK or any(size < 0 for size in tensor.sizes):
                raise InvalidFile(f"sizes {list(tensor.sizes)}", where=f"{where}.sizes")
            if sorted(tensor.dim_order) != list(range(rank)):
                raise InvalidFile(
                    f"dim order {list(tensor.dim_order)} of {rank} dimensions", where=f"{where}.dim_order"
                )
