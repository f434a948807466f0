"""The graph in a blob for the XNNPACK backend.

Generated from xnnpack.fbs by `python -m et_schema.generate`; do not edit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from math import copysign
from typing import Any, TypeAlias, TypeVar

from et_schema.errors import InvalidFile
from et_schema.flatbuffer import Bytes, Reader, Slot, TableType, Writer
from et_schema.scalar_type import ScalarType

__all__ = [
    "FILE_IDENTIFIER",
    "Buffer",
    "ConstantDataOffset",
    "Node1x1",
    "Node2x1",
    "NodeCat",
    "NodeConv",
    "NodePooling2D",
    "OutputMinMax",
    "PerChannelGroupQuant",
    "PerChannelQuant",
    "PerTensorQuant",
    "PerTokenDynamicQuant",
    "XNNAbs",
    "XNNAdd",
    "XNNArgMaxPooling2d",
    "XNNAvgPooling2d",
    "XNNBatchMatrixMultiply",
    "XNNCeiling",
    "XNNClamp",
    "XNNConcatenate2",
    "XNNConcatenate3",
    "XNNConcatenate4",
    "XNNConcatenate5",
    "XNNConv2d",
    "XNNConvTranspose2d",
    "XNNConvert",
    "XNNCopy",
    "XNNCos",
    "XNNDatatype",
    "XNNDepthwiseConv2d",
    "XNNDiv",
    "XNNELU",
    "XNNExp",
    "XNNFloor",
    "XNNFullyConnected",
    "XNNGelu",
    "XNNGlobalAvgPooling2d",
    "XNNGraph",
    "XNNHardswish",
    "XNNLeakyReLU",
    "XNNLog",
    "XNNMaxPooling2d",
    "XNNMaximum",
    "XNNMinimum",
    "XNNMultiply",
    "XNNNegate",
    "XNNPReLU",
    "XNNQuantParams",
    "XNNQuantizedTensorValue",
    "XNNReciprocalSquareRoot",
    "XNNScaledDotProductAttention",
    "XNNSigmoid",
    "XNNSin",
    "XNNSoftmax",
    "XNNSquare",
    "XNNSquareRoot",
    "XNNStaticConstantPad",
    "XNNStaticReshape",
    "XNNStaticResizeBilinear2D",
    "XNNStaticSlice",
    "XNNStaticTranspose",
    "XNNSubtract",
    "XNNTanh",
    "XNNTensorValue",
    "XNode",
    "XNodeUnion",
    "XValue",
    "XValueUnion",
    "read",
    "write",
]

FILE_IDENTIFIER = b"XN01"


class XNNDatatype(IntEnum):
    invalid = 0
    fp32 = 1
    fp16 = 2
    qint8 = 3
    quint8 = 4
    qint32 = 5
    qcint8 = 6
    qcint32 = 7
    qcint4 = 8
    qdint8 = 9
    qbint4 = 10
    qpint8 = 11
    int32 = 12
    pfp32 = 13
    bf16 = 14


@dataclass(slots=True)
class Buffer:
    """A constant of a file of generation XN00, which has them in the graph itself."""

    storage: Bytes = b""


@dataclass(slots=True)
class PerChannelGroupQuant:
    """A scale for each block of group_size elements along the input channels, for each channel: all blocks of a
    channel follow each other. The scales are bfloat16 in the constant that scale_buffer_idx names.
    """

    scale: list[float] = field(default_factory=list[float])
    channel_dim: int = 0
    group_size: int = 0
    scale_buffer_idx: int = 0
    num_scales: int = 0


@dataclass(slots=True)
class PerChannelQuant:
    """A scale for each channel, here or, as float32, in the constant that scale_buffer_idx names."""

    scale: list[float] = field(default_factory=list[float])
    channel_dim: int = 0
    scale_buffer_idx: int = 0
    num_scales: int = 0


@dataclass(slots=True)
class PerTokenDynamicQuant:
    """A scale and a zero point for each row, found when the graph runs; a row is the last num_nonbatch_dims
    dimensions.
    """

    num_nonbatch_dims: int = 0


@dataclass(slots=True)
class PerTensorQuant:
    scale: float = 0.0
    zero_point: int = 0


@dataclass(slots=True)
class XNNTensorValue:
    datatype: XNNDatatype = XNNDatatype.invalid
    num_dims: int = 0
    dims: list[int] = field(default_factory=list[int])
    constant_buffer_idx: int = 0
    external_id: int = 0
    flags: int = 0
    id_out: int = 0
    dq_datatype: XNNDatatype = XNNDatatype.invalid


@dataclass(slots=True)
class XNNQuantizedTensorValue:
    tensor_value: XNNTensorValue | None = None
    quant_params: XNNQuantParams | None = None


@dataclass(slots=True)
class XValue:
    xvalue_union: XValueUnion | None = None


@dataclass(slots=True)
class OutputMinMax:
    """What is done to an output last."""

    output_min: float = 0.0
    output_max: float = 0.0


@dataclass(slots=True)
class Node1x1:
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class Node2x1:
    input1_id: int = 0
    input2_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class NodeCat:
    axis: int = 0
    input1_id: int = 0
    input2_id: int = 0
    input3_id: int = 0
    input4_id: int = 0
    output_id: int = 0
    flags: int = 0
    input5_id: int = 0


@dataclass(slots=True)
class NodeConv:
    padding_top: int = 0
    padding_right: int = 0
    padding_bottom: int = 0
    padding_left: int = 0
    kernel_height: int = 0
    kernel_width: int = 0
    subsampling_height: int = 0
    subsampling_width: int = 0
    dilation_height: int = 0
    dilation_width: int = 0
    group_input_channels: int = 0
    group_output_channels: int = 0
    groups: int = 0
    adjustment_height: int = 0
    adjustment_width: int = 0
    input1_id: int = 0
    filter_id: int = 0
    bias_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class NodePooling2D:
    padding_top: int = 0
    padding_right: int = 0
    padding_bottom: int = 0
    padding_left: int = 0
    pooling_height: int = 0
    pooling_width: int = 0
    stride_height: int = 0
    stride_width: int = 0
    dilation_height: int = 0
    dilation_width: int = 0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class XNNStaticTranspose:
    num_dims: int = 0
    perm: list[int] = field(default_factory=list[int])
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class XNNStaticResizeBilinear2D:
    new_height: int = 0
    new_width: int = 0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class XNNStaticConstantPad:
    pre_paddings: list[int] = field(default_factory=list[int])
    post_paddings: list[int] = field(default_factory=list[int])
    padding_value: float = 0.0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class XNNELU:
    alpha: float = 0.0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class XNNFullyConnected:
    input1_id: int = 0
    filter_id: int = 0
    bias_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class XNNStaticReshape:
    num_dims: int = 0
    new_shape: list[int] = field(default_factory=list[int])
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class XNNStaticSlice:
    num_dims: int = 0
    offsets: list[int] = field(default_factory=list[int])
    sizes: list[int] = field(default_factory=list[int])
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class XNNScaledDotProductAttention:
    query_id: int = 0
    key_id: int = 0
    value_id: int = 0
    scale_id: int = 0
    mask_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class XNNArgMaxPooling2d:
    padding_top: int = 0
    padding_right: int = 0
    padding_bottom: int = 0
    padding_left: int = 0
    pooling_height: int = 0
    pooling_width: int = 0
    input_id: int = 0
    output_value_id: int = 0
    output_index_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class XNNLeakyReLU:
    negative_slope: float = 0.0
    input_id: int = 0
    output_id: int = 0
    flags: int = 0


@dataclass(slots=True)
class XNode:
    xnode_union: XNodeUnion | None = None
    debug_handle: int = 0
    output_min_max: OutputMinMax | None = None


@dataclass(slots=True)
class ConstantDataOffset:
    """Where a constant is: offset bytes into what follows the graph or, with a named_key, in the data of that name
    that the program has; offset is 0xFFFFFFFFFFFFFFFF then.
    """

    offset: int = 0
    size: int = 0
    named_key: str = ""


@dataclass(slots=True)
class XNNGraph:
    version: str = ""
    xnodes: list[XNode] = field(default_factory=list["XNode"])
    xvalues: list[XValue] = field(default_factory=list["XValue"])
    num_externs: int = 0
    input_ids: list[int] = field(default_factory=list[int])
    output_ids: list[int] = field(default_factory=list[int])
    constant_buffer: list[Buffer] = field(default_factory=list["Buffer"])
    constant_data: list[ConstantDataOffset] = field(default_factory=list["ConstantDataOffset"])


@dataclass(slots=True)
class XNNAdd(Node2x1):
    pass


@dataclass(slots=True)
class XNNSoftmax(Node1x1):
    pass


@dataclass(slots=True)
class XNNSigmoid(Node1x1):
    pass


@dataclass(slots=True)
class XNNClamp(Node1x1):
    pass


@dataclass(slots=True)
class XNNConv2d(NodeConv):
    pass


@dataclass(slots=True)
class XNNDiv(Node2x1):
    pass


@dataclass(slots=True)
class XNNAvgPooling2d(NodePooling2D):
    pass


@dataclass(slots=True)
class XNNMinimum(Node2x1):
    pass


@dataclass(slots=True)
class XNNDepthwiseConv2d(NodeConv):
    pass


@dataclass(slots=True)
class XNNMaxPooling2d(NodePooling2D):
    pass


@dataclass(slots=True)
class XNNMultiply(Node2x1):
    pass


@dataclass(slots=True)
class XNNSubtract(Node2x1):
    pass


@dataclass(slots=True)
class XNNFloor(Node1x1):
    pass


@dataclass(slots=True)
class XNNConvert(Node1x1):
    pass


@dataclass(slots=True)
class XNNGlobalAvgPooling2d(Node1x1):
    pass


@dataclass(slots=True)
class XNNSquareRoot(Node1x1):
    pass


@dataclass(slots=True)
class XNNCeiling(Node1x1):
    pass


@dataclass(slots=True)
class XNNHardswish(Node1x1):
    pass


@dataclass(slots=True)
class XNNMaximum(Node2x1):
    pass


@dataclass(slots=True)
class XNNNegate(Node1x1):
    pass


@dataclass(slots=True)
class XNNSquare(Node1x1):
    pass


@dataclass(slots=True)
class XNNAbs(Node1x1):
    pass


@dataclass(slots=True)
class XNNPReLU(Node2x1):
    pass


@dataclass(slots=True)
class XNNConcatenate2(NodeCat):
    pass


@dataclass(slots=True)
class XNNConcatenate3(NodeCat):
    pass


@dataclass(slots=True)
class XNNConcatenate4(NodeCat):
    pass


@dataclass(slots=True)
class XNNBatchMatrixMultiply(Node2x1):
    pass


@dataclass(slots=True)
class XNNConcatenate5(NodeCat):
    pass


@dataclass(slots=True)
class XNNConvTranspose2d(NodeConv):
    pass


@dataclass(slots=True)
class XNNReciprocalSquareRoot(Node1x1):
    pass


@dataclass(slots=True)
class XNNLog(Node1x1):
    pass


@dataclass(slots=True)
class XNNGelu(Node1x1):
    pass


@dataclass(slots=True)
class XNNTanh(Node1x1):
    pass


@dataclass(slots=True)
class XNNExp(Node1x1):
    pass


@dataclass(slots=True)
class XNNSin(Node1x1):
    pass


@dataclass(slots=True)
class XNNCopy(Node1x1):
    pass


@dataclass(slots=True)
class XNNCos(Node1x1):
    pass


Node2x1Class = TypeVar("Node2x1Class", bound=Node2x1)
Node1x1Class = TypeVar("Node1x1Class", bound=Node1x1)
NodeConvClass = TypeVar("NodeConvClass", bound=NodeConv)
NodePooling2DClass = TypeVar("NodePooling2DClass", bound=NodePooling2D)
NodeCatClass = TypeVar("NodeCatClass", bound=NodeCat)
XNNQuantParams: TypeAlias = PerChannelQuant | PerTensorQuant | PerTokenDynamicQuant | PerChannelGroupQuant
XValueUnion: TypeAlias = XNNTensorValue | XNNQuantizedTensorValue
XNodeUnion: TypeAlias = (
    XNNAdd
    | XNNFullyConnected
    | XNNSoftmax
    | XNNSigmoid
    | XNNStaticTranspose
    | XNNClamp
    | XNNConv2d
    | XNNDiv
    | XNNStaticResizeBilinear2D
    | XNNStaticConstantPad
    | XNNAvgPooling2d
    | XNNMinimum
    | XNNDepthwiseConv2d
    | XNNMaxPooling2d
    | XNNMultiply
    | XNNSubtract
    | XNNFloor
    | XNNConvert
    | XNNGlobalAvgPooling2d
    | XNNStaticReshape
    | XNNArgMaxPooling2d
    | XNNSquareRoot
    | XNNCeiling
    | XNNHardswish
    | XNNLeakyReLU
    | XNNMaximum
    | XNNNegate
    | XNNSquare
    | XNNELU
    | XNNAbs
    | XNNPReLU
    | XNNConcatenate2
    | XNNConcatenate3
    | XNNConcatenate4
    | XNNStaticSlice
    | XNNScaledDotProductAttention
    | XNNBatchMatrixMultiply
    | XNNConcatenate5
    | XNNConvTranspose2d
    | XNNReciprocalSquareRoot
    | XNNLog
    | XNNGelu
    | XNNTanh
    | XNNExp
    | XNNSin
    | XNNCopy
    | XNNCos
)

_XNNDATATYPE = {int(member): member for member in XNNDatatype}
_NODE2X1 = TableType(
    "Node2x1",
    0,
    [
        Slot("input1_id", "I", 4),
        Slot("input2_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_XNNFULLY_CONNECTED = TableType(
    "XNNFullyConnected",
    1,
    [
        Slot("input1_id", "I", 4),
        Slot("filter_id", "I", 4),
        Slot("bias_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_NODE1X1 = TableType(
    "Node1x1",
    2,
    [
        Slot("input_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_XNNSTATIC_TRANSPOSE = TableType(
    "XNNStaticTranspose",
    3,
    [
        Slot("num_dims", "I", 4),
        Slot("perm", "", 4),
        Slot("input_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_NODE_CONV = TableType(
    "NodeConv",
    4,
    [
        Slot("padding_top", "I", 4),
        Slot("padding_right", "I", 4),
        Slot("padding_bottom", "I", 4),
        Slot("padding_left", "I", 4),
        Slot("kernel_height", "I", 4),
        Slot("kernel_width", "I", 4),
        Slot("subsampling_height", "I", 4),
        Slot("subsampling_width", "I", 4),
        Slot("dilation_height", "I", 4),
        Slot("dilation_width", "I", 4),
        Slot("group_input_channels", "I", 4),
        Slot("group_output_channels", "I", 4),
        Slot("groups", "I", 4),
        Slot("adjustment_height", "I", 4),
        Slot("adjustment_width", "I", 4),
        Slot("input1_id", "I", 4),
        Slot("filter_id", "I", 4),
        Slot("bias_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_XNNSTATIC_RESIZE_BILINEAR2_D = TableType(
    "XNNStaticResizeBilinear2D",
    5,
    [
        Slot("new_height", "I", 4),
        Slot("new_width", "I", 4),
        Slot("input_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_XNNSTATIC_CONSTANT_PAD = TableType(
    "XNNStaticConstantPad",
    6,
    [
        Slot("pre_paddings", "", 4),
        Slot("post_paddings", "", 4),
        Slot("padding_value", "f", 4),
        Slot("input_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_NODE_POOLING2_D = TableType(
    "NodePooling2D",
    7,
    [
        Slot("padding_top", "I", 4),
        Slot("padding_right", "I", 4),
        Slot("padding_bottom", "I", 4),
        Slot("padding_left", "I", 4),
        Slot("pooling_height", "I", 4),
        Slot("pooling_width", "I", 4),
        Slot("stride_height", "I", 4),
        Slot("stride_width", "I", 4),
        Slot("dilation_height", "I", 4),
        Slot("dilation_width", "I", 4),
        Slot("input_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_XNNSTATIC_RESHAPE = TableType(
    "XNNStaticReshape",
    8,
    [
        Slot("num_dims", "I", 4),
        Slot("new_shape", "", 4),
        Slot("input_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_XNNARG_MAX_POOLING2D = TableType(
    "XNNArgMaxPooling2d",
    9,
    [
        Slot("padding_top", "I", 4),
        Slot("padding_right", "I", 4),
        Slot("padding_bottom", "I", 4),
        Slot("padding_left", "I", 4),
        Slot("pooling_height", "I", 4),
        Slot("pooling_width", "I", 4),
        Slot("input_id", "I", 4),
        Slot("output_value_id", "I", 4),
        Slot("output_index_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_XNNLEAKY_RE_LU = TableType(
    "XNNLeakyReLU",
    10,
    [
        Slot("negative_slope", "f", 4),
        Slot("input_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_XNNELU = TableType(
    "XNNELU",
    11,
    [
        Slot("alpha", "f", 4),
        Slot("input_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_NODE_CAT = TableType(
    "NodeCat",
    12,
    [
        Slot("axis", "I", 4),
        Slot("input1_id", "I", 4),
        Slot("input2_id", "I", 4),
        Slot("input3_id", "I", 4),
        Slot("input4_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
        Slot("input5_id", "I", 4),
    ],
)
_XNNSTATIC_SLICE = TableType(
    "XNNStaticSlice",
    13,
    [
        Slot("num_dims", "I", 4),
        Slot("offsets", "", 4),
        Slot("sizes", "", 4),
        Slot("input_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_XNNSCALED_DOT_PRODUCT_ATTENTION = TableType(
    "XNNScaledDotProductAttention",
    14,
    [
        Slot("query_id", "I", 4),
        Slot("key_id", "I", 4),
        Slot("value_id", "I", 4),
        Slot("scale_id", "I", 4),
        Slot("mask_id", "I", 4),
        Slot("output_id", "I", 4),
        Slot("flags", "I", 4),
    ],
)
_OUTPUT_MIN_MAX = TableType("OutputMinMax", 15, [Slot("output_min", "f", 4), Slot("output_max", "f", 4)])
_XNODE = TableType(
    "XNode",
    16,
    [
        Slot("xnode_union_type", "B", 1),
        Slot("xnode_union", "", 4),
        Slot("debug_handle", "I", 4),
        Slot("output_min_max", "", 4),
    ],
)
_XNNTENSOR_VALUE = TableType(
    "XNNTensorValue",
    17,
    [
        Slot("datatype", "h", 2),
        Slot("num_dims", "I", 4),
        Slot("dims", "", 4),
        Slot("constant_buffer_idx", "I", 4),
        Slot("external_id", "I", 4),
        Slot("flags", "I", 4),
        Slot("id_out", "I", 4),
        Slot("dq_datatype", "h", 2),
    ],
)
_PER_CHANNEL_QUANT = TableType(
    "PerChannelQuant",
    18,
    [
        Slot("scale", "", 4),
        Slot("channel_dim", "i", 4),
        Slot("scale_buffer_idx", "I", 4),
        Slot("num_scales", "I", 4),
    ],
)
_PER_TENSOR_QUANT = TableType("PerTensorQuant", 19, [Slot("scale", "f", 4), Slot("zero_point", "i", 4)])
_PER_TOKEN_DYNAMIC_QUANT = TableType("PerTokenDynamicQuant", 20, [Slot("num_nonbatch_dims", "i", 4)])
_PER_CHANNEL_GROUP_QUANT = TableType(
    "PerChannelGroupQuant",
    21,
    [
        Slot("scale", "", 4),
        Slot("channel_dim", "i", 4),
        Slot("group_size", "i", 4),
        Slot("scale_bf16", "", 4),
        Slot("scale_buffer_idx", "I", 4),
        Slot("num_scales", "I", 4),
    ],
)
_XNNQUANTIZED_TENSOR_VALUE = TableType(
    "XNNQuantizedTensorValue",
    22,
    [
        Slot("tensor_value", "", 4),
        Slot("quant_params_type", "B", 1),
        Slot("quant_params", "", 4),
    ],
)
_XVALUE = TableType("XValue", 23, [Slot("xvalue_union_type", "B", 1), Slot("xvalue_union", "", 4)])
_BUFFER = TableType("Buffer", 24, [Slot("storage", "", 4)])
_CONSTANT_DATA_OFFSET = TableType(
    "ConstantDataOffset",
    25,
    [
        Slot("offset", "Q", 8),
        Slot("size", "Q", 8),
        Slot("named_key", "", 4),
    ],
)
_XNNGRAPH = TableType(
    "XNNGraph",
    26,
    [
        Slot("version", "", 4),
        Slot("xnodes", "", 4),
        Slot("xvalues", "", 4),
        Slot("num_externs", "I", 4),
        Slot("input_ids", "", 4),
        Slot("output_ids", "", 4),
        Slot("constant_buffer", "", 4),
        Slot("mem_buffer_sizes", "", 4),
        Slot("constant_data", "", 4),
    ],
)


def _read_node2x1(r: Reader, at: int, make: type[Node2x1Class]) -> Node2x1Class:
    f0, f1, f2, f3 = r.table(at, _NODE2X1)
    input1_id = r.u32[(at + f0) >> 2] if f0 else 0
    input2_id = r.u32[(at + f1) >> 2] if f1 else 0
    output_id = r.u32[(at + f2) >> 2] if f2 else 0
    flags = r.u32[(at + f3) >> 2] if f3 else 0
    value = make(input1_id, input2_id, output_id, flags)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnnfully_connected(r: Reader, at: int) -> XNNFullyConnected:
    f0, f1, f2, f3, f4 = r.table(at, _XNNFULLY_CONNECTED)
    input1_id = r.u32[(at + f0) >> 2] if f0 else 0
    filter_id = r.u32[(at + f1) >> 2] if f1 else 0
    bias_id = r.u32[(at + f2) >> 2] if f2 else 0
    output_id = r.u32[(at + f3) >> 2] if f3 else 0
    flags = r.u32[(at + f4) >> 2] if f4 else 0
    value = XNNFullyConnected(input1_id, filter_id, bias_id, output_id, flags)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_node1x1(r: Reader, at: int, make: type[Node1x1Class]) -> Node1x1Class:
    f0, f1, f2 = r.table(at, _NODE1X1)
    input_id = r.u32[(at + f0) >> 2] if f0 else 0
    output_id = r.u32[(at + f1) >> 2] if f1 else 0
    flags = r.u32[(at + f2) >> 2] if f2 else 0
    value = make(input_id, output_id, flags)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnnstatic_transpose(r: Reader, at: int) -> XNNStaticTranspose:
    f0, f1, f2, f3, f4 = r.table(at, _XNNSTATIC_TRANSPOSE)
    num_dims = r.u32[(at + f0) >> 2] if f0 else 0
    perm = r.u32_vector(at + f1, "perm") if f1 else []
    input_id = r.u32[(at + f2) >> 2] if f2 else 0
    output_id = r.u32[(at + f3) >> 2] if f3 else 0
    flags = r.u32[(at + f4) >> 2] if f4 else 0
    value = XNNStaticTranspose(num_dims, perm, input_id, output_id, flags)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_node_conv(r: Reader, at: int, make: type[NodeConvClass]) -> NodeConvClass:
    f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19 = r.table(at, _NODE_CONV)
    padding_top = r.u32[(at + f0) >> 2] if f0 else 0
    padding_right = r.u32[(at + f1) >> 2] if f1 else 0
    padding_bottom = r.u32[(at + f2) >> 2] if f2 else 0
    padding_left = r.u32[(at + f3) >> 2] if f3 else 0
    kernel_height = r.u32[(at + f4) >> 2] if f4 else 0
    kernel_width = r.u32[(at + f5) >> 2] if f5 else 0
    subsampling_height = r.u32[(at + f6) >> 2] if f6 else 0
    subsampling_width = r.u32[(at + f7) >> 2] if f7 else 0
    dilation_height = r.u32[(at + f8) >> 2] if f8 else 0
    dilation_width = r.u32[(at + f9) >> 2] if f9 else 0
    group_input_channels = r.u32[(at + f10) >> 2] if f10 else 0
    group_output_channels = r.u32[(at + f11) >> 2] if f11 else 0
    groups = r.u32[(at + f12) >> 2] if f12 else 0
    adjustment_height = r.u32[(at + f13) >> 2] if f13 else 0
    adjustment_width = r.u32[(at + f14) >> 2] if f14 else 0
    input1_id = r.u32[(at + f15) >> 2] if f15 else 0
    filter_id = r.u32[(at + f16) >> 2] if f16 else 0
    bias_id = r.u32[(at + f17) >> 2] if f17 else 0
    output_id = r.u32[(at + f18) >> 2] if f18 else 0
    flags = r.u32[(at + f19) >> 2] if f19 else 0
    value = make(
        padding_top,
        padding_right,
        padding_bottom,
        padding_left,
        kernel_height,
        kernel_width,
        subsampling_height,
        subsampling_width,
        dilation_height,
        dilation_width,
        group_input_channels,
        group_output_channels,
        groups,
        adjustment_height,
        adjustment_width,
        input1_id,
        filter_id,
        bias_id,
        output_id,
        flags,
    )
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnnstatic_resize_bilinear2_d(r: Reader, at: int) -> XNNStaticResizeBilinear2D:
    f0, f1, f2, f3, f4 = r.table(at, _XNNSTATIC_RESIZE_BILINEAR2_D)
    new_height = r.u32[(at + f0) >> 2] if f0 else 0
    new_width = r.u32[(at + f1) >> 2] if f1 else 0
    input_id = r.u32[(at + f2) >> 2] if f2 else 0
    output_id = r.u32[(at + f3) >> 2] if f3 else 0
    flags = r.u32[(at + f4) >> 2] if f4 else 0
    value = XNNStaticResizeBilinear2D(new_height, new_width, input_id, output_id, flags)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnnstatic_constant_pad(r: Reader, at: int) -> XNNStaticConstantPad:
    f0, f1, f2, f3, f4, f5 = r.table(at, _XNNSTATIC_CONSTANT_PAD)
    pre_paddings = r.u32_vector(at + f0, "pre_paddings") if f0 else []
    post_paddings = r.u32_vector(at + f1, "post_paddings") if f1 else []
    padding_value = r.f32[(at + f2) >> 2] if f2 else 0.0
    input_id = r.u32[(at + f3) >> 2] if f3 else 0
    output_id = r.u32[(at + f4) >> 2] if f4 else 0
    flags = r.u32[(at + f5) >> 2] if f5 else 0
    value = XNNStaticConstantPad(pre_paddings, post_paddings, padding_value, input_id, output_id, flags)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_node_pooling2_d(r: Reader, at: int, make: type[NodePooling2DClass]) -> NodePooling2DClass:
    f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12 = r.table(at, _NODE_POOLING2_D)
    padding_top = r.u32[(at + f0) >> 2] if f0 else 0
    padding_right = r.u32[(at + f1) >> 2] if f1 else 0
    padding_bottom = r.u32[(at + f2) >> 2] if f2 else 0
    padding_left = r.u32[(at + f3) >> 2] if f3 else 0
    pooling_height = r.u32[(at + f4) >> 2] if f4 else 0
    pooling_width = r.u32[(at + f5) >> 2] if f5 else 0
    stride_height = r.u32[(at + f6) >> 2] if f6 else 0
    stride_width = r.u32[(at + f7) >> 2] if f7 else 0
    dilation_height = r.u32[(at + f8) >> 2] if f8 else 0
    dilation_width = r.u32[(at + f9) >> 2] if f9 else 0
    input_id = r.u32[(at + f10) >> 2] if f10 else 0
    output_id = r.u32[(at + f11) >> 2] if f11 else 0
    flags = r.u32[(at + f12) >> 2] if f12 else 0
    value = make(
        padding_top,
        padding_right,
        padding_bottom,
        padding_left,
        pooling_height,
        pooling_width,
        stride_height,
        stride_width,
        dilation_height,
        dilation_width,
        input_id,
        output_id,
        flags,
    )
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnnstatic_reshape(r: Reader, at: int) -> XNNStaticReshape:
    f0, f1, f2, f3, f4 = r.table(at, _XNNSTATIC_RESHAPE)
    num_dims = r.u32[(at + f0) >> 2] if f0 else 0
    new_shape = r.u32_vector(at + f1, "new_shape") if f1 else []
    input_id = r.u32[(at + f2) >> 2] if f2 else 0
    output_id = r.u32[(at + f3) >> 2] if f3 else 0
    flags = r.u32[(at + f4) >> 2] if f4 else 0
    value = XNNStaticReshape(num_dims, new_shape, input_id, output_id, flags)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnnarg_max_pooling2d(r: Reader, at: int) -> XNNArgMaxPooling2d:
    f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 = r.table(at, _XNNARG_MAX_POOLING2D)
    padding_top = r.u32[(at + f0) >> 2] if f0 else 0
    padding_right = r.u32[(at + f1) >> 2] if f1 else 0
    padding_bottom = r.u32[(at + f2) >> 2] if f2 else 0
    padding_left = r.u32[(at + f3) >> 2] if f3 else 0
    pooling_height = r.u32[(at + f4) >> 2] if f4 else 0
    pooling_width = r.u32[(at + f5) >> 2] if f5 else 0
    input_id = r.u32[(at + f6) >> 2] if f6 else 0
    output_value_id = r.u32[(at + f7) >> 2] if f7 else 0
    output_index_id = r.u32[(at + f8) >> 2] if f8 else 0
    flags = r.u32[(at + f9) >> 2] if f9 else 0
    value = XNNArgMaxPooling2d(
        padding_top,
        padding_right,
        padding_bottom,
        padding_left,
        pooling_height,
        pooling_width,
        input_id,
        output_value_id,
        output_index_id,
        flags,
    )
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnnleaky_re_lu(r: Reader, at: int) -> XNNLeakyReLU:
    f0, f1, f2, f3 = r.table(at, _XNNLEAKY_RE_LU)
    negative_slope = r.f32[(at + f0) >> 2] if f0 else 0.0
    input_id = r.u32[(at + f1) >> 2] if f1 else 0
    output_id = r.u32[(at + f2) >> 2] if f2 else 0
    flags = r.u32[(at + f3) >> 2] if f3 else 0
    value = XNNLeakyReLU(negative_slope, input_id, output_id, flags)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnnelu(r: Reader, at: int) -> XNNELU:
    f0, f1, f2, f3 = r.table(at, _XNNELU)
    alpha = r.f32[(at + f0) >> 2] if f0 else 0.0
    input_id = r.u32[(at + f1) >> 2] if f1 else 0
    output_id = r.u32[(at + f2) >> 2] if f2 else 0
    flags = r.u32[(at + f3) >> 2] if f3 else 0
    value = XNNELU(alpha, input_id, output_id, flags)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_node_cat(r: Reader, at: int, make: type[NodeCatClass]) -> NodeCatClass:
    f0, f1, f2, f3, f4, f5, f6, f7 = r.table(at, _NODE_CAT)
    axis = r.u32[(at + f0) >> 2] if f0 else 0
    input1_id = r.u32[(at + f1) >> 2] if f1 else 0
    input2_id = r.u32[(at + f2) >> 2] if f2 else 0
    input3_id = r.u32[(at + f3) >> 2] if f3 else 0
    input4_id = r.u32[(at + f4) >> 2] if f4 else 0
    output_id = r.u32[(at + f5) >> 2] if f5 else 0
    flags = r.u32[(at + f6) >> 2] if f6 else 0
    input5_id = r.u32[(at + f7) >> 2] if f7 else 0
    value = make(axis, input1_id, input2_id, input3_id, input4_id, output_id, flags, input5_id)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnnstatic_slice(r: Reader, at: int) -> XNNStaticSlice:
    f0, f1, f2, f3, f4, f5 = r.table(at, _XNNSTATIC_SLICE)
    num_dims = r.u32[(at + f0) >> 2] if f0 else 0
    offsets = r.u32_vector(at + f1, "offsets") if f1 else []
    sizes = r.u32_vector(at + f2, "sizes") if f2 else []
    input_id = r.u32[(at + f3) >> 2] if f3 else 0
    output_id = r.u32[(at + f4) >> 2] if f4 else 0
    flags = r.u32[(at + f5) >> 2] if f5 else 0
    value = XNNStaticSlice(num_dims, offsets, sizes, input_id, output_id, flags)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnnscaled_dot_product_attention(r: Reader, at: int) -> XNNScaledDotProductAttention:
    f0, f1, f2, f3, f4, f5, f6 = r.table(at, _XNNSCALED_DOT_PRODUCT_ATTENTION)
    query_id = r.u32[(at + f0) >> 2] if f0 else 0
    key_id = r.u32[(at + f1) >> 2] if f1 else 0
    value_id = r.u32[(at + f2) >> 2] if f2 else 0
    scale_id = r.u32[(at + f3) >> 2] if f3 else 0
    mask_id = r.u32[(at + f4) >> 2] if f4 else 0
    output_id = r.u32[(at + f5) >> 2] if f5 else 0
    flags = r.u32[(at + f6) >> 2] if f6 else 0
    value = XNNScaledDotProductAttention(query_id, key_id, value_id, scale_id, mask_id, output_id, flags)
    if r.offsets is not None:
        r.place(value, at)
    return value


_XNODE_UNION_READERS: dict[int, Callable[[Reader, int], XNodeUnion]] = {
    1: lambda r, at: _read_node2x1(r, at, XNNAdd),
    2: _read_xnnfully_connected,
    3: lambda r, at: _read_node1x1(r, at, XNNSoftmax),
    4: lambda r, at: _read_node1x1(r, at, XNNSigmoid),
    5: _read_xnnstatic_transpose,
    6: lambda r, at: _read_node1x1(r, at, XNNClamp),
    7: lambda r, at: _read_node_conv(r, at, XNNConv2d),
    8: lambda r, at: _read_node2x1(r, at, XNNDiv),
    9: _read_xnnstatic_resize_bilinear2_d,
    10: _read_xnnstatic_constant_pad,
    11: lambda r, at: _read_node_pooling2_d(r, at, XNNAvgPooling2d),
    12: lambda r, at: _read_node2x1(r, at, XNNMinimum),
    13: lambda r, at: _read_node_conv(r, at, XNNDepthwiseConv2d),
    14: lambda r, at: _read_node_pooling2_d(r, at, XNNMaxPooling2d),
    15: lambda r, at: _read_node2x1(r, at, XNNMultiply),
    16: lambda r, at: _read_node2x1(r, at, XNNSubtract),
    17: lambda r, at: _read_node1x1(r, at, XNNFloor),
    18: lambda r, at: _read_node1x1(r, at, XNNConvert),
    19: lambda r, at: _read_node1x1(r, at, XNNGlobalAvgPooling2d),
    20: _read_xnnstatic_reshape,
    21: _read_xnnarg_max_pooling2d,
    22: lambda r, at: _read_node1x1(r, at, XNNSquareRoot),
    23: lambda r, at: _read_node1x1(r, at, XNNCeiling),
    24: lambda r, at: _read_node1x1(r, at, XNNHardswish),
    25: _read_xnnleaky_re_lu,
    26: lambda r, at: _read_node2x1(r, at, XNNMaximum),
    27: lambda r, at: _read_node1x1(r, at, XNNNegate),
    28: lambda r, at: _read_node1x1(r, at, XNNSquare),
    29: _read_xnnelu,
    30: lambda r, at: _read_node1x1(r, at, XNNAbs),
    31: lambda r, at: _read_node2x1(r, at, XNNPReLU),
    32: lambda r, at: _read_node_cat(r, at, XNNConcatenate2),
    33: lambda r, at: _read_node_cat(r, at, XNNConcatenate3),
    34: lambda r, at: _read_node_cat(r, at, XNNConcatenate4),
    35: _read_xnnstatic_slice,
    36: _read_xnnscaled_dot_product_attention,
    37: lambda r, at: _read_node2x1(r, at, XNNBatchMatrixMultiply),
    38: lambda r, at: _read_node_cat(r, at, XNNConcatenate5),
    39: lambda r, at: _read_node_conv(r, at, XNNConvTranspose2d),
    40: lambda r, at: _read_node1x1(r, at, XNNReciprocalSquareRoot),
    41: lambda r, at: _read_node1x1(r, at, XNNLog),
    42: lambda r, at: _read_node1x1(r, at, XNNGelu),
    43: lambda r, at: _read_node1x1(r, at, XNNTanh),
    44: lambda r, at: _read_node1x1(r, at, XNNExp),
    45: lambda r, at: _read_node1x1(r, at, XNNSin),
    46: lambda r, at: _read_node1x1(r, at, XNNCopy),
    47: lambda r, at: _read_node1x1(r, at, XNNCos),
}


def _read_output_min_max(r: Reader, at: int) -> OutputMinMax:
    f0, f1 = r.table(at, _OUTPUT_MIN_MAX)
    output_min = r.f32[(at + f0) >> 2] if f0 else 0.0
    output_max = r.f32[(at + f1) >> 2] if f1 else 0.0
    value = OutputMinMax(output_min, output_max)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnode(r: Reader, at: int) -> XNode:
    f0, f1, f2, f3 = r.table(at, _XNODE)
    xnode_union_type = r.u8[at + f0] if f0 else 0
    xnode_union = None
    if xnode_union_type:
        reader = _XNODE_UNION_READERS.get(xnode_union_type)
        if reader is None:
            raise r.unknown("XNodeUnion", xnode_union_type, at + f0, "xnode_union")
        if not f1:
            raise r.fault("union has a type but no value", at, "xnode_union")
        try:
            xnode_union = reader(r, at + f1 + r.u32[(at + f1) >> 2])
        except InvalidFile as error:
            error.nest("xnode_union")
            raise
    debug_handle = r.u32[(at + f2) >> 2] if f2 else 0
    output_min_max = None
    if f3:
        try:
            output_min_max = _read_output_min_max(r, at + f3 + r.u32[(at + f3) >> 2])
        except InvalidFile as error:
            error.nest("output_min_max")
            raise
    value = XNode(xnode_union, debug_handle, output_min_max)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnntensor_value(r: Reader, at: int) -> XNNTensorValue:
    f0, f1, f2, f3, f4, f5, f6, f7 = r.table(at, _XNNTENSOR_VALUE)
    datatype = _XNNDATATYPE.get(r.i16[(at + f0) >> 1]) if f0 else XNNDatatype.invalid
    if datatype is None:
        raise r.unknown("XNNDatatype", r.i16[(at + f0) >> 1], at + f0, "datatype")
    num_dims = r.u32[(at + f1) >> 2] if f1 else 0
    dims = r.u32_vector(at + f2, "dims") if f2 else []
    constant_buffer_idx = r.u32[(at + f3) >> 2] if f3 else 0
    external_id = r.u32[(at + f4) >> 2] if f4 else 0
    flags = r.u32[(at + f5) >> 2] if f5 else 0
    id_out = r.u32[(at + f6) >> 2] if f6 else 0
    dq_datatype = _XNNDATATYPE.get(r.i16[(at + f7) >> 1]) if f7 else XNNDatatype.invalid
    if dq_datatype is None:
        raise r.unknown("XNNDatatype", r.i16[(at + f7) >> 1], at + f7, "dq_datatype")
    value = XNNTensorValue(
        datatype,
        num_dims,
        dims,
        constant_buffer_idx,
        external_id,
        flags,
        id_out,
        dq_datatype,
    )
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_per_channel_quant(r: Reader, at: int) -> PerChannelQuant:
    f0, f1, f2, f3 = r.table(at, _PER_CHANNEL_QUANT)
    scale = r.f32_vector(at + f0, "scale") if f0 else []
    channel_dim = r.i32[(at + f1) >> 2] if f1 else 0
    scale_buffer_idx = r.u32[(at + f2) >> 2] if f2 else 0
    num_scales = r.u32[(at + f3) >> 2] if f3 else 0
    value = PerChannelQuant(scale, channel_dim, scale_buffer_idx, num_scales)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_per_tensor_quant(r: Reader, at: int) -> PerTensorQuant:
    f0, f1 = r.table(at, _PER_TENSOR_QUANT)
    scale = r.f32[(at + f0) >> 2] if f0 else 0.0
    zero_point = r.i32[(at + f1) >> 2] if f1 else 0
    value = PerTensorQuant(scale, zero_point)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_per_token_dynamic_quant(r: Reader, at: int) -> PerTokenDynamicQuant:
    (f0,) = r.table(at, _PER_TOKEN_DYNAMIC_QUANT)
    num_nonbatch_dims = r.i32[(at + f0) >> 2] if f0 else 0
    value = PerTokenDynamicQuant(num_nonbatch_dims)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_per_channel_group_quant(r: Reader, at: int) -> PerChannelGroupQuant:
    f0, f1, f2, _, f4, f5 = r.table(at, _PER_CHANNEL_GROUP_QUANT)
    scale = r.f32_vector(at + f0, "scale") if f0 else []
    channel_dim = r.i32[(at + f1) >> 2] if f1 else 0
    group_size = r.i32[(at + f2) >> 2] if f2 else 0
    scale_buffer_idx = r.u32[(at + f4) >> 2] if f4 else 0
    num_scales = r.u32[(at + f5) >> 2] if f5 else 0
    value = PerChannelGroupQuant(scale, channel_dim, group_size, scale_buffer_idx, num_scales)
    if r.offsets is not None:
        r.place(value, at)
    return value


_XNNQUANT_PARAMS_READERS: dict[int, Callable[[Reader, int], XNNQuantParams]] = {
    1: _read_per_channel_quant,
    2: _read_per_tensor_quant,
    3: _read_per_token_dynamic_quant,
    4: _read_per_channel_group_quant,
}


def _read_xnnquantized_tensor_value(r: Reader, at: int) -> XNNQuantizedTensorValue:
    f0, f1, f2 = r.table(at, _XNNQUANTIZED_TENSOR_VALUE)
    tensor_value = None
    if f0:
        try:
            tensor_value = _read_xnntensor_value(r, at + f0 + r.u32[(at + f0) >> 2])
        except InvalidFile as error:
            error.nest("tensor_value")
            raise
    quant_params_type = r.u8[at + f1] if f1 else 0
    quant_params = None
    if quant_params_type:
        reader = _XNNQUANT_PARAMS_READERS.get(quant_params_type)
        if reader is None:
            raise r.unknown("XNNQuantParams", quant_params_type, at + f1, "quant_params")
        if not f2:
            raise r.fault("union has a type but no value", at, "quant_params")
        try:
            quant_params = reader(r, at + f2 + r.u32[(at + f2) >> 2])
        except InvalidFile as error:
            error.nest("quant_params")
            raise
    value = XNNQuantizedTensorValue(tensor_value, quant_params)
    if r.offsets is not None:
        r.place(value, at)
    return value


_XVALUE_UNION_READERS: dict[int, Callable[[Reader, int], XValueUnion]] = {
    1: _read_xnntensor_value,
    2: _read_xnnquantized_tensor_value,
}


def _read_xvalue(r: Reader, at: int) -> XValue:
    f0, f1 = r.table(at, _XVALUE)
    xvalue_union_type = r.u8[at + f0] if f0 else 0
    xvalue_union = None
    if xvalue_union_type:
        reader = _XVALUE_UNION_READERS.get(xvalue_union_type)
        if reader is None:
            raise r.unknown("XValueUnion", xvalue_union_type, at + f0, "xvalue_union")
        if not f1:
            raise r.fault("union has a type but no value", at, "xvalue_union")
        try:
            xvalue_union = reader(r, at + f1 + r.u32[(at + f1) >> 2])
        except InvalidFile as error:
            error.nest("xvalue_union")
            raise
    value = XValue(xvalue_union)
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


def _read_constant_data_offset(r: Reader, at: int) -> ConstantDataOffset:
    f0, f1, f2 = r.table(at, _CONSTANT_DATA_OFFSET)
    offset = r.u64[(at + f0) >> 3] if f0 else 0
    size = r.u64[(at + f1) >> 3] if f1 else 0
    named_key = r.string(at + f2, "named_key") if f2 else ""
    value = ConstantDataOffset(offset, size, named_key)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_xnngraph(r: Reader, at: int) -> XNNGraph:
    f0, f1, f2, f3, f4, f5, f6, _, f8 = r.table(at, _XNNGRAPH)
    version = r.string(at + f0, "version") if f0 else ""
    xnodes: list[XNode] = []
    if f1:
        first, count = r.table_vector(at + f1, "xnodes")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                xnodes.append(_read_xnode(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"xnodes[{len(xnodes)}]"
                xnodes.append(r.substitute(XNode(), item, path, error))
    xvalues: list[XValue] = []
    if f2:
        first, count = r.table_vector(at + f2, "xvalues")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                xvalues.append(_read_xvalue(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"xvalues[{len(xvalues)}]"
                xvalues.append(r.substitute(XValue(), item, path, error))
    num_externs = r.u32[(at + f3) >> 2] if f3 else 0
    input_ids = r.u32_vector(at + f4, "input_ids") if f4 else []
    output_ids = r.u32_vector(at + f5, "output_ids") if f5 else []
    constant_buffer: list[Buffer] = []
    if f6:
        first, count = r.table_vector(at + f6, "constant_buffer")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                constant_buffer.append(_read_buffer(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"constant_buffer[{len(constant_buffer)}]"
                constant_buffer.append(r.substitute(Buffer(), item, path, error))
    constant_data: list[ConstantDataOffset] = []
    if f8:
        first, count = r.table_vector(at + f8, "constant_data")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                constant_data.append(_read_constant_data_offset(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"constant_data[{len(constant_data)}]"
                constant_data.append(r.substitute(ConstantDataOffset(), item, path, error))
    value = XNNGraph(
        version,
        xnodes,
        xvalues,
        num_externs,
        input_ids,
        output_ids,
        constant_buffer,
        constant_data,
    )
    if r.offsets is not None:
        r.place(value, at)
    return value


def _write_node2x1(w: Writer, value: Node2x1) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.input1_id:
        present |= 0x1
        scalars.append(value.input1_id)
    if value.input2_id:
        present |= 0x2
        scalars.append(value.input2_id)
    if value.output_id:
        present |= 0x4
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x8
        scalars.append(value.flags)
    return w.table(_NODE2X1, present, offsets, scalars)


def _write_xnnfully_connected(w: Writer, value: XNNFullyConnected) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.input1_id:
        present |= 0x1
        scalars.append(value.input1_id)
    if value.filter_id:
        present |= 0x2
        scalars.append(value.filter_id)
    if value.bias_id:
        present |= 0x4
        scalars.append(value.bias_id)
    if value.output_id:
        present |= 0x8
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x10
        scalars.append(value.flags)
    return w.table(_XNNFULLY_CONNECTED, present, offsets, scalars)


def _write_node1x1(w: Writer, value: Node1x1) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.input_id:
        present |= 0x1
        scalars.append(value.input_id)
    if value.output_id:
        present |= 0x2
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x4
        scalars.append(value.flags)
    return w.table(_NODE1X1, present, offsets, scalars)


def _write_xnnstatic_transpose(w: Writer, value: XNNStaticTranspose) -> int:
    present = 0x2
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.u32_vector(value.perm))
    if value.num_dims:
        present |= 0x1
        scalars.append(value.num_dims)
    if value.input_id:
        present |= 0x4
        scalars.append(value.input_id)
    if value.output_id:
        present |= 0x8
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x10
        scalars.append(value.flags)
    return w.table(_XNNSTATIC_TRANSPOSE, present, offsets, scalars)


def _write_node_conv(w: Writer, value: NodeConv) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.padding_top:
        present |= 0x1
        scalars.append(value.padding_top)
    if value.padding_right:
        present |= 0x2
        scalars.append(value.padding_right)
    if value.padding_bottom:
        present |= 0x4
        scalars.append(value.padding_bottom)
    if value.padding_left:
        present |= 0x8
        scalars.append(value.padding_left)
    if value.kernel_height:
        present |= 0x10
        scalars.append(value.kernel_height)
    if value.kernel_width:
        present |= 0x20
        scalars.append(value.kernel_width)
    if value.subsampling_height:
        present |= 0x40
        scalars.append(value.subsampling_height)
    if value.subsampling_width:
        present |= 0x80
        scalars.append(value.subsampling_width)
    if value.dilation_height:
        present |= 0x100
        scalars.append(value.dilation_height)
    if value.dilation_width:
        present |= 0x200
        scalars.append(value.dilation_width)
    if value.group_input_channels:
        present |= 0x400
        scalars.append(value.group_input_channels)
    if value.group_output_channels:
        present |= 0x800
        scalars.append(value.group_output_channels)
    if value.groups:
        present |= 0x1000
        scalars.append(value.groups)
    if value.adjustment_height:
        present |= 0x2000
        scalars.append(value.adjustment_height)
    if value.adjustment_width:
        present |= 0x4000
        scalars.append(value.adjustment_width)
    if value.input1_id:
        present |= 0x8000
        scalars.append(value.input1_id)
    if value.filter_id:
        present |= 0x10000
        scalars.append(value.filter_id)
    if value.bias_id:
        present |= 0x20000
        scalars.append(value.bias_id)
    if value.output_id:
        present |= 0x40000
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x80000
        scalars.append(value.flags)
    return w.table(_NODE_CONV, present, offsets, scalars)


def _write_xnnstatic_resize_bilinear2_d(w: Writer, value: XNNStaticResizeBilinear2D) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.new_height:
        present |= 0x1
        scalars.append(value.new_height)
    if value.new_width:
        present |= 0x2
        scalars.append(value.new_width)
    if value.input_id:
        present |= 0x4
        scalars.append(value.input_id)
    if value.output_id:
        present |= 0x8
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x10
        scalars.append(value.flags)
    return w.table(_XNNSTATIC_RESIZE_BILINEAR2_D, present, offsets, scalars)


def _write_xnnstatic_constant_pad(w: Writer, value: XNNStaticConstantPad) -> int:
    present = 0x3
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.u32_vector(value.post_paddings))
    offsets.append(w.u32_vector(value.pre_paddings))
    if value.padding_value or copysign(1.0, value.padding_value) < 0:
        present |= 0x4
        scalars.append(value.padding_value)
    if value.input_id:
        present |= 0x8
        scalars.append(value.input_id)
    if value.output_id:
        present |= 0x10
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x20
        scalars.append(value.flags)
    return w.table(_XNNSTATIC_CONSTANT_PAD, present, offsets, scalars)


def _write_node_pooling2_d(w: Writer, value: NodePooling2D) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.padding_top:
        present |= 0x1
        scalars.append(value.padding_top)
    if value.padding_right:
        present |= 0x2
        scalars.append(value.padding_right)
    if value.padding_bottom:
        present |= 0x4
        scalars.append(value.padding_bottom)
    if value.padding_left:
        present |= 0x8
        scalars.append(value.padding_left)
    if value.pooling_height:
        present |= 0x10
        scalars.append(value.pooling_height)
    if value.pooling_width:
        present |= 0x20
        scalars.append(value.pooling_width)
    if value.stride_height:
        present |= 0x40
        scalars.append(value.stride_height)
    if value.stride_width:
        present |= 0x80
        scalars.append(value.stride_width)
    if value.dilation_height:
        present |= 0x100
        scalars.append(value.dilation_height)
    if value.dilation_width:
        present |= 0x200
        scalars.append(value.dilation_width)
    if value.input_id:
        present |= 0x400
        scalars.append(value.input_id)
    if value.output_id:
        present |= 0x800
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x1000
        scalars.append(value.flags)
    return w.table(_NODE_POOLING2_D, present, offsets, scalars)


def _write_xnnstatic_reshape(w: Writer, value: XNNStaticReshape) -> int:
    present = 0x2
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.u32_vector(value.new_shape))
    if value.num_dims:
        present |= 0x1
        scalars.append(value.num_dims)
    if value.input_id:
        present |= 0x4
        scalars.append(value.input_id)
    if value.output_id:
        present |= 0x8
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x10
        scalars.append(value.flags)
    return w.table(_XNNSTATIC_RESHAPE, present, offsets, scalars)


def _write_xnnarg_max_pooling2d(w: Writer, value: XNNArgMaxPooling2d) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.padding_top:
        present |= 0x1
        scalars.append(value.padding_top)
    if value.padding_right:
        present |= 0x2
        scalars.append(value.padding_right)
    if value.padding_bottom:
        present |= 0x4
        scalars.append(value.padding_bottom)
    if value.padding_left:
        present |= 0x8
        scalars.append(value.padding_left)
    if value.pooling_height:
        present |= 0x10
        scalars.append(value.pooling_height)
    if value.pooling_width:
        present |= 0x20
        scalars.append(value.pooling_width)
    if value.input_id:
        present |= 0x40
        scalars.append(value.input_id)
    if value.output_value_id:
        present |= 0x80
        scalars.append(value.output_value_id)
    if value.output_index_id:
        present |= 0x100
        scalars.append(value.output_index_id)
    if value.flags:
        present |= 0x200
        scalars.append(value.flags)
    return w.table(_XNNARG_MAX_POOLING2D, present, offsets, scalars)


def _write_xnnleaky_re_lu(w: Writer, value: XNNLeakyReLU) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.negative_slope or copysign(1.0, value.negative_slope) < 0:
        present |= 0x1
        scalars.append(value.negative_slope)
    if value.input_id:
        present |= 0x2
        scalars.append(value.input_id)
    if value.output_id:
        present |= 0x4
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x8
        scalars.append(value.flags)
    return w.table(_XNNLEAKY_RE_LU, present, offsets, scalars)


def _write_xnnelu(w: Writer, value: XNNELU) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.alpha or copysign(1.0, value.alpha) < 0:
        present |= 0x1
        scalars.append(value.alpha)
    if value.input_id:
        present |= 0x2
        scalars.append(value.input_id)
    if value.output_id:
        present |= 0x4
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x8
        scalars.append(value.flags)
    return w.table(_XNNELU, present, offsets, scalars)


def _write_node_cat(w: Writer, value: NodeCat) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.axis:
        present |= 0x1
        scalars.append(value.axis)
    if value.input1_id:
        present |= 0x2
        scalars.append(value.input1_id)
    if value.input2_id:
        present |= 0x4
        scalars.append(value.input2_id)
    if value.input3_id:
        present |= 0x8
        scalars.append(value.input3_id)
    if value.input4_id:
        present |= 0x10
        scalars.append(value.input4_id)
    if value.output_id:
        present |= 0x20
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x40
        scalars.append(value.flags)
    if value.input5_id:
        present |= 0x80
        scalars.append(value.input5_id)
    return w.table(_NODE_CAT, present, offsets, scalars)


def _write_xnnstatic_slice(w: Writer, value: XNNStaticSlice) -> int:
    present = 0x6
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.u32_vector(value.sizes))
    offsets.append(w.u32_vector(value.offsets))
    if value.num_dims:
        present |= 0x1
        scalars.append(value.num_dims)
    if value.input_id:
        present |= 0x8
        scalars.append(value.input_id)
    if value.output_id:
        present |= 0x10
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x20
        scalars.append(value.flags)
    return w.table(_XNNSTATIC_SLICE, present, offsets, scalars)


def _write_xnnscaled_dot_product_attention(w: Writer, value: XNNScaledDotProductAttention) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.query_id:
        present |= 0x1
        scalars.append(value.query_id)
    if value.key_id:
        present |= 0x2
        scalars.append(value.key_id)
    if value.value_id:
        present |= 0x4
        scalars.append(value.value_id)
    if value.scale_id:
        present |= 0x8
        scalars.append(value.scale_id)
    if value.mask_id:
        present |= 0x10
        scalars.append(value.mask_id)
    if value.output_id:
        present |= 0x20
        scalars.append(value.output_id)
    if value.flags:
        present |= 0x40
        scalars.append(value.flags)
    return w.table(_XNNSCALED_DOT_PRODUCT_ATTENTION, present, offsets, scalars)


_XNODE_UNION_WRITERS: dict[type, tuple[int, Callable[[Writer, Any], int]]] = {
    XNNAdd: (1, _write_node2x1),
    XNNFullyConnected: (2, _write_xnnfully_connected),
    XNNSoftmax: (3, _write_node1x1),
    XNNSigmoid: (4, _write_node1x1),
    XNNStaticTranspose: (5, _write_xnnstatic_transpose),
    XNNClamp: (6, _write_node1x1),
    XNNConv2d: (7, _write_node_conv),
    XNNDiv: (8, _write_node2x1),
    XNNStaticResizeBilinear2D: (9, _write_xnnstatic_resize_bilinear2_d),
    XNNStaticConstantPad: (10, _write_xnnstatic_constant_pad),
    XNNAvgPooling2d: (11, _write_node_pooling2_d),
    XNNMinimum: (12, _write_node2x1),
    XNNDepthwiseConv2d: (13, _write_node_conv),
    XNNMaxPooling2d: (14, _write_node_pooling2_d),
    XNNMultiply: (15, _write_node2x1),
    XNNSubtract: (16, _write_node2x1),
    XNNFloor: (17, _write_node1x1),
    XNNConvert: (18, _write_node1x1),
    XNNGlobalAvgPooling2d: (19, _write_node1x1),
    XNNStaticReshape: (20, _write_xnnstatic_reshape),
    XNNArgMaxPooling2d: (21, _write_xnnarg_max_pooling2d),
    XNNSquareRoot: (22, _write_node1x1),
    XNNCeiling: (23, _write_node1x1),
    XNNHardswish: (24, _write_node1x1),
    XNNLeakyReLU: (25, _write_xnnleaky_re_lu),
    XNNMaximum: (26, _write_node2x1),
    XNNNegate: (27, _write_node1x1),
    XNNSquare: (28, _write_node1x1),
    XNNELU: (29, _write_xnnelu),
    XNNAbs: (30, _write_node1x1),
    XNNPReLU: (31, _write_node2x1),
    XNNConcatenate2: (32, _write_node_cat),
    XNNConcatenate3: (33, _write_node_cat),
    XNNConcatenate4: (34, _write_node_cat),
    XNNStaticSlice: (35, _write_xnnstatic_slice),
    XNNScaledDotProductAttention: (36, _write_xnnscaled_dot_product_attention),
    XNNBatchMatrixMultiply: (37, _write_node2x1),
    XNNConcatenate5: (38, _write_node_cat),
    XNNConvTranspose2d: (39, _write_node_conv),
    XNNReciprocalSquareRoot: (40, _write_node1x1),
    XNNLog: (41, _write_node1x1),
    XNNGelu: (42, _write_node1x1),
    XNNTanh: (43, _write_node1x1),
    XNNExp: (44, _write_node1x1),
    XNNSin: (45, _write_node1x1),
    XNNCopy: (46, _write_node1x1),
    XNNCos: (47, _write_node1x1),
}


def _write_output_min_max(w: Writer, value: OutputMinMax) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.output_min or copysign(1.0, value.output_min) < 0:
        present |= 0x1
        scalars.append(value.output_min)
    if value.output_max or copysign(1.0, value.output_max) < 0:
        present |= 0x2
        scalars.append(value.output_max)
    return w.table(_OUTPUT_MIN_MAX, present, offsets, scalars)


def _write_xnode(w: Writer, value: XNode) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.output_min_max is not None:
        present |= 0x8
        offsets.append(_write_output_min_max(w, value.output_min_max))
    xnode_union_type = 0
    if value.xnode_union is not None:
        present |= 0x3
        xnode_union_type, writer = _XNODE_UNION_WRITERS[type(value.xnode_union)]
        offsets.append(writer(w, value.xnode_union))
    if value.debug_handle:
        present |= 0x4
        scalars.append(value.debug_handle)
    if xnode_union_type:
        scalars.append(xnode_union_type)
    return w.table(_XNODE, present, offsets, scalars)


def _write_xnntensor_value(w: Writer, value: XNNTensorValue) -> int:
    present = 0x4
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.u32_vector(value.dims))
    if value.num_dims:
        present |= 0x2
        scalars.append(value.num_dims)
    if value.constant_buffer_idx:
        present |= 0x8
        scalars.append(value.constant_buffer_idx)
    if value.external_id:
        present |= 0x10
        scalars.append(value.external_id)
    if value.flags:
        present |= 0x20
        scalars.append(value.flags)
    if value.id_out:
        present |= 0x40
        scalars.append(value.id_out)
    if value.datatype != XNNDatatype.invalid:
        present |= 0x1
        scalars.append(value.datatype)
    if value.dq_datatype != XNNDatatype.invalid:
        present |= 0x80
        scalars.append(value.dq_datatype)
    return w.table(_XNNTENSOR_VALUE, present, offsets, scalars)


def _write_per_channel_quant(w: Writer, value: PerChannelQuant) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.f32_vector(value.scale))
    if value.channel_dim:
        present |= 0x2
        scalars.append(value.channel_dim)
    if value.scale_buffer_idx:
        present |= 0x4
        scalars.append(value.scale_buffer_idx)
    if value.num_scales:
        present |= 0x8
        scalars.append(value.num_scales)
    return w.table(_PER_CHANNEL_QUANT, present, offsets, scalars)


def _write_per_tensor_quant(w: Writer, value: PerTensorQuant) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.scale or copysign(1.0, value.scale) < 0:
        present |= 0x1
        scalars.append(value.scale)
    if value.zero_point:
        present |= 0x2
        scalars.append(value.zero_point)
    return w.table(_PER_TENSOR_QUANT, present, offsets, scalars)


def _write_per_token_dynamic_quant(w: Writer, value: PerTokenDynamicQuant) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.num_nonbatch_dims:
        present |= 0x1
        scalars.append(value.num_nonbatch_dims)
    return w.table(_PER_TOKEN_DYNAMIC_QUANT, present, offsets, scalars)


def _write_per_channel_group_quant(w: Writer, value: PerChannelGroupQuant) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.f32_vector(value.scale))
    if value.channel_dim:
        present |= 0x2
        scalars.append(value.channel_dim)
    if value.group_size:
        present |= 0x4
        scalars.append(value.group_size)
    if value.scale_buffer_idx:
        present |= 0x10
        scalars.append(value.scale_buffer_idx)
    if value.num_scales:
        present |= 0x20
        scalars.append(value.num_scales)
    return w.table(_PER_CHANNEL_GROUP_QUANT, present, offsets, scalars)


_XNNQUANT_PARAMS_WRITERS: dict[type, tuple[int, Callable[[Writer, Any], int]]] = {
    PerChannelQuant: (1, _write_per_channel_quant),
    PerTensorQuant: (2, _write_per_tensor_quant),
    PerTokenDynamicQuant: (3, _write_per_token_dynamic_quant),
    PerChannelGroupQuant: (4, _write_per_channel_group_quant),
}


def _write_xnnquantized_tensor_value(w: Writer, value: XNNQuantizedTensorValue) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    quant_params_type = 0
    if value.quant_params is not None:
        present |= 0x6
        quant_params_type, writer = _XNNQUANT_PARAMS_WRITERS[type(value.quant_params)]
        offsets.append(writer(w, value.quant_params))
    if value.tensor_value is not None:
        present |= 0x1
        offsets.append(_write_xnntensor_value(w, value.tensor_value))
    if quant_params_type:
        scalars.append(quant_params_type)
    return w.table(_XNNQUANTIZED_TENSOR_VALUE, present, offsets, scalars)


_XVALUE_UNION_WRITERS: dict[type, tuple[int, Callable[[Writer, Any], int]]] = {
    XNNTensorValue: (1, _write_xnntensor_value),
    XNNQuantizedTensorValue: (2, _write_xnnquantized_tensor_value),
}


def _write_xvalue(w: Writer, value: XValue) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    xvalue_union_type = 0
    if value.xvalue_union is not None:
        present |= 0x3
        xvalue_union_type, writer = _XVALUE_UNION_WRITERS[type(value.xvalue_union)]
        offsets.append(writer(w, value.xvalue_union))
    if xvalue_union_type:
        scalars.append(xvalue_union_type)
    return w.table(_XVALUE, present, offsets, scalars)


def _write_buffer(w: Writer, value: Buffer) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.blob(value.storage, 16, "Buffer"))
    return w.table(_BUFFER, present, offsets, scalars)


def _write_constant_data_offset(w: Writer, value: ConstantDataOffset) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.named_key:
        present |= 0x4
        offsets.append(w.string(value.named_key))
    if value.offset:
        present |= 0x1
        scalars.append(value.offset)
    if value.size:
        present |= 0x2
        scalars.append(value.size)
    return w.table(_CONSTANT_DATA_OFFSET, present, offsets, scalars)


def _write_xnngraph(w: Writer, value: XNNGraph) -> int:
    present = 0x137
    offsets: list[int] = []
    scalars: list[int | float] = []
    items = [_write_constant_data_offset(w, item) for item in reversed(value.constant_data)]
    offsets.append(w.tables(items))
    if value.constant_buffer:
        present |= 0x40
        items = [_write_buffer(w, item) for item in reversed(value.constant_buffer)]
        offsets.append(w.tables(items))
    offsets.append(w.u32_vector(value.output_ids))
    offsets.append(w.u32_vector(value.input_ids))
    items = [_write_xvalue(w, item) for item in reversed(value.xvalues)]
    offsets.append(w.tables(items))
    items = [_write_xnode(w, item) for item in reversed(value.xnodes)]
    offsets.append(w.tables(items))
    offsets.append(w.string(value.version))
    if value.num_externs:
        present |= 0x8
        scalars.append(value.num_externs)
    return w.table(_XNNGRAPH, present, offsets, scalars)


def read(reader: Reader, identifier: bytes = FILE_IDENTIFIER) -> XNNGraph:
    """Decode a whole buffer. Raises ``InvalidFile`` with the table path and the byte."""
    return reader.root(identifier, _read_xnngraph)


def write(writer: Writer, value: XNNGraph) -> int:
    """Encode ``value``; the result is the root for ``Writer.finish``."""
    return _write_xnngraph(writer, value)
