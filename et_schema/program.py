"""The program in a ``.pte`` file.

Generated from program.fbs by `python -m et_schema.generate`; do not edit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from math import copysign
from typing import Any, TypeAlias

from et_schema.errors import InvalidFile
from et_schema.flatbuffer import Bytes, Reader, Slot, TableType, Writer
from et_schema.scalar_type import ScalarType

__all__ = [
    "FILE_IDENTIFIER",
    "AllocationDetails",
    "BackendDelegate",
    "BackendDelegateDataReference",
    "BackendDelegateInlineData",
    "Bool",
    "BoolList",
    "Buffer",
    "Chain",
    "CompileSpec",
    "ContainerMetadata",
    "DataLocation",
    "DataSegment",
    "DelegateCall",
    "DeviceType",
    "Double",
    "DoubleList",
    "EValue",
    "ExecutionPlan",
    "ExtraTensorInfo",
    "Frame",
    "FrameList",
    "FreeCall",
    "Instruction",
    "InstructionArguments",
    "Int",
    "IntList",
    "JumpFalseCall",
    "KernelCall",
    "KernelTypes",
    "MoveCall",
    "NamedData",
    "NonConstBufferDevice",
    "Null",
    "Operator",
    "OptionalTensorList",
    "Program",
    "String",
    "SubsegmentOffsets",
    "Tensor",
    "TensorDataLocation",
    "TensorList",
    "TensorShapeDynamism",
    "read",
    "write",
]

FILE_IDENTIFIER = b"ET12"


class TensorShapeDynamism(IntEnum):
    STATIC = 0
    DYNAMIC_BOUND = 1
    DYNAMIC_UNBOUND = 2


class TensorDataLocation(IntEnum):
    SEGMENT = 0
    EXTERNAL = 1


class DeviceType(IntEnum):
    CPU = 0
    CUDA = 1


class DataLocation(IntEnum):
    INLINE = 0
    SEGMENT = 1


@dataclass(slots=True)
class ContainerMetadata:
    """How nested inputs and outputs flatten: torch pytree specs as JSON."""

    encoded_inp_str: str = ""
    encoded_out_str: str = ""


@dataclass(slots=True)
class Null:
    """The value None."""


@dataclass(slots=True)
class AllocationDetails:
    """Place of a tensor in a planned arena."""

    memory_id: int = 0
    memory_offset_low: int = 0
    memory_offset_high: int = 0


@dataclass(slots=True)
class ExtraTensorInfo:
    """What few tensors need."""

    mutable_data_segments_idx: int = 0
    fully_qualified_name: str = ""
    location: TensorDataLocation = TensorDataLocation.SEGMENT
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass(slots=True)
class Tensor:
    """A tensor register. Which of data_buffer_idx and allocation_info are set says where its bytes come from:

    data_buffer_idx   allocation_info   bytes
    0                 absent            none until set: an input, or the target of a move
    0                 present           the arena
    > 0               absent            a constant, read where it lies in the file
    > 0               present           the arena, initialised from the file: a mutable buffer
    """

    scalar_type: ScalarType = ScalarType.BYTE
    storage_offset: int = 0
    sizes: list[int] = field(default_factory=list[int])
    dim_order: bytes = b""
    requires_grad: bool = False
    data_buffer_idx: int = 0
    allocation_info: AllocationDetails | None = None
    layout: int = 0
    shape_dynamism: TensorShapeDynamism = TensorShapeDynamism.STATIC
    extra_tensor_info: ExtraTensorInfo | None = None


@dataclass(slots=True)
class Int:
    int_val: int = 0


@dataclass(slots=True)
class Bool:
    bool_val: bool = False


@dataclass(slots=True)
class Double:
    double_val: float = 0.0


@dataclass(slots=True)
class String:
    string_val: str = ""


@dataclass(slots=True)
class IntList:
    """Each item is the index of an Int value, so that sizes computed at run time can be list items."""

    items: list[int] = field(default_factory=list[int])


@dataclass(slots=True)
class DoubleList:
    """Items inline."""

    items: list[float] = field(default_factory=list[float])


@dataclass(slots=True)
class BoolList:
    """Items inline."""

    items: list[bool] = field(default_factory=list[bool])


@dataclass(slots=True)
class TensorList:
    """Each item is the index of a Tensor value."""

    items: list[int] = field(default_factory=list[int])


@dataclass(slots=True)
class OptionalTensorList:
    """Each item is -1, or the index of a Tensor or Null value."""

    items: list[int] = field(default_factory=list[int])


@dataclass(slots=True)
class EValue:
    """One register of a plan with its initial value."""

    val: KernelTypes | None = None


@dataclass(slots=True)
class Operator:
    """For example "aten::add" and "out"; the overload is empty for an operator's default."""

    name: str = ""
    overload: str = ""


@dataclass(slots=True)
class KernelCall:
    """args: the schema's arguments with the out ones, then the returns once more."""

    op_index: int = 0
    args: list[int] = field(default_factory=list[int])


@dataclass(slots=True)
class DelegateCall:
    delegate_index: int = 0
    args: list[int] = field(default_factory=list[int])


@dataclass(slots=True)
class MoveCall:
    move_from: int = 0
    move_to: int = 0


@dataclass(slots=True)
class JumpFalseCall:
    """Continues at destination_instruction when the condition, a Bool or a Bool tensor, is not (all) true."""

    cond_value_index: int = 0
    destination_instruction: int = 0


@dataclass(slots=True)
class FreeCall:
    value_index: int = 0


@dataclass(slots=True)
class Instruction:
    instr_args: InstructionArguments | None = None


@dataclass(slots=True)
class Frame:
    """One level of the Python stack that an instruction comes from."""

    filename: str = ""
    lineno: int = 0
    name: str = ""
    context: str = ""


@dataclass(slots=True)
class FrameList:
    items: list[Frame] = field(default_factory=list["Frame"])


@dataclass(slots=True)
class BackendDelegateDataReference:
    location: DataLocation = DataLocation.INLINE
    index: int = 0


@dataclass(slots=True)
class CompileSpec:
    key: str = ""
    value: bytes = b""


@dataclass(slots=True)
class BackendDelegate:
    """A subgraph compiled for a backend."""

    id: str = ""
    processed: BackendDelegateDataReference | None = None
    compile_specs: list[CompileSpec] = field(default_factory=list["CompileSpec"])


