"""Tables of a .pte program.

Generated from program.fbs by `python -m et_schema.generate`; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from et_schema.flatbuffer import Bytes
from et_schema.scalar_type import ScalarType

__all__ = [
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
    """ "aten::add" and "out"; the overload is empty for an operator's default."""

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
    """Continues at destination_instruction when the condition (a Bool, or a Bool tensor not all true) is false."""

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
