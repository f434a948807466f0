"""Tables of the blobs of the native backend: machine code, and what a runtime must know to call it.

    native_entry(context, pointers, thread, threads)

`pointers` are the numbers in the order of `words`, then the addresses of the inputs, outputs, values, constants and
derived constants, each in the order of its table, and of the arena. Sizes that are known at run time only are computed
of the words. The outputs of `updates` are to hold the input that they are for when the function is called: the code
replaces some elements, and leaves the others. An output and that input may be one memory.
Every thread calls the function, with a number of its own below `threads`; the context is that of the call. An invalid
argument, such as an index that is out of range, is reported in the context by the number of a message.

Derived constants are computed when a program is loaded: `native_prepare`, which is called alike, writes them from the
constants, and reads nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from hashlib import sha256
from math import prod
from typing import Annotated, Final

from et_schema.delegate_blobs import BlobWrites
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.reader import Reader, Source
from et_schema.scalar_type import ScalarType
from et_schema.tables import Aligned, Int32, Int64, OmitEmpty, UInt32, UInt64, table

__all__ = [
    "FILE_IDENTIFIER",
    "MAX_ALIGNMENT",
    "VERSION",
    "NativeConstant",
    "NativeKernel",
    "NativeMessage",
    "NativeObject",
    "NativeProgram",
    "NativeSize",
    "NativeTensor",
    "NativeUpdate",
    "NativeValue",
    "NativeWord",
    "NativeWork",
    "SizeFunction",
    "check_room",
    "evaluate_size",
    "interface_symbol",
    "native_writes",
    "read_native",
    "serialize_native",
]

FILE_IDENTIFIER = b"ETN1"
VERSION = 2
MAX_ALIGNMENT = 4096
MAX_RANK = 16
MAX_SIZE: Final = 2**31 - 1
MAX_SIZE_CODE: Final = 1024


class SizeFunction(IntEnum):
    """The operation of an instruction of a size; all but the first two take the two numbers on top of the stack."""

    NUMBER = 0
    WORD = 1
    ADD = 2
    MUL = 3
    FLOORDIV = 4
    MOD = 5
    MAX = 6
    MIN = 7


@table
class NativeTensor:
    """An input or output: a tensor, or an integer if `is_number` is set.

    The elements of a tensor are in memory in the order of dimensions, without gaps.
    """

    scalar_type: ScalarType = ScalarType.FLOAT
    # A negative number is the complement of the place of a size in `NativeProgram.sizes`.
    sizes: list[Int32] = []
    dim_order: bytes = b""
    is_number: bool = False


@table
class NativeWord:
    """A number that the code is told, between bounds that it is compiled for: the size of a dimension of an input, or
    the input itself if that is a number.
    """

    input: UInt32 = 0
    dim: UInt32 = 0
    least: Int64 = 0
    most: Int64 = 0


@table
class NativeSize:
    """A size that is computed of the words, as instructions of a stack machine.

    An instruction is a pair: a function of `SizeFunction`, and what `NUMBER` and `WORD` push.
    """

    code: list[Int64] = []


@table
class NativeConstant:
    """Constant data, packed as the code reads it: named data of the program."""

    key: str = ""
    nbytes: UInt64 = 0


@table
class NativeKernel:
    """A call of a kernel: its name by what it computes, and the identifier that the debug map has for that.

    Kernels of several names may be one function of the object.
    """

    name: str = ""
    identifier: UInt32 = 0


@table
class NativeValue:
    """A result of a kernel that is kept in memory of its own, for tracers, until the next call."""

    # As in `NativeKernel`.
    identifier: UInt32 = 0
    tensor: NativeTensor | None = None
    # Of the largest sizes.
    nbytes: UInt64 = 0


@table
class NativeWork:
    """The work of a kernel in a call, for profiles."""

    # As in `NativeKernel`.
    identifier: UInt32 = 0
    # Of inputs, weights too, and of results.
    bytes_read: UInt64 = 0
    bytes_written: UInt64 = 0
    # Two for each multiply-add; 0 where it is not known.
    flops: UInt64 = 0


@table
class NativeUpdate:
    """An output that is an input with other elements in some places, and may have its memory; no other input may."""

    output: UInt32 = 0
    input: UInt32 = 0


@table
class NativeMessage:
    """The meaning of the report of an invalid argument of a call: the operator, and what is wrong."""

    text: str = ""


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
    words: list[NativeWord] = []
    sizes: list[NativeSize] = []
    # Bytes of each.
    derived: list[UInt64] = []
    # A program that computes the same with kernels, for machines that cannot or may not run the code; else empty.
    fallback: Annotated[bytes, Aligned(32)] = b""
    # Of invalid arguments of a call, by the number that the code reports.
    messages: list[NativeMessage] = []
    # Results of kernels, in the order of the kernels. Empty unless the program is compiled for debugging.
    values: OmitEmpty[list[NativeValue]] = []
    # Of kernels with sizes that are known when the program is compiled.
    work: OmitEmpty[list[NativeWork]] = []
    updates: OmitEmpty[list[NativeUpdate]] = []


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


def native_writes(blob: memoryview, named: Mapping[str, memoryview]) -> BlobWrites:
    """The values that a delegate writes. Raises `InvalidFile(DelegateInvalidCompatibility)`."""
    program = read_native(blob)
    return BlobWrites(len(program.outputs), {one.output: one.input for one in program.updates})


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
            _check_tensor(tensor, len(program.sizes), f"{name}[{number}]")
    for number, value in enumerate(program.values):
        _check_value(value, len(program.sizes), f"values[{number}]")
    told = {word.input for word in program.words}
    for name, tensors in (("inputs", program.inputs), ("outputs", program.outputs)):
        for number, tensor in enumerate(tensors):
            if tensor.is_number and (name == "outputs" or number not in told):
                raise InvalidFile("a number that the code is not told", where=f"{name}[{number}].is_number")
    for number, word in enumerate(program.words):
        where = f"words[{number}]"
        source = program.inputs[word.input] if word.input < len(program.inputs) else None
        if source is None or not (source.is_number or word.dim < len(source.sizes)):
            raise InvalidFile(f"the size of dimension {word.dim} of input {word.input}", where=where)
        bounds = (-_MOST, _MOST) if source.is_number else (0, MAX_SIZE)
        if not bounds[0] <= word.least <= word.most <= bounds[1]:
            raise InvalidFile(f"sizes from {word.least} to {word.most}", where=where)
    _check_updates(program)
    for number, size in enumerate(program.sizes):
        _check_code(size.code, len(program.words), f"sizes[{number}].code")


def _check_tensor(tensor: NativeTensor, sizes: int, where: str) -> None:
    rank = len(tensor.sizes)
    if rank > MAX_RANK or any(~size >= sizes for size in tensor.sizes):
        raise InvalidFile(f"sizes {list(tensor.sizes)}", where=f"{where}.sizes")
    if sorted(tensor.dim_order) != list(range(rank)):
        raise InvalidFile(
            f"dim order {list(tensor.dim_order)} of {rank} dimensions", where=f"{where}.dim_order"
        )


def _check_updates(program: NativeProgram) -> None:
    """Each is of tensors of one type, and no output or input is in two."""
    for number, update in enumerate(program.updates):
        where = f"updates[{number}]"
        if update.output >= len(program.outputs) or update.input >= len(program.inputs):
            raise InvalidFile(f"output {update.output} for input {update.input}", where=where)
        output, source = program.outputs[update.output], program.inputs[update.input]
        if source.is_number or _facts(output) != _facts(source) or min(source.sizes, default=0) < 0:
            raise InvalidFile("an output of another type than the input that it updates", where=where)
    for values in ([one.output for one in program.updates], [one.input for one in program.updates]):
        if len(set(values)) < len(values):
            raise InvalidFile("an output or input is updated twice", where="updates")


def _check_value(value: NativeValue, sizes: int, where: str) -> None:
    """It is a tensor, which has room where its sizes are known."""
    tensor = value.tensor
    if tensor is None or tensor.is_number:
        raise InvalidFile("a value that is no tensor", where=f"{where}.tensor")
    _check_tensor(tensor, sizes, f"{where}.tensor")
    if min(tensor.sizes, default=0) >= 0:
        check_room(value, tensor.sizes, where)


def check_room(value: NativeValue, sizes: Sequence[int], where: str) -> None:
    """Raises `InvalidFile(DelegateInvalidCompatibility)` if a value of these sizes has more bytes than its memory."""
    assert value.tensor is not None
    needed = prod(sizes) * value.tensor.scalar_type.itemsize
    if needed > value.nbytes:
        raise InvalidFile(
            f"a value of sizes {list(sizes)} has {needed} bytes, its memory {value.nbytes}",
            code=Error.DelegateInvalidCompatibility,
            where=f"{where}.nbytes",
            hint="the file is damaged: compile the program again",
        )


def _check_code(code: Sequence[int], words: int, where: str) -> None:
    """Each instruction finds its operands, and one number is left."""
    depth = 0
    valid = 0 < len(code) <= MAX_SIZE_CODE and len(code) % 2 == 0
    for function, operand in zip(code[::2], code[1::2], strict=False):
        if function == SizeFunction.NUMBER or (function == SizeFunction.WORD and 0 <= operand < words):
            depth += 1
        elif SizeFunction.ADD <= function <= SizeFunction.MIN and depth >= 2:
            depth -= 1
        else:
            valid = False
    if not valid or depth != 1:
        raise InvalidFile("instructions that compute no size", where=where)


def evaluate_size(size: NativeSize, words: Sequence[int]) -> int:
    """The size for numbers in the place of the words.

    Raises ExecutorchError(InvalidArgument) where it is no size: negative, larger than `MAX_SIZE`, or divided by zero.
    """
    stack: list[int] = []
    for function, operand in zip(size.code[::2], size.code[1::2], strict=True):
        if function == SizeFunction.NUMBER:
            stack.append(operand)
            continue
        if function == SizeFunction.WORD:
            stack.append(words[operand])
            continue
        b, a = stack.pop(), stack.pop()
        if function in (SizeFunction.FLOORDIV, SizeFunction.MOD) and b <= 0:
            raise ExecutorchError(Error.InvalidArgument, f"a size is divided by {b}")
        found = _applied(SizeFunction(function), a, b)
        if abs(found) > _MOST:
            raise ExecutorchError(Error.InvalidArgument, "a size is out of range")
        stack.append(found)
    (found,) = stack
    if not 0 <= found <= MAX_SIZE:
        raise ExecutorchError(Error.InvalidArgument, f"a size of {found}")
    return found


_MOST: Final = 2**62


def _applied(function: SizeFunction, a: int, b: int) -> int:
    match function:
        case SizeFunction.ADD:
            return a + b
        case SizeFunction.MUL:
            return a * b
        case SizeFunction.FLOORDIV:
            return a // b
        case SizeFunction.MOD:
            return a % b
        case SizeFunction.MAX:
            return max(a, b)
        case _:
            return min(a, b)


def interface_symbol(program: NativeProgram) -> str:
    """The name of a function that code for these tables defines, and other code does not.

    It stands for what the code is compiled for: sizes and their bounds, constants, values that are kept, the arena that
    is planned, and inputs that are updated in place.
    """
    facts = [[_facts(one) for one in tensors] for tensors in (program.inputs, program.outputs)]
    words = [(one.input, one.dim, one.least, one.most) for one in program.words]
    sizes = [list(map(int, one.code)) for one in program.sizes]
    constants = [one.nbytes for one in program.constants]
    derived = list(map(int, program.derived))
    told = (facts, words, sizes, constants, derived, program.arena_size, program.arena_alignment)
    values = [(one.identifier, one.tensor and _facts(one.tensor), one.nbytes) for one in program.values]
    updates = [(one.output, one.input) for one in program.updates]
    facts_of_memory = (*told, values) if values else told
    text = repr((*facts_of_memory, "updates", updates) if updates else facts_of_memory)
    return f"native_interface_{sha256(text.encode()).hexdigest()[:16]}"


def _facts(tensor: NativeTensor) -> tuple[object, ...]:
    return tensor.scalar_type.value, list(tensor.sizes), bytes(tensor.dim_order), tensor.is_number