@dataclass(slots=True)
class Chain:
    """Instructions in order. Writers make one chain per plan."""

    inputs: list[int] = field(default_factory=list[int])
    outputs: list[int] = field(default_factory=list[int])
    instructions: list[Instruction] = field(default_factory=list["Instruction"])
    stacktrace: list[FrameList] = field(default_factory=list["FrameList"])


@dataclass(slots=True)
class ExecutionPlan:
    """A method."""

    name: str = ""
    container_meta_type: ContainerMetadata | None = None
    values: list[EValue] = field(default_factory=list["EValue"])
    inputs: list[int] = field(default_factory=list[int])
    outputs: list[int] = field(default_factory=list[int])
    chains: list[Chain] = field(default_factory=list["Chain"])
    operators: list[Operator] = field(default_factory=list["Operator"])
    delegates: list[BackendDelegate] = field(default_factory=list["BackendDelegate"])
    non_const_buffer_sizes: list[int] = field(default_factory=list[int])
    non_const_buffer_device: list[NonConstBufferDevice] = field(default_factory=list["NonConstBufferDevice"])


@dataclass(slots=True)
class NonConstBufferDevice:
    """Device of one arena; arenas without an entry are the CPU's."""

    buffer_idx: int = 0
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass(slots=True)
class Buffer:
    """A constant inside the flatbuffer: only old files have them."""

    storage: Bytes = b""


@dataclass(slots=True)
class BackendDelegateInlineData:
    data: Bytes = b""


@dataclass(slots=True)
class DataSegment:
    """Bytes after the flatbuffer; offset counts from the extended header's segment base."""

    offset: int = 0
    size: int = 0


@dataclass(slots=True)
class SubsegmentOffsets:
    """Where each constant starts in a segment. Entry 0 is reserved."""

    segment_index: int = 0
    offsets: list[int] = field(default_factory=list[int])


@dataclass(slots=True)
class NamedData:
    """A segment that backends and tensors find by name."""

    key: str = ""
    segment_index: int = 0


@dataclass(slots=True)
class Program:
    version: int = 0
    execution_plan: list[ExecutionPlan] = field(default_factory=list["ExecutionPlan"])
    constant_buffer: list[Buffer] = field(default_factory=list["Buffer"])
    backend_delegate_data: list[BackendDelegateInlineData] = field(
        default_factory=list["BackendDelegateInlineData"]
    )
    segments: list[DataSegment] = field(default_factory=list["DataSegment"])
    constant_segment: SubsegmentOffsets | None = None
    mutable_data_segments: list[SubsegmentOffsets] = field(default_factory=list["SubsegmentOffsets"])
    named_data: list[NamedData] = field(default_factory=list["NamedData"])


KernelTypes: TypeAlias = (
    Null
    | Int
    | Bool
    | Double
    | Tensor
    | String
    | IntList
    | DoubleList
    | BoolList
    | TensorList
    | OptionalTensorList
)
InstructionArguments: TypeAlias = KernelCall | DelegateCall | MoveCall | JumpFalseCall | FreeCall

