"""Tables of the program in a `.pte` file, schema generation ET12.

Names, types and defaults are the wire format and agree with what ExecuTorch reads and writes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Final, TypeAlias

from et_schema.scalar_type import ScalarType
from et_schema.tables import Aligned, Bytes, Float64, Int8, Int32, Int64, OmitEmpty, UInt32, UInt64, table

FILE_IDENTIFIER = b"ET12"
MAX_RANK: Final = 16
"""Dimensions of a tensor at most: `kTensorDimensionLimit` of upstream's runtime."""


@table
class ContainerMetadata:
    """Flattening of nested inputs and outputs: torch pytree specs as JSON."""

    encoded_inp_str: str = ""
    encoded_out_str: str = ""


@table
class Null:
    """The value None."""


@table
class AllocationDetails:
    """Place of a tensor in a planned arena."""

    # 1-based arena id; 0 is reserved.
    memory_id: UInt32 = 0
    # Byte offset in that arena, split in two words: high << 32 | low.
    memory_offset_low: UInt32 = 0
    memory_offset_high: UInt32 = 0


class TensorShapeDynamism(IntEnum):
    # Sizes are exact.
    STATIC = 0
    # Sizes are upper bounds; memory is planned for them.
    DYNAMIC_BOUND = 1
    # Sizes are hints; memory is found at run time.
    DYNAMIC_UNBOUND = 2


class TensorDataLocation(IntEnum):
    # In this file.
    SEGMENT = 0
    # In a .ptd file, under the tensor's name.
    EXTERNAL = 1


class DeviceType(IntEnum):
    CPU = 0
    CUDA = 1


@table
class ExtraTensorInfo:
    """Properties of external, mutable and device tensors, which most do without."""

    # Which entry of Program.mutable_data_segments holds the initial state.
    mutable_data_segments_idx: UInt64 = 0
    # Module path of a parameter or buffer; the key of external data.
    fully_qualified_name: OmitEmpty[str] = ""
    location: TensorDataLocation = TensorDataLocation.SEGMENT
    device_type: DeviceType = DeviceType.CPU
    device_index: Int8 = 0


@table
class Tensor:
    """A tensor register. Which of data_buffer_idx and allocation_info are set says where its bytes come from:

    data_buffer_idx   allocation_info   bytes
    0                 absent            none until set: an input, or the target of a move
    0                 present           the arena
    > 0               absent            a constant, read where it lies in the file
    > 0               present           the arena, initialized from the file: a mutable buffer
    """

    scalar_type: ScalarType = ScalarType.BYTE
    # In elements. Runtimes accept 0 only.
    storage_offset: Int32 = 0
    # Logical axis order (NCHW for images), one entry per axis.
    sizes: list[Int32] = []
    # Axes from outermost to innermost in memory; a permutation of range(rank).
    dim_order: bytes = b""
    requires_grad: bool = False
    # Index of a constant (0 is reserved for "no constant"): into constant_segment.offsets, or the
    # offsets of a mutable data segment, or, in old files, into constant_buffer.
    data_buffer_idx: UInt32 = 0
    allocation_info: AllocationDetails | None = None
    layout: Int8 = 0
    shape_dynamism: TensorShapeDynamism = TensorShapeDynamism.STATIC
    extra_tensor_info: ExtraTensorInfo | None = None


@table
class Int:
    int_val: Int64 = 0


@table
class Bool:
    bool_val: bool = False


@table
class Double:
    double_val: Float64 = 0.0


@table
class String:
    string_val: str = ""


@table
class IntList:
    """Each item is the index of an Int value, so that sizes computed at run time can be list items."""

    items: list[Int64] = []


@table
class DoubleList:
    """Items inline."""

    items: list[Float64] = []


@table
class BoolList:
    """Items inline."""

    items: list[bool] = []


@table
class TensorList:
    """Each item is the index of a Tensor value."""

    items: list[Int32] = []


@table
class OptionalTensorList:
    """Each item is -1, or the index of a Tensor or Null value."""

    items: list[Int32] = []


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


@table
class EValue:
    """One register of a plan with its initial value."""

    val: KernelTypes | None = None


@table
class Operator:
    """For example "aten::add" and "out"; the overload is empty for an operator's default."""

    name: str = ""
    overload: str = ""


