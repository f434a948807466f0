"""Tables of graphs in XNNPACK blobs, schema generation XN01.

Names, types and defaults are the wire format and agree with what ExecuTorch reads and writes. A value is named by
its `id_out`; `NO_VALUE` is the id of a value that a node does without. Shapes are in the order of memory: of
an image the batch, the height, the width and the channels.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, TypeAlias

from et_schema.tables import I16, Aligned, At, Bytes, Float32, Int32, OmitEmpty, UInt32, UInt64, table

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


@table
class Buffer:
    """A constant of a file of generation XN00, which has them in the graph itself."""

    storage: Annotated[Bytes, Aligned(16)] = b""


@table
class PerChannelGroupQuant:
    """A scale for each block of group_size elements along the input channels, for each channel: all blocks of a
    channel follow each other. The scales are bfloat16 in the constant that scale_buffer_idx names.
    """

    scale: list[Float32] = []
    channel_dim: Int32 = 0
    group_size: Int32 = 0
    # Slot 3 is deprecated.
    scale_buffer_idx: Annotated[UInt32, At(4)] = 0
    num_scales: UInt32 = 0


@table
class PerChannelQuant:
    """A scale for each channel, here or, as float32, in the constant that scale_buffer_idx names."""

    scale: list[Float32] = []
    channel_dim: Int32 = 0
    scale_buffer_idx: UInt32 = 0
    num_scales: UInt32 = 0


@table
class PerTokenDynamicQuant:
    """A scale and a zero point for each row, found when the graph runs; a row is the last num_nonbatch_dims
    dimensions.
    """

    num_nonbatch_dims: Int32 = 0


@table
class PerTensorQuant:
    scale: Float32 = 0.0
    zero_point: Int32 = 0


XNNQuantParams: TypeAlias = PerChannelQuant | PerTensorQuant | PerTokenDynamicQuant | PerChannelGroupQuant


@table
class XNNTensorValue:
    datatype: Annotated[XNNDatatype, I16] = XNNDatatype.invalid
    num_dims: UInt32 = 0
    dims: list[UInt32] = []
    # Of the constant; 0 is for a value that is none.
    constant_buffer_idx: UInt32 = 0
    # The number of the argument that an input or output of the graph is; 0xFFFFFFFF for a value inside.
    external_id: UInt32 = 0
    # Bit 0: an input of the graph. Bit 1: an output of the graph.
    flags: UInt32 = 0
    id_out: UInt32 = 0
    # Of generation XN00: what the elements are quantized to when the graph runs.
    dq_datatype: Annotated[XNNDatatype, I16] = XNNDatatype.invalid


@table
class XNNQuantizedTensorValue:
    tensor_value: XNNTensorValue | None = None
    quant_params: XNNQuantParams | None = None


XValueUnion: TypeAlias = XNNTensorValue | XNNQuantizedTensorValue


@table
class XValue:
    xvalue_union: XValueUnion | None = None


@table
class OutputMinMax:
    """Output clamp of a node."""

    output_min: Float32 = 0.0
    output_max: Float32 = 0.0


@table
class Node1x1:
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


class XNNSoftmax(Node1x1): ...


class XNNSigmoid(Node1x1): ...


class XNNClamp(Node1x1): ...


class XNNFloor(Node1x1): ...


class XNNConvert(Node1x1): ...


class XNNGlobalAvgPooling2d(Node1x1): ...


class XNNSquareRoot(Node1x1): ...


class XNNCeiling(Node1x1): ...


class XNNHardswish(Node1x1): ...


class XNNNegate(Node1x1): ...


class XNNSquare(Node1x1): ...


class XNNAbs(Node1x1): ...


class XNNReciprocalSquareRoot(Node1x1): ...


class XNNLog(Node1x1): ...


class XNNGelu(Node1x1): ...


class XNNTanh(Node1x1): ...


class XNNExp(Node1x1): ...


class XNNSin(Node1x1): ...


class XNNCopy(Node1x1): ...


class XNNCos(Node1x1): ...


@table
class Node2x1:
    input1_id: UInt32 = 0
    input2_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


class XNNAdd(Node2x1): ...


class XNNDiv(Node2x1): ...


class XNNMinimum(Node2x1): ...


class XNNMultiply(Node2x1): ...


class XNNSubtract(Node2x1): ...


class XNNMaximum(Node2x1): ...


class XNNPReLU(Node2x1): ...


class XNNBatchMatrixMultiply(Node2x1): ...


@table
class NodeCat:
    axis: UInt32 = 0
    input1_id: UInt32 = 0
    input2_id: UInt32 = 0
    input3_id: UInt32 = 0
    input4_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0
    input5_id: UInt32 = 0


class XNNConcatenate2(NodeCat): ...


class XNNConcatenate3(NodeCat): ...


class XNNConcatenate4(NodeCat): ...


class XNNConcatenate5(NodeCat): ...


@table
class NodeConv:
    padding_top: UInt32 = 0
    padding_right: UInt32 = 0
    padding_bottom: UInt32 = 0
    padding_left: UInt32 = 0
    kernel_height: UInt32 = 0
    kernel_width: UInt32 = 0
    subsampling_height: UInt32 = 0
    subsampling_width: UInt32 = 0
    dilation_height: UInt32 = 0
    dilation_width: UInt32 = 0
    group_input_channels: UInt32 = 0
    group_output_channels: UInt32 = 0
    groups: UInt32 = 0
    # Of a transposed convolution: rows and columns that its output has more.
    adjustment_height: UInt32 = 0
    adjustment_width: UInt32 = 0
    input1_id: UInt32 = 0
    filter_id: UInt32 = 0
    bias_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


class XNNConv2d(NodeConv): ...


class XNNDepthwiseConv2d(NodeConv): ...


class XNNConvTranspose2d(NodeConv): ...


@table
class NodePooling2D:
    padding_top: UInt32 = 0
    padding_right: UInt32 = 0
    padding_bottom: UInt32 = 0
    padding_left: UInt32 = 0
    pooling_height: UInt32 = 0
    pooling_width: UInt32 = 0
    stride_height: UInt32 = 0
    stride_width: UInt32 = 0
    dilation_height: UInt32 = 0
    dilation_width: UInt32 = 0
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


class XNNAvgPooling2d(NodePooling2D): ...


class XNNMaxPooling2d(NodePooling2D): ...


@table
class XNNStaticTranspose:
    num_dims: UInt32 = 0
    perm: list[UInt32] = []
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@table
class XNNStaticResizeBilinear2D:
    new_height: UInt32 = 0
    new_width: UInt32 = 0
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@table
class XNNStaticConstantPad:
    pre_paddings: list[UInt32] = []
    post_paddings: list[UInt32] = []
    padding_value: Float32 = 0.0
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@table
class XNNELU:
    alpha: Float32 = 0.0
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@table
class XNNFullyConnected:
    input1_id: UInt32 = 0
    filter_id: UInt32 = 0
    bias_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@table
class XNNStaticReshape:
    num_dims: UInt32 = 0
    new_shape: list[UInt32] = []
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@table
class XNNStaticSlice:
    num_dims: UInt32 = 0
    offsets: list[UInt32] = []
    sizes: list[UInt32] = []
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@table
class XNNScaledDotProductAttention:
    query_id: UInt32 = 0
    key_id: UInt32 = 0
    value_id: UInt32 = 0
    scale_id: UInt32 = 0
    mask_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@table
class XNNArgMaxPooling2d:
    padding_top: UInt32 = 0
    padding_right: UInt32 = 0
    padding_bottom: UInt32 = 0
    padding_left: UInt32 = 0
    pooling_height: UInt32 = 0
    pooling_width: UInt32 = 0
    input_id: UInt32 = 0
    output_value_id: UInt32 = 0
    output_index_id: UInt32 = 0
    flags: UInt32 = 0


@table
class XNNLeakyReLU:
    negative_slope: Float32 = 0.0
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


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


@table
class XNode:
    xnode_union: XNodeUnion | None = None
    debug_handle: UInt32 = 0
    output_min_max: OutputMinMax | None = None


@table
class ConstantDataOffset:
    """The place of a constant: offset bytes into what follows the graph or, with a named_key, in the data of that name
    that the program has; offset is 0xFFFFFFFFFFFFFFFF then.
    """

    offset: UInt64 = 0
    size: UInt64 = 0
    named_key: OmitEmpty[str] = ""


@table
class XNNGraph:
    version: str = ""
    # In the order in which they run.
    xnodes: list[XNode] = []
    xvalues: list[XValue] = []
    num_externs: UInt32 = 0
    # The values that are arguments of the graph; the external_id of each says which argument.
    input_ids: list[UInt32] = []
    output_ids: list[UInt32] = []
    # Of generation XN00.
    constant_buffer: OmitEmpty[list[Buffer]] = []
    # The first is for values that are not constants. Slot 7 has buffer sizes, which nothing reads.
    constant_data: Annotated[list[ConstantDataOffset], At(8)] = []