_SCALAR_TYPE = {int(member): member for member in ScalarType}
_TENSOR_SHAPE_DYNAMISM = {int(member): member for member in TensorShapeDynamism}
_TENSOR_DATA_LOCATION = {int(member): member for member in TensorDataLocation}
_DEVICE_TYPE = {int(member): member for member in DeviceType}
_DATA_LOCATION = {int(member): member for member in DataLocation}
_CONTAINER_METADATA = TableType(
    "ContainerMetadata",
    0,
    [
        Slot("encoded_inp_str", "", 4),
        Slot("encoded_out_str", "", 4),
    ],
)
_NULL = TableType("Null", 1, [])
_INT = TableType("Int", 2, [Slot("int_val", "q", 8)])
_BOOL = TableType("Bool", 3, [Slot("bool_val", "?", 1)])
_DOUBLE = TableType("Double", 4, [Slot("double_val", "d", 8)])
_ALLOCATION_DETAILS = TableType(
    "AllocationDetails",
    5,
    [
        Slot("memory_id", "I", 4),
        Slot("memory_offset_low", "I", 4),
        Slot("memory_offset_high", "I", 4),
    ],
)
_EXTRA_TENSOR_INFO = TableType(
    "ExtraTensorInfo",
    6,
    [
        Slot("mutable_data_segments_idx", "Q", 8),
        Slot("fully_qualified_name", "", 4),
        Slot("location", "b", 1),
        Slot("device_type", "b", 1),
        Slot("device_index", "b", 1),
    ],
)
_TENSOR = TableType(
    "Tensor",
    7,
    [
        Slot("scalar_type", "b", 1),
        Slot("storage_offset", "i", 4),
        Slot("sizes", "", 4),
        Slot("dim_order", "", 4),
        Slot("requires_grad", "?", 1),
        Slot("data_buffer_idx", "I", 4),
        Slot("allocation_info", "", 4),
        Slot("layout", "b", 1),
        Slot("shape_dynamism", "b", 1),
        Slot("extra_tensor_info", "", 4),
    ],
)
_STRING = TableType("String", 8, [Slot("string_val", "", 4)])
_INT_LIST = TableType("IntList", 9, [Slot("items", "", 4)])
_DOUBLE_LIST = TableType("DoubleList", 10, [Slot("items", "", 4)])
_BOOL_LIST = TableType("BoolList", 11, [Slot("items", "", 4)])
_TENSOR_LIST = TableType("TensorList", 12, [Slot("items", "", 4)])
_OPTIONAL_TENSOR_LIST = TableType("OptionalTensorList", 13, [Slot("items", "", 4)])
_EVALUE = TableType("EValue", 14, [Slot("val_type", "B", 1), Slot("val", "", 4)])
_KERNEL_CALL = TableType("KernelCall", 15, [Slot("op_index", "i", 4), Slot("args", "", 4)])
_DELEGATE_CALL = TableType("DelegateCall", 16, [Slot("delegate_index", "i", 4), Slot("args", "", 4)])
_MOVE_CALL = TableType("MoveCall", 17, [Slot("move_from", "i", 4), Slot("move_to", "i", 4)])
_JUMP_FALSE_CALL = TableType(
    "JumpFalseCall",
    18,
    [
        Slot("cond_value_index", "i", 4),
        Slot("destination_instruction", "i", 4),
    ],
)
_FREE_CALL = TableType("FreeCall", 19, [Slot("value_index", "i", 4)])
_INSTRUCTION = TableType("Instruction", 20, [Slot("instr_args_type", "B", 1), Slot("instr_args", "", 4)])
_FRAME = TableType(
    "Frame",
    21,
    [
        Slot("filename", "", 4),
        Slot("lineno", "i", 4),
        Slot("name", "", 4),
        Slot("context", "", 4),
    ],
)
_FRAME_LIST = TableType("FrameList", 22, [Slot("items", "", 4)])
_CHAIN = TableType(
    "Chain",
    23,
    [
        Slot("inputs", "", 4),
        Slot("outputs", "", 4),
        Slot("instructions", "", 4),
        Slot("stacktrace", "", 4),
    ],
)
_OPERATOR = TableType("Operator", 24, [Slot("name", "", 4), Slot("overload", "", 4)])
_BACKEND_DELEGATE_DATA_REFERENCE = TableType(
    "BackendDelegateDataReference",
    25,
    [
        Slot("location", "b", 1),
        Slot("index", "I", 4),
    ],
)
_COMPILE_SPEC = TableType("CompileSpec", 26, [Slot("key", "", 4), Slot("value", "", 4)])
_BACKEND_DELEGATE = TableType(
    "BackendDelegate",
    27,
    [
        Slot("id", "", 4),
        Slot("processed", "", 4),
        Slot("compile_specs", "", 4),
    ],
)
_NON_CONST_BUFFER_DEVICE = TableType(
    "NonConstBufferDevice",
    28,
    [
        Slot("buffer_idx", "i", 4),
        Slot("device_type", "b", 1),
        Slot("device_index", "b", 1),
    ],
)
_EXECUTION_PLAN = TableType(
    "ExecutionPlan",
    29,
    [
        Slot("name", "", 4),
        Slot("container_meta_type", "", 4),
        Slot("values", "", 4),
        Slot("inputs", "", 4),
        Slot("outputs", "", 4),
        Slot("chains", "", 4),
        Slot("operators", "", 4),
        Slot("delegates", "", 4),
        Slot("non_const_buffer_sizes", "", 4),
        Slot("non_const_buffer_device", "", 4),
    ],
)
_BUFFER = TableType("Buffer", 30, [Slot("storage", "", 4)])
_BACKEND_DELEGATE_INLINE_DATA = TableType("BackendDelegateInlineData", 31, [Slot("data", "", 4)])
_DATA_SEGMENT = TableType("DataSegment", 32, [Slot("offset", "Q", 8), Slot("size", "Q", 8)])
_SUBSEGMENT_OFFSETS = TableType(
    "SubsegmentOffsets",
    33,
    [
        Slot("segment_index", "I", 4),
        Slot("offsets", "", 4),
    ],
)
_NAMED_DATA = TableType("NamedData", 34, [Slot("key", "", 4), Slot("segment_index", "I", 4)])
_PROGRAM = TableType(
    "Program",
    35,
    [
        Slot("version", "I", 4),
        Slot("execution_plan", "", 4),
        Slot("constant_buffer", "", 4),
        Slot("backend_delegate_data", "", 4),
        Slot("segments", "", 4),
        Slot("constant_segment", "", 4),
        Slot("mutable_data_segments", "", 4),
        Slot("named_data", "", 4),
    ],
)


def _read_container_metadata(r: Reader, at: int) -> ContainerMetadata:
    f0, f1 = r.table(at, _CONTAINER_METADATA)
    encoded_inp_str = r.string(at + f0, "encoded_inp_str") if f0 else ""
    encoded_out_str = r.string(at + f1, "encoded_out_str") if f1 else ""
    value = ContainerMetadata(encoded_inp_str, encoded_out_str)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_null(r: Reader, at: int) -> Null:
    r.table(at, _NULL)
    value = Null()
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_int(r: Reader, at: int) -> Int:
    (f0,) = r.table(at, _INT)
    int_val = r.i64[(at + f0) >> 3] if f0 else 0
    value = Int(int_val)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_bool(r: Reader, at: int) -> Bool:
    (f0,) = r.table(at, _BOOL)
    bool_val = r.boolean(at + f0, "bool_val") if f0 else False
    value = Bool(bool_val)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_double(r: Reader, at: int) -> Double:
    (f0,) = r.table(at, _DOUBLE)
    double_val = r.f64[(at + f0) >> 3] if f0 else 0.0
    value = Double(double_val)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_allocation_details(r: Reader, at: int) -> AllocationDetails:
    f0, f1, f2 = r.table(at, _ALLOCATION_DETAILS)
    memory_id = r.u32[(at + f0) >> 2] if f0 else 0
    memory_offset_low = r.u32[(at + f1) >> 2] if f1 else 0
    memory_offset_high = r.u32[(at + f2) >> 2] if f2 else 0
    value = AllocationDetails(memory_id, memory_offset_low, memory_offset_high)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_extra_tensor_info(r: Reader, at: int) -> ExtraTensorInfo:
    f0, f1, f2, f3, f4 = r.table(at, _EXTRA_TENSOR_INFO)
    mutable_data_segments_idx = r.u64[(at + f0) >> 3] if f0 else 0
    fully_qualified_name = r.string(at + f1, "fully_qualified_name") if f1 else ""
    location = _TENSOR_DATA_LOCATION.get(r.i8[at + f2]) if f2 else TensorDataLocation.SEGMENT
    if location is None:
        raise r.unknown("TensorDataLocation", r.i8[at + f2], at + f2, "location")
    device_type = _DEVICE_TYPE.get(r.i8[at + f3]) if f3 else DeviceType.CPU
    if device_type is None:
        raise r.unknown("DeviceType", r.i8[at + f3], at + f3, "device_type")
    device_index = r.i8[at + f4] if f4 else 0
    value = ExtraTensorInfo(
        mutable_data_segments_idx,
        fully_qualified_name,
        location,
        device_type,
        device_index,
    )
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_tensor(r: Reader, at: int) -> Tensor:
    f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 = r.table(at, _TENSOR)
    scalar_type = _SCALAR_TYPE.get(r.i8[at + f0]) if f0 else ScalarType.BYTE
    if scalar_type is None:
        raise r.unknown("ScalarType", r.i8[at + f0], at + f0, "scalar_type")
    storage_offset = r.i32[(at + f1) >> 2] if f1 else 0
    sizes = r.i32_vector(at + f2, "sizes") if f2 else []
    dim_order = r.u8_vector(at + f3, "dim_order") if f3 else b""
    requires_grad = r.boolean(at + f4, "requires_grad") if f4 else False
    data_buffer_idx = r.u32[(at + f5) >> 2] if f5 else 0
    allocation_info = None
    if f6:
        try:
            allocation_info = _read_allocation_details(r, at + f6 + r.u32[(at + f6) >> 2])
        except InvalidFile as error:
            error.nest("allocation_info")
            raise
    layout = r.i8[at + f7] if f7 else 0
    shape_dynamism = _TENSOR_SHAPE_DYNAMISM.get(r.i8[at + f8]) if f8 else TensorShapeDynamism.STATIC
    if shape_dynamism is None:
        raise r.unknown("TensorShapeDynamism", r.i8[at + f8], at + f8, "shape_dynamism")
    extra_tensor_info = None
    if f9:
        try:
            extra_tensor_info = _read_extra_tensor_info(r, at + f9 + r.u32[(at + f9) >> 2])
        except InvalidFile as error:
            error.nest("extra_tensor_info")
            raise
    value = Tensor(
        scalar_type,
        storage_offset,
        sizes,
        dim_order,
        requires_grad,
        data_buffer_idx,
        allocation_info,
        layout,
        shape_dynamism,
        extra_tensor_info,
    )
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_string(r: Reader, at: int) -> String:
    (f0,) = r.table(at, _STRING)
    string_val = r.string(at + f0, "string_val") if f0 else ""
    value = String(string_val)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_int_list(r: Reader, at: int) -> IntList:
    (f0,) = r.table(at, _INT_LIST)
    items = r.i64_vector(at + f0, "items") if f0 else []
    value = IntList(items)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_double_list(r: Reader, at: int) -> DoubleList:
    (f0,) = r.table(at, _DOUBLE_LIST)
    items = r.f64_vector(at + f0, "items") if f0 else []
    value = DoubleList(items)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_bool_list(r: Reader, at: int) -> BoolList:
    (f0,) = r.table(at, _BOOL_LIST)
    items = r.bool_vector(at + f0, "items") if f0 else []
    value = BoolList(items)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_tensor_list(r: Reader, at: int) -> TensorList:
    (f0,) = r.table(at, _TENSOR_LIST)
    items = r.i32_vector(at + f0, "items") if f0 else []
    value = TensorList(items)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_optional_tensor_list(r: Reader, at: int) -> OptionalTensorList:
    (f0,) = r.table(at, _OPTIONAL_TENSOR_LIST)
    items = r.i32_vector(at + f0, "items") if f0 else []
    value = OptionalTensorList(items)
    if r.offsets is not None:
        r.place(value, at)
    return value


