"""ETDump files: what a runtime has recorded of executions, times in ticks and values in a debug buffer beside it.

Names, types and defaults are the wire format and agree with what ExecuTorch writes: a FlatBuffer behind its size as
u32, which a reader may find missing.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from et_schema.reader import Reader, Source
from et_schema.scalar_type import ScalarType
from et_schema.tables import Float32, Float64, Int32, Int64, UInt32, UInt64, table

__all__ = [
    "DATA_ALIGNMENT",
    "AllocationEvent",
    "Allocator",
    "DebugEvent",
    "ETDump",
    "Event",
    "ProfileEvent",
    "RunData",
    "ValueType",
    "read_etdump",
    "serialize_etdump",
]

FILE_IDENTIFIER: Final = b"ED00"
DATA_ALIGNMENT: Final = 64
"""Of tensors in the debug buffer."""


class ValueType(IntEnum):
    """The kind of a `Value`: which of its fields is set."""

    NULL = 0
    INT = 1
    BOOL = 2
    FLOAT = 3
    DOUBLE = 4
    TENSOR = 5
    TENSOR_LIST = 6
    STRING = 7


@table
class Tensor:
    scalar_type: ScalarType = ScalarType.BYTE
    sizes: list[Int64] = []
    strides: list[Int64] = []
    # Of the elements in the debug buffer.
    offset: Int64 = 0


@table
class TensorList:
    tensors: list[Tensor] = []


@table
class Int:
    int_val: Int64 = 0


@table
class Float:
    float_val: Float32 = 0.0


@table
class Double:
    double_val: Float64 = 0.0


@table
class Bool:
    bool_val: bool = False


@table
class Value:
    val: ValueType = ValueType.NULL
    tensor: Tensor | None = None
    tensor_list: TensorList | None = None
    int_value: Int | None = None
    float_value: Float | None = None
    double_value: Double | None = None
    bool_value: Bool | None = None
    # True for an output of the program.
    output: Bool | None = None


@table
class DebugEvent:
    chain_index: UInt64 = 0
    instruction_id: Int32 = -1
    debug_entry: Value | None = None
    delegate_debug_id_int: Int32 = -1
    delegate_debug_id_str: str | None = None
    name: str | None = None


@table
class AllocationEvent:
    allocator_id: Int32 = 0
    allocation_size: UInt64 = 0


@table
class ProfileEvent:
    name: str | None = None
    chain_index: Int32 = 0
    instruction_id: Int32 = -1
    delegate_debug_id_int: Int32 = -1
    delegate_debug_id_str: str | None = None
    delegate_debug_metadata: bytes | None = None
    start_time: UInt64 = 0
    end_time: UInt64 = 0


@table
class Event:
    # One of these.
    profile_event: ProfileEvent | None = None
    allocation_event: AllocationEvent | None = None
    debug_event: DebugEvent | None = None


@table
class Allocator:
    name: str = ""


@table
class RunData:
    """A block: what was recorded between two calls of the runtime."""

    name: str = ""
    bundled_input_index: Int32 = -1
    allocators: list[Allocator] = []
    events: list[Event] = []


@table
class ETDump:
    version: UInt32 = 0
    run_data: list[RunData] = []


def read_etdump(buffer: Source) -> ETDump:
    """Decode a file. Raises InvalidFile with the place of what is damaged."""
    data = memoryview(buffer).cast("B").toreadonly()
    is_prefixed = bytes(data[4:8]) != FILE_IDENTIFIER and bytes(data[8:12]) == FILE_IDENTIFIER
    return Reader(data).root(ETDump, FILE_IDENTIFIER, start=4 if is_prefixed else 0)


def serialize_etdump(dump: ETDump) -> bytes:
    """The bytes of a file, with the size in front, as ExecuTorch's tools expect it."""
    from et_schema.writer import encode

    return bytes(encode(dump, FILE_IDENTIFIER, size_prefixed=True))
