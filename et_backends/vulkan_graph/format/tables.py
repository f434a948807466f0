"""Tables of graphs in blobs of ExecuTorch's Vulkan backend, schema generation VK00.

Names, types and defaults are the wire format and agree with what ExecuTorch reads and writes. A value is named by its
place in `VkGraph.values`; the last argument of a call is its result, a `ValueList` where it has several.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, TypeAlias

from et_schema.program import Bool, BoolList, Double, DoubleList, Int, Null, String
from et_schema.tables import U8, Int32, Int64, OmitEmpty, UInt32, UInt64, table

__all__ = [
    "FILE_IDENTIFIER",
    "NO_OFFSET",
    "Bool",
    "BoolList",
    "Double",
    "DoubleList",
    "GraphTypes",
    "Int",
    "IntList",
    "Null",
    "OperatorCall",
    "String",
    "SymInt",
    "ValueList",
    "VkBytes",
    "VkDataType",
    "VkGraph",
    "VkMemoryLayout",
    "VkStorageType",
    "VkTensor",
    "VkValue",
]

FILE_IDENTIFIER = b"VK00"
NO_OFFSET = 2**64 - 1
"""Offset of a constant that is named data of the program."""


class VkDataType(IntEnum):
    BOOL = 0
    UINT8 = 1
    INT8 = 2
    INT32 = 3
    FLOAT16 = 4
    FLOAT32 = 5
    FLOAT64 = 6
    INT64 = 7
    UNSET = 127


class VkStorageType(IntEnum):
    BUFFER = 0
    TEXTURE_3D = 1
    TEXTURE_2D = 2
    DEFAULT_STORAGE = 255


class VkMemoryLayout(IntEnum):
    """The dimension whose elements share a texel, and packings of 8-bit integers."""

    TENSOR_WIDTH_PACKED = 0
    TENSOR_HEIGHT_PACKED = 1
    TENSOR_CHANNELS_PACKED = 2
    PACKED_INT8_4W4C = 3
    PACKED_INT8_4H4W = 4
    PACKED_INT8_4W = 5
    PACKED_INT8_4C = 6
    PACKED_INT8_4C1W = 8
    PACKED_INT8_CONV2D = 9
    DEFAULT_LAYOUT = 255


@table
class OperatorCall:
    """A call of an operator by its name in the edge dialect: `aten.add.Tensor`, `aten.relu.default`."""

    # Of the debug map.
    node_id: UInt32 = 0
    name: str = ""
    # The schema's arguments in order, with defaults, then the result.
    args: list[Int32] = []


@table
class VkTensor:
    datatype: VkDataType = VkDataType.BOOL
    # Upper bounds where sizes are known at run time only.
    dims: list[UInt32] = []
    # Negative for a tensor that is no constant.
    constant_id: Int32 = 0
    # Tensors with the same object share memory. Negative for a tensor with memory of its own.
    mem_obj_id: Int32 = 0
    storage_type: Annotated[VkStorageType, U8] = VkStorageType.DEFAULT_STORAGE
    memory_layout: Annotated[VkMemoryLayout, U8] = VkMemoryLayout.DEFAULT_LAYOUT
    # Type of the elements that are copied from and to arguments; UNSET for `datatype`.
    staging_datatype: VkDataType = VkDataType.UNSET


@table
class IntList:
    """Items inline."""

    items: list[Int64] = []


@table
class ValueList:
    """Each item is the number of a value."""

    items: list[Int32] = []


@table
class SymInt:
    """A number that is known at run time only."""

    value: Int32 = 0


GraphTypes: TypeAlias = (
    Null | Int | Double | Bool | VkTensor | IntList | DoubleList | BoolList | ValueList | String | SymInt
)


@table
class VkValue:
    value: GraphTypes | None = None


@table
class VkBytes:
    """Data: of the program under a name, or `length` bytes at `offset` of what follows the graph."""

    offset: UInt64 = 0
    length: UInt64 = 0
    named_key: OmitEmpty[str] = ""


@table
class VkGraph:
    version: str = ""
    # In the order of execution.
    chain: list[OperatorCall] = []
    values: list[VkValue] = []
    input_ids: list[UInt32] = []
    output_ids: list[UInt32] = []
    constants: list[VkBytes] = []
    shaders: list[VkBytes] = []
    # Of tensors that state no storage or layout of their own.
    storage_type_override: Annotated[VkStorageType, U8] = VkStorageType.DEFAULT_STORAGE
    memory_layout_override: Annotated[VkMemoryLayout, U8] = VkMemoryLayout.DEFAULT_LAYOUT