_KERNEL_TYPES_READERS: dict[int, Callable[[Reader, int], KernelTypes]] = {
    1: _read_null,
    2: _read_int,
    3: _read_bool,
    4: _read_double,
    5: _read_tensor,
    6: _read_string,
    7: _read_int_list,
    8: _read_double_list,
    9: _read_bool_list,
    10: _read_tensor_list,
    11: _read_optional_tensor_list,
}


def _read_evalue(r: Reader, at: int) -> EValue:
    f0, f1 = r.table(at, _EVALUE)
    val_type = r.u8[at + f0] if f0 else 0
    val = None
    if val_type:
        reader = _KERNEL_TYPES_READERS.get(val_type)
        if reader is None:
            raise r.unknown("KernelTypes", val_type, at + f0, "val")
        if not f1:
            raise r.fault("union has a type but no value", at, "val")
        try:
            val = reader(r, at + f1 + r.u32[(at + f1) >> 2])
        except InvalidFile as error:
            error.nest("val")
            raise
    value = EValue(val)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_kernel_call(r: Reader, at: int) -> KernelCall:
    f0, f1 = r.table(at, _KERNEL_CALL)
    op_index = r.i32[(at + f0) >> 2] if f0 else 0
    args = r.i32_vector(at + f1, "args") if f1 else []
    value = KernelCall(op_index, args)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_delegate_call(r: Reader, at: int) -> DelegateCall:
    f0, f1 = r.table(at, _DELEGATE_CALL)
    delegate_index = r.i32[(at + f0) >> 2] if f0 else 0
    args = r.i32_vector(at + f1, "args") if f1 else []
    value = DelegateCall(delegate_index, args)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_move_call(r: Reader, at: int) -> MoveCall:
    f0, f1 = r.table(at, _MOVE_CALL)
    move_from = r.i32[(at + f0) >> 2] if f0 else 0
    move_to = r.i32[(at + f1) >> 2] if f1 else 0
    value = MoveCall(move_from, move_to)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_jump_false_call(r: Reader, at: int) -> JumpFalseCall:
    f0, f1 = r.table(at, _JUMP_FALSE_CALL)
    cond_value_index = r.i32[(at + f0) >> 2] if f0 else 0
    destination_instruction = r.i32[(at + f1) >> 2] if f1 else 0
    value = JumpFalseCall(cond_value_index, destination_instruction)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_free_call(r: Reader, at: int) -> FreeCall:
    (f0,) = r.table(at, _FREE_CALL)
    value_index = r.i32[(at + f0) >> 2] if f0 else 0
    value = FreeCall(value_index)
    if r.offsets is not None:
        r.place(value, at)
    return value


_INSTRUCTION_ARGUMENTS_READERS: dict[int, Callable[[Reader, int], InstructionArguments]] = {
    1: _read_kernel_call,
    2: _read_delegate_call,
    3: _read_move_call,
    4: _read_jump_false_call,
    5: _read_free_call,
}