# Below, op_index and delegate_index point into the plan's operators and delegates; every other
# index, and each of args, is a value of the plan.


@table
class KernelCall:
    """args: the schema's arguments with the out ones, then the returns once more."""

    op_index: Int32 = 0
    args: list[Int32] = []


@table
class DelegateCall:
    delegate_index: Int32 = 0
    args: list[Int32] = []


@table
class MoveCall:
    move_from: Int32 = 0
    move_to: Int32 = 0


@table
class JumpFalseCall:
    """Continues at destination_instruction when the condition, a Bool or a Bool tensor, is not (all) true."""

    cond_value_index: Int32 = 0
    destination_instruction: Int32 = 0


@table
class FreeCall:
    value_index: Int32 = 0


InstructionArguments: TypeAlias = KernelCall | DelegateCall | MoveCall | JumpFalseCall | FreeCall


@table
class Instruction:
    instr_args: InstructionArguments | None = None


@table
class Frame:
    """One level of the Python stack that an instruction comes from."""

    filename: str = ""
    lineno: Int32 = 0
    name: str = ""
    # The source line's text.
    context: str = ""


@table
class FrameList:
    items: list[Frame] = []


class DataLocation(IntEnum):
    INLINE = 0
    SEGMENT = 1


@table
class BackendDelegateDataReference:
    # INLINE: index counts in Program.backend_delegate_data. SEGMENT: in Program.segments.
    location: DataLocation = DataLocation.INLINE
    index: UInt32 = 0


@table
class CompileSpec:
    key: str = ""
    value: bytes = b""


@table
class BackendDelegate:
    """A subgraph compiled for a backend."""

    # Name under which the backend registers.
    id: str = ""
    processed: BackendDelegateDataReference | None = None
    compile_specs: list[CompileSpec] = []


@table
class Chain:
    """Instructions in order. Writers make one chain per plan."""

    inputs: list[Int32] = []
    outputs: list[Int32] = []
    instructions: list[Instruction] = []
    # One entry per instruction, or none at all.
    stacktrace: OmitEmpty[list[FrameList]] = []


@table
class ExecutionPlan:
    """A method."""

    name: str = ""
    container_meta_type: ContainerMetadata | None = None
    values: list[EValue] = []
    # Values that the caller sets and gets.
    inputs: list[Int32] = []
    outputs: list[Int32] = []
    chains: list[Chain] = []
    operators: list[Operator] = []
    delegates: list[BackendDelegate] = []
    # Bytes of each arena by memory_id; entry 0 is reserved and 0.
    non_const_buffer_sizes: list[Int64] = []
    non_const_buffer_device: OmitEmpty[list[NonConstBufferDevice]] = []


@table
class NonConstBufferDevice:
    """Device of one arena; arenas without an entry are the CPU's."""

    buffer_idx: Int32 = 0
    device_type: DeviceType = DeviceType.CPU
    device_index: Int8 = 0


@table
class Buffer:
    """A constant inside the flatbuffer: only old files have them."""

    storage: Annotated[Bytes, Aligned(16)] = b""


@table
class BackendDelegateInlineData:
    data: Annotated[Bytes, Aligned(16)] = b""


@table
class DataSegment:
    """Bytes after the flatbuffer; offset counts from the extended header's segment base."""

    offset: UInt64 = 0
    size: UInt64 = 0


@table
class SubsegmentOffsets:
    """Offsets of constants in a segment. Entry 0 is reserved."""

    segment_index: UInt32 = 0
    offsets: list[UInt64] = []


@table
class NamedData:
    """A segment that backends and tensors find by name."""

    key: str = ""
    segment_index: UInt32 = 0


@table
class Program:
    version: UInt32 = 0
    execution_plan: list[ExecutionPlan] = []
    # Superseded by constant_segment; empty in new files.
    constant_buffer: list[Buffer] = []
    backend_delegate_data: list[BackendDelegateInlineData] = []
    # Ordered by offset.
    segments: list[DataSegment] = []
    constant_segment: SubsegmentOffsets | None = None
    mutable_data_segments: OmitEmpty[list[SubsegmentOffsets]] = []
    named_data: OmitEmpty[list[NamedData]] = []
