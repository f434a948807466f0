"""Tables of the blobs of the native backend: machine code, and what a runtime must know to call it.

    native_entry(context, pointers, thread, threads)

`pointers` are the addresses of the inputs, outputs and constants, each in the order of its table, and of the arena.
Every thread calls the function, with a number of its own below `threads`; the context is that of the call.
"""

from __future__ import annotations

from typing import Annotated

from et_schema.errors import Error, InvalidFile
from et_schema.reader import Reader, Source
from et_schema.scalar_type import ScalarType
from et_schema.tables import Aligned, Int32, UInt32, UInt64, table

__all__ = [
    "CALL",
    "ENTRY",
    "FILE_IDENTIFIER",
    "MAX_ALIGNMENT",
    "SERVE",
    "VERSION",
    "NativeConstant",
    "NativeKernel",
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
CALL = "native_call"
"""The symbol of the function that makes a call with the threads of a pool."""
SERVE = "native_serve"
"""The symbol of the function in which a thread of a pool waits for calls."""
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
class NativeKernel:
    """A call of a function of the object: its name, and the identifier that the debug map has for what it computes."""

    name: str = ""
    identifier: UInt32 = 0


@table
class NativeObject:
    """A relocatable ELF object for one instruction set."""

    instruction_set: str = ""
    # Of the processor, as Linux names them, with spaces between.
    cpu_features: str = ""
    code: Annotated[bytes, Aligned(16)] = b""
    # In the order of the calls.
    kernels: list[NativeKernel] = []


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
    # A program that computes the same with kernels, for machines that cannot or may not run the code; else empty.
    fallback: Annotated[bytes, Aligned(32)] = b""


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