def _read_instruction(r: Reader, at: int) -> Instruction:
    f0, f1 = r.table(at, _INSTRUCTION)
    instr_args_type = r.u8[at + f0] if f0 else 0
    instr_args = None
    if instr_args_type:
        reader = _INSTRUCTION_ARGUMENTS_READERS.get(instr_args_type)
        if reader is None:
            raise r.unknown("InstructionArguments", instr_args_type, at + f0, "instr_args")
        if not f1:
            raise r.fault("union has a type but no value", at, "instr_args")
        try:
            instr_args = reader(r, at + f1 + r.u32[(at + f1) >> 2])
        except InvalidFile as error:
            error.nest("instr_args")
            raise
    value = Instruction(instr_args)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_frame(r: Reader, at: int) -> Frame:
    f0, f1, f2, f3 = r.table(at, _FRAME)
    filename = r.string(at + f0, "filename") if f0 else ""
    lineno = r.i32[(at + f1) >> 2] if f1 else 0
    name = r.string(at + f2, "name") if f2 else ""
    context = r.string(at + f3, "context") if f3 else ""
    value = Frame(filename, lineno, name, context)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_frame_list(r: Reader, at: int) -> FrameList:
    (f0,) = r.table(at, _FRAME_LIST)
    items: list[Frame] = []
    if f0:
        first, count = r.table_vector(at + f0, "items")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                items.append(_read_frame(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"items[{len(items)}]"
                items.append(r.substitute(Frame(), item, path, error))
    value = FrameList(items)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_chain(r: Reader, at: int) -> Chain:
    f0, f1, f2, f3 = r.table(at, _CHAIN)
    inputs = r.i32_vector(at + f0, "inputs") if f0 else []
    outputs = r.i32_vector(at + f1, "outputs") if f1 else []
    instructions: list[Instruction] = []
    if f2:
        first, count = r.table_vector(at + f2, "instructions")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                instructions.append(_read_instruction(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"instructions[{len(instructions)}]"
                instructions.append(r.substitute(Instruction(), item, path, error))
    stacktrace: list[FrameList] = []
    if f3:
        first, count = r.table_vector(at + f3, "stacktrace")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            known = len(r.lost)
            try:
                stacktrace.append(_read_frame_list(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"stacktrace[{len(stacktrace)}]"
                stacktrace.append(r.substitute(FrameList(), item, path, error, known))
            else:
                if len(r.lost) > known:
                    r.within(f"stacktrace[{len(stacktrace) - 1}]", known)
    value = Chain(inputs, outputs, instructions, stacktrace)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_operator(r: Reader, at: int) -> Operator:
    f0, f1 = r.table(at, _OPERATOR)
    name = r.string(at + f0, "name") if f0 else ""
    overload = r.string(at + f1, "overload") if f1 else ""
    value = Operator(name, overload)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_backend_delegate_data_reference(r: Reader, at: int) -> BackendDelegateDataReference:
    f0, f1 = r.table(at, _BACKEND_DELEGATE_DATA_REFERENCE)
    location = _DATA_LOCATION.get(r.i8[at + f0]) if f0 else DataLocation.INLINE
    if location is None:
        raise r.unknown("DataLocation", r.i8[at + f0], at + f0, "location")
    index = r.u32[(at + f1) >> 2] if f1 else 0
    value = BackendDelegateDataReference(location, index)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_compile_spec(r: Reader, at: int) -> CompileSpec:
    f0, f1 = r.table(at, _COMPILE_SPEC)
    key = r.string(at + f0, "key") if f0 else ""
    value = r.u8_vector(at + f1, "value") if f1 else b""
    value = CompileSpec(key, value)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_backend_delegate(r: Reader, at: int) -> BackendDelegate:
    f0, f1, f2 = r.table(at, _BACKEND_DELEGATE)
    id = r.string(at + f0, "id") if f0 else ""
    processed = None
    if f1:
        try:
            processed = _read_backend_delegate_data_reference(r, at + f1 + r.u32[(at + f1) >> 2])
        except InvalidFile as error:
            error.nest("processed")
            raise
    compile_specs: list[CompileSpec] = []
    if f2:
        first, count = r.table_vector(at + f2, "compile_specs")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                compile_specs.append(_read_compile_spec(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"compile_specs[{len(compile_specs)}]"
                compile_specs.append(r.substitute(CompileSpec(), item, path, error))
    value = BackendDelegate(id, processed, compile_specs)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_non_const_buffer_device(r: Reader, at: int) -> NonConstBufferDevice:
    f0, f1, f2 = r.table(at, _NON_CONST_BUFFER_DEVICE)
    buffer_idx = r.i32[(at + f0) >> 2] if f0 else 0
    device_type = _DEVICE_TYPE.get(r.i8[at + f1]) if f1 else DeviceType.CPU
    if device_type is None:
        raise r.unknown("DeviceType", r.i8[at + f1], at + f1, "device_type")
    device_index = r.i8[at + f2] if f2 else 0
    value = NonConstBufferDevice(buffer_idx, device_type, device_index)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_execution_plan(r: Reader, at: int) -> ExecutionPlan:
    f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 = r.table(at, _EXECUTION_PLAN)
    name = r.string(at + f0, "name") if f0 else ""
    container_meta_type = None
    if f1:
        try:
            container_meta_type = _read_container_metadata(r, at + f1 + r.u32[(at + f1) >> 2])
        except InvalidFile as error:
            error.nest("container_meta_type")
            raise
    values: list[EValue] = []
    if f2:
        first, count = r.table_vector(at + f2, "values")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                values.append(_read_evalue(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"values[{len(values)}]"
                values.append(r.substitute(EValue(), item, path, error))
    inputs = r.i32_vector(at + f3, "inputs") if f3 else []
    outputs = r.i32_vector(at + f4, "outputs") if f4 else []
    chains: list[Chain] = []
    if f5:
        first, count = r.table_vector(at + f5, "chains")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            known = len(r.lost)
            try:
                chains.append(_read_chain(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"chains[{len(chains)}]"
                chains.append(r.substitute(Chain(), item, path, error, known))
            else:
                if len(r.lost) > known:
                    r.within(f"chains[{len(chains) - 1}]", known)
    operators: list[Operator] = []
    if f6:
        first, count = r.table_vector(at + f6, "operators")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                operators.append(_read_operator(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"operators[{len(operators)}]"
                operators.append(r.substitute(Operator(), item, path, error))
    delegates: list[BackendDelegate] = []
    if f7:
        first, count = r.table_vector(at + f7, "delegates")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            known = len(r.lost)
            try:
                delegates.append(_read_backend_delegate(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"delegates[{len(delegates)}]"
                delegates.append(r.substitute(BackendDelegate(), item, path, error, known))
            else:
                if len(r.lost) > known:
                    r.within(f"delegates[{len(delegates) - 1}]", known)
    non_const_buffer_sizes = r.i64_vector(at + f8, "non_const_buffer_sizes") if f8 else []
    non_const_buffer_device: list[NonConstBufferDevice] = []
    if f9:
        first, count = r.table_vector(at + f9, "non_const_buffer_device")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                non_const_buffer_device.append(_read_non_const_buffer_device(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"non_const_buffer_device[{len(non_const_buffer_device)}]"
                non_const_buffer_device.append(r.substitute(NonConstBufferDevice(), item, path, error))
    value = ExecutionPlan(
        name,
        container_meta_type,
        values,
        inputs,
        outputs,
        chains,
        operators,
        delegates,
        non_const_buffer_sizes,
        non_const_buffer_device,
    )
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_buffer(r: Reader, at: int) -> Buffer:
    (f0,) = r.table(at, _BUFFER)
    storage = r.blob(at + f0, "storage") if f0 else b""
    value = Buffer(storage)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_backend_delegate_inline_data(r: Reader, at: int) -> BackendDelegateInlineData:
    (f0,) = r.table(at, _BACKEND_DELEGATE_INLINE_DATA)
    data = r.blob(at + f0, "data") if f0 else b""
    value = BackendDelegateInlineData(data)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_data_segment(r: Reader, at: int) -> DataSegment:
    f0, f1 = r.table(at, _DATA_SEGMENT)
    offset = r.u64[(at + f0) >> 3] if f0 else 0
    size = r.u64[(at + f1) >> 3] if f1 else 0
    value = DataSegment(offset, size)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_subsegment_offsets(r: Reader, at: int) -> SubsegmentOffsets:
    f0, f1 = r.table(at, _SUBSEGMENT_OFFSETS)
    segment_index = r.u32[(at + f0) >> 2] if f0 else 0
    offsets = r.u64_vector(at + f1, "offsets") if f1 else []
    value = SubsegmentOffsets(segment_index, offsets)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_named_data(r: Reader, at: int) -> NamedData:
    f0, f1 = r.table(at, _NAMED_DATA)
    key = r.string(at + f0, "key") if f0 else ""
    segment_index = r.u32[(at + f1) >> 2] if f1 else 0
    value = NamedData(key, segment_index)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_program(r: Reader, at: int) -> Program:
    f0, f1, f2, f3, f4, f5, f6, f7 = r.table(at, _PROGRAM)
    version = r.u32[(at + f0) >> 2] if f0 else 0
    execution_plan: list[ExecutionPlan] = []
    if f1:
        first, count = r.table_vector(at + f1, "execution_plan")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            known = len(r.lost)
            try:
                execution_plan.append(_read_execution_plan(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"execution_plan[{len(execution_plan)}]"
                execution_plan.append(r.substitute(ExecutionPlan(), item, path, error, known))
            else:
                if len(r.lost) > known:
                    r.within(f"execution_plan[{len(execution_plan) - 1}]", known)
    constant_buffer: list[Buffer] = []
    if f2:
        first, count = r.table_vector(at + f2, "constant_buffer")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                constant_buffer.append(_read_buffer(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"constant_buffer[{len(constant_buffer)}]"
                constant_buffer.append(r.substitute(Buffer(), item, path, error))
    backend_delegate_data: list[BackendDelegateInlineData] = []
    if f3:
        first, count = r.table_vector(at + f3, "backend_delegate_data")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                backend_delegate_data.append(_read_backend_delegate_inline_data(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"backend_delegate_data[{len(backend_delegate_data)}]"
                backend_delegate_data.append(r.substitute(BackendDelegateInlineData(), item, path, error))
    segments: list[DataSegment] = []
    if f4:
        first, count = r.table_vector(at + f4, "segments")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                segments.append(_read_data_segment(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"segments[{len(segments)}]"
                segments.append(r.substitute(DataSegment(), item, path, error))
    constant_segment = None
    if f5:
        try:
            constant_segment = _read_subsegment_offsets(r, at + f5 + r.u32[(at + f5) >> 2])
        except InvalidFile as error:
            error.nest("constant_segment")
            raise
    mutable_data_segments: list[SubsegmentOffsets] = []
    if f6:
        first, count = r.table_vector(at + f6, "mutable_data_segments")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                mutable_data_segments.append(_read_subsegment_offsets(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"mutable_data_segments[{len(mutable_data_segments)}]"
                mutable_data_segments.append(r.substitute(SubsegmentOffsets(), item, path, error))
    named_data: list[NamedData] = []
    if f7:
        first, count = r.table_vector(at + f7, "named_data")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                named_data.append(_read_named_data(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"named_data[{len(named_data)}]"
                named_data.append(r.substitute(NamedData(), item, path, error))
    value = Program(
        version,
        execution_plan,
        constant_buffer,
        backend_delegate_data,
        segments,
        constant_segment,
        mutable_data_segments,
        named_data,
    )
    if r.offsets is not None:
        r.place(value, at)
    return value


def _write_container_metadata(w: Writer, value: ContainerMetadata) -> int:
    present = 0x3
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.string(value.encoded_out_str))
    offsets.append(w.string(value.encoded_inp_str))
    return w.table(_CONTAINER_METADATA, present, offsets, scalars)


def _write_null(w: Writer, value: Null) -> int:
    return w.table(_NULL, 0, (), ())


def _write_int(w: Writer, value: Int) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.int_val:
        present |= 0x1
        scalars.append(value.int_val)
    return w.table(_INT, present, offsets, scalars)


def _write_bool(w: Writer, value: Bool) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.bool_val:
        present |= 0x1
        scalars.append(value.bool_val)
    return w.table(_BOOL, present, offsets, scalars)


def _write_double(w: Writer, value: Double) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.double_val or copysign(1.0, value.double_val) < 0:
        present |= 0x1
        scalars.append(value.double_val)
    return w.table(_DOUBLE, present, offsets, scalars)


def _write_allocation_details(w: Writer, value: AllocationDetails) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.memory_id:
        present |= 0x1
        scalars.append(value.memory_id)
    if value.memory_offset_low:
        present |= 0x2
        scalars.append(value.memory_offset_low)
    if value.memory_offset_high:
        present |= 0x4
        scalars.append(value.memory_offset_high)
    return w.table(_ALLOCATION_DETAILS, present, offsets, scalars)


def _write_extra_tensor_info(w: Writer, value: ExtraTensorInfo) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.fully_qualified_name:
        present |= 0x2
        offsets.append(w.string(value.fully_qualified_name))
    if value.mutable_data_segments_idx:
        present |= 0x1
        scalars.append(value.mutable_data_segments_idx)
    if value.location != TensorDataLocation.SEGMENT:
        present |= 0x4
        scalars.append(value.location)
    if value.device_type != DeviceType.CPU:
        present |= 0x8
        scalars.append(value.device_type)
    if value.device_index:
        present |= 0x10
        scalars.append(value.device_index)
    return w.table(_EXTRA_TENSOR_INFO, present, offsets, scalars)


def _write_tensor(w: Writer, value: Tensor) -> int:
    present = 0xC
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.extra_tensor_info is not None:
        present |= 0x200
        offsets.append(_write_extra_tensor_info(w, value.extra_tensor_info))
    if value.allocation_info is not None:
        present |= 0x40
        offsets.append(_write_allocation_details(w, value.allocation_info))
    offsets.append(w.u8_vector(value.dim_order))
    offsets.append(w.i32_vector(value.sizes))
    if value.storage_offset:
        present |= 0x2
        scalars.append(value.storage_offset)
    if value.data_buffer_idx:
        present |= 0x20
        scalars.append(value.data_buffer_idx)
    if value.scalar_type != ScalarType.BYTE:
        present |= 0x1
        scalars.append(value.scalar_type)
    if value.requires_grad:
        present |= 0x10
        scalars.append(value.requires_grad)
    if value.layout:
        present |= 0x80
        scalars.append(value.layout)
    if value.shape_dynamism != TensorShapeDynamism.STATIC:
        present |= 0x100
        scalars.append(value.shape_dynamism)
    return w.table(_TENSOR, present, offsets, scalars)


def _write_string(w: Writer, value: String) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.string(value.string_val))
    return w.table(_STRING, present, offsets, scalars)


def _write_int_list(w: Writer, value: IntList) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.i64_vector(value.items))
    return w.table(_INT_LIST, present, offsets, scalars)


def _write_double_list(w: Writer, value: DoubleList) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.f64_vector(value.items))
    return w.table(_DOUBLE_LIST, present, offsets, scalars)


def _write_bool_list(w: Writer, value: BoolList) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.bool_vector(value.items))
    return w.table(_BOOL_LIST, present, offsets, scalars)


def _write_tensor_list(w: Writer, value: TensorList) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.i32_vector(value.items))
    return w.table(_TENSOR_LIST, present, offsets, scalars)


def _write_optional_tensor_list(w: Writer, value: OptionalTensorList) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.i32_vector(value.items))
    return w.table(_OPTIONAL_TENSOR_LIST, present, offsets, scalars)


_KERNEL_TYPES_WRITERS: dict[type, tuple[int, Callable[[Writer, Any], int]]] = {
    Null: (1, _write_null),
    Int: (2, _write_int),
    Bool: (3, _write_bool),
    Double: (4, _write_double),
    Tensor: (5, _write_tensor),
    String: (6, _write_string),
    IntList: (7, _write_int_list),
    DoubleList: (8, _write_double_list),
    BoolList: (9, _write_bool_list),
    TensorList: (10, _write_tensor_list),
    OptionalTensorList: (11, _write_optional_tensor_list),
}


def _write_evalue(w: Writer, value: EValue) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    val_type = 0
    if value.val is not None:
        present |= 0x3
        val_type, writer = _KERNEL_TYPES_WRITERS[type(value.val)]
        offsets.append(writer(w, value.val))
    if val_type:
        scalars.append(val_type)
    return w.table(_EVALUE, present, offsets, scalars)


def _write_kernel_call(w: Writer, value: KernelCall) -> int:
    present = 0x2
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.i32_vector(value.args))
    if value.op_index:
        present |= 0x1
        scalars.append(value.op_index)
    return w.table(_KERNEL_CALL, present, offsets, scalars)


def _write_delegate_call(w: Writer, value: DelegateCall) -> int:
    present = 0x2
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.i32_vector(value.args))
    if value.delegate_index:
        present |= 0x1
        scalars.append(value.delegate_index)
    return w.table(_DELEGATE_CALL, present, offsets, scalars)


def _write_move_call(w: Writer, value: MoveCall) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.move_from:
        present |= 0x1
        scalars.append(value.move_from)
    if value.move_to:
        present |= 0x2
        scalars.append(value.move_to)
    return w.table(_MOVE_CALL, present, offsets, scalars)


def _write_jump_false_call(w: Writer, value: JumpFalseCall) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.cond_value_index:
        present |= 0x1
        scalars.append(value.cond_value_index)
    if value.destination_instruction:
        present |= 0x2
        scalars.append(value.destination_instruction)
    return w.table(_JUMP_FALSE_CALL, present, offsets, scalars)


def _write_free_call(w: Writer, value: FreeCall) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.value_index:
        present |= 0x1
        scalars.append(value.value_index)
    return w.table(_FREE_CALL, present, offsets, scalars)


_INSTRUCTION_ARGUMENTS_WRITERS: dict[type, tuple[int, Callable[[Writer, Any], int]]] = {
    KernelCall: (1, _write_kernel_call),
    DelegateCall: (2, _write_delegate_call),
    MoveCall: (3, _write_move_call),
    JumpFalseCall: (4, _write_jump_false_call),
    FreeCall: (5, _write_free_call),
}


def _write_instruction(w: Writer, value: Instruction) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    instr_args_type = 0
    if value.instr_args is not None:
        present |= 0x3
        instr_args_type, writer = _INSTRUCTION_ARGUMENTS_WRITERS[type(value.instr_args)]
        offsets.append(writer(w, value.instr_args))
    if instr_args_type:
        scalars.append(instr_args_type)
    return w.table(_INSTRUCTION, present, offsets, scalars)


def _write_frame(w: Writer, value: Frame) -> int:
    present = 0xD
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.string(value.context))
    offsets.append(w.string(value.name))
    offsets.append(w.string(value.filename))
    if value.lineno:
        present |= 0x2
        scalars.append(value.lineno)
    return w.table(_FRAME, present, offsets, scalars)


def _write_frame_list(w: Writer, value: FrameList) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    items = [_write_frame(w, item) for item in reversed(value.items)]
    offsets.append(w.tables(items))
    return w.table(_FRAME_LIST, present, offsets, scalars)


def _write_chain(w: Writer, value: Chain) -> int:
    present = 0x7
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.stacktrace:
        present |= 0x8
        items = [_write_frame_list(w, item) for item in reversed(value.stacktrace)]
        offsets.append(w.tables(items))
    items = [_write_instruction(w, item) for item in reversed(value.instructions)]
    offsets.append(w.tables(items))
    offsets.append(w.i32_vector(value.outputs))
    offsets.append(w.i32_vector(value.inputs))
    return w.table(_CHAIN, present, offsets, scalars)


def _write_operator(w: Writer, value: Operator) -> int:
    present = 0x3
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.string(value.overload))
    offsets.append(w.string(value.name))
    return w.table(_OPERATOR, present, offsets, scalars)


def _write_backend_delegate_data_reference(w: Writer, value: BackendDelegateDataReference) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.index:
        present |= 0x2
        scalars.append(value.index)
    if value.location != DataLocation.INLINE:
        present |= 0x1
        scalars.append(value.location)
    return w.table(_BACKEND_DELEGATE_DATA_REFERENCE, present, offsets, scalars)


def _write_compile_spec(w: Writer, value: CompileSpec) -> int:
    present = 0x3
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.u8_vector(value.value))
    offsets.append(w.string(value.key))
    return w.table(_COMPILE_SPEC, present, offsets, scalars)


def _write_backend_delegate(w: Writer, value: BackendDelegate) -> int:
    present = 0x5
    offsets: list[int] = []
    scalars: list[int | float] = []
    items = [_write_compile_spec(w, item) for item in reversed(value.compile_specs)]
    offsets.append(w.tables(items))
    if value.processed is not None:
        present |= 0x2
        offsets.append(_write_backend_delegate_data_reference(w, value.processed))
    offsets.append(w.string(value.id))
    return w.table(_BACKEND_DELEGATE, present, offsets, scalars)


def _write_non_const_buffer_device(w: Writer, value: NonConstBufferDevice) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.buffer_idx:
        present |= 0x1
        scalars.append(value.buffer_idx)
    if value.device_type != DeviceType.CPU:
        present |= 0x2
        scalars.append(value.device_type)
    if value.device_index:
        present |= 0x4
        scalars.append(value.device_index)
    return w.table(_NON_CONST_BUFFER_DEVICE, present, offsets, scalars)


def _write_execution_plan(w: Writer, value: ExecutionPlan) -> int:
    present = 0x1FD
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.non_const_buffer_device:
        present |= 0x200
        items = [_write_non_const_buffer_device(w, item) for item in reversed(value.non_const_buffer_device)]
        offsets.append(w.tables(items))
    offsets.append(w.i64_vector(value.non_const_buffer_sizes))
    items = [_write_backend_delegate(w, item) for item in reversed(value.delegates)]
    offsets.append(w.tables(items))
    items = [_write_operator(w, item) for item in reversed(value.operators)]
    offsets.append(w.tables(items))
    items = [_write_chain(w, item) for item in reversed(value.chains)]
    offsets.append(w.tables(items))
    offsets.append(w.i32_vector(value.outputs))
    offsets.append(w.i32_vector(value.inputs))
    items = [_write_evalue(w, item) for item in reversed(value.values)]
    offsets.append(w.tables(items))
    if value.container_meta_type is not None:
        present |= 0x2
        offsets.append(_write_container_metadata(w, value.container_meta_type))
    offsets.append(w.string(value.name))
    return w.table(_EXECUTION_PLAN, present, offsets, scalars)


def _write_buffer(w: Writer, value: Buffer) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.blob(value.storage, 16, "Buffer"))
    return w.table(_BUFFER, present, offsets, scalars)


def _write_backend_delegate_inline_data(w: Writer, value: BackendDelegateInlineData) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.blob(value.data, 16, "BackendDelegateInlineData"))
    return w.table(_BACKEND_DELEGATE_INLINE_DATA, present, offsets, scalars)


def _write_data_segment(w: Writer, value: DataSegment) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.offset:
        present |= 0x1
        scalars.append(value.offset)
    if value.size:
        present |= 0x2
        scalars.append(value.size)
    return w.table(_DATA_SEGMENT, present, offsets, scalars)


def _write_subsegment_offsets(w: Writer, value: SubsegmentOffsets) -> int:
    present = 0x2
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.u64_vector(value.offsets))
    if value.segment_index:
        present |= 0x1
        scalars.append(value.segment_index)
    return w.table(_SUBSEGMENT_OFFSETS, present, offsets, scalars)


def _write_named_data(w: Writer, value: NamedData) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.string(value.key))
    if value.segment_index:
        present |= 0x2
        scalars.append(value.segment_index)
    return w.table(_NAMED_DATA, present, offsets, scalars)


def _write_program(w: Writer, value: Program) -> int:
    present = 0x1E
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.named_data:
        present |= 0x80
        items = [_write_named_data(w, item) for item in reversed(value.named_data)]
        offsets.append(w.tables(items))
    if value.mutable_data_segments:
        present |= 0x40
        items = [_write_subsegment_offsets(w, item) for item in reversed(value.mutable_data_segments)]
        offsets.append(w.tables(items))
    if value.constant_segment is not None:
        present |= 0x20
        offsets.append(_write_subsegment_offsets(w, value.constant_segment))
    items = [_write_data_segment(w, item) for item in reversed(value.segments)]
    offsets.append(w.tables(items))
    items = [_write_backend_delegate_inline_data(w, item) for item in reversed(value.backend_delegate_data)]
    offsets.append(w.tables(items))
    items = [_write_buffer(w, item) for item in reversed(value.constant_buffer)]
    offsets.append(w.tables(items))
    items = [_write_execution_plan(w, item) for item in reversed(value.execution_plan)]
    offsets.append(w.tables(items))
    if value.version:
        present |= 0x1
        scalars.append(value.version)
    return w.table(_PROGRAM, present, offsets, scalars)


def read(reader: Reader, identifier: bytes = FILE_IDENTIFIER) -> Program:
    """Decode a whole buffer. Raises ``InvalidFile`` with the table path and the byte."""
    return reader.root(identifier, _read_program)


def write(writer: Writer, value: Program) -> int:
    """Encode ``value``; the result is the root for ``Writer.finish``."""
    return _write_program(writer, value)
