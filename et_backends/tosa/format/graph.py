"""Tables of TOSA files, schema of the specification 1.1.

Names, types and defaults are the wire format, which Arm's serializer reads and writes. Tensors and shapes are known by
their names; every operator is a record of its number, the attribute of that number, and the names of its operands.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, TypeAlias

from et_schema.tables import U32, Aligned, Bytes, Int32, UInt32, UInt64, table

FILE_IDENTIFIER = b"TOSA"


class DType(IntEnum):
    """Element type of a tensor."""

    UNKNOWN = 0
    BOOL = 1
    INT4 = 2
    INT8 = 3
    INT16 = 4
    INT32 = 5
    INT48 = 6
    FP32 = 7
    FP16 = 8
    BF16 = 9
    SHAPE = 10
    FP8E4M3 = 11
    FP8E5M2 = 12
    FP6E2M3 = 13
    FP6E3M2 = 14
    FP4E2M1 = 15
    FP8UE8M0 = 16
    INT64 = 17
    MXINT8 = 18


class ResizeMode(IntEnum):
    """Interpolation of `RESIZE`."""

    UNKNOWN = 0
    NEAREST = 1
    BILINEAR = 2


class NanPropagationMode(IntEnum):
    """The result of a comparison of values for a NaN."""

    UNKNOWN = 0
    PROPAGATE = 1
    IGNORE = 2


class RoundingMode(IntEnum):
    """Rounding of `RESCALE`."""

    UNKNOWN = 0
    SINGLE_ROUND = 1
    INEXACT_ROUND = 2
    DOUBLE_ROUND = 3


class BlockSize(IntEnum):
    """Elements that share a scale."""

    UNKNOWN = 0
    BLOCK_SIZE_1 = 1
    BLOCK_SIZE_32 = 32


class BlockShape(IntEnum):
    """Shape of the elements that share a scale."""

    UNKNOWN = 0
    BLOCK_SHAPE_32 = 32


class Op(IntEnum):
    """Operator; its number is also that of its attribute in the union `Attribute`."""

    UNKNOWN = 0
    ARGMAX = 1
    AVG_POOL2D = 2
    CONV2D = 3
    CONV3D = 4
    DEPTHWISE_CONV2D = 5
    FFT2D = 6
    MATMUL = 7
    MAX_POOL2D = 8
    RFFT2D = 9
    TRANSPOSE_CONV2D = 10
    CLAMP = 11
    ERF = 12
    SIGMOID = 13
    TANH = 14
    ADD = 15
    ARITHMETIC_RIGHT_SHIFT = 16
    BITWISE_AND = 17
    BITWISE_OR = 18
    BITWISE_XOR = 19
    INTDIV = 20
    LOGICAL_AND = 21
    LOGICAL_LEFT_SHIFT = 22
    LOGICAL_RIGHT_SHIFT = 23
    LOGICAL_OR = 24
    LOGICAL_XOR = 25
    MAXIMUM = 26
    MINIMUM = 27
    MUL = 28
    POW = 29
    SUB = 30
    TABLE = 31
    ABS = 32
    BITWISE_NOT = 33
    CEIL = 34
    CLZ = 35
    COS = 36
    EXP = 37
    FLOOR = 38
    LOG = 39
    LOGICAL_NOT = 40
    NEGATE = 41
    RECIPROCAL = 42
    RSQRT = 43
    SIN = 44
    SELECT = 45
    EQUAL = 46
    GREATER = 47
    GREATER_EQUAL = 48
    REDUCE_ALL = 49
    REDUCE_ANY = 50
    REDUCE_MAX = 51
    REDUCE_MIN = 52
    REDUCE_PRODUCT = 53
    REDUCE_SUM = 54
    CONCAT = 55
    PAD = 56
    RESHAPE = 57
    REVERSE = 58
    SLICE = 59
    TILE = 60
    TRANSPOSE = 61
    GATHER = 62
    SCATTER = 63
    RESIZE = 64
    CAST = 65
    RESCALE = 66
    CONST = 67
    IDENTITY = 68
    CUSTOM = 69
    COND_IF = 70
    WHILE_LOOP = 71
    VARIABLE = 72
    VARIABLE_WRITE = 73
    VARIABLE_READ = 74
    CONST_SHAPE = 75
    MATMUL_T_BLOCK_SCALED = 76
    CAST_FROM_BLOCK_SCALED = 77
    CAST_TO_BLOCK_SCALED = 78
    DIM = 79
    CONCAT_SHAPE = 80
    ADD_SHAPE = 81
    SUB_SHAPE = 82
    MUL_SHAPE = 83
    SLICE_SHAPE = 84
    EXP2_SHAPE = 85
    LOG2_CEIL_SHAPE = 86
    LOG2_FLOOR_SHAPE = 87
    MAX_SHAPE = 88
    MIN_SHAPE = 89
    MOD_SHAPE = 90
    DIV_CEIL_SHAPE = 91
    DIV_FLOOR_SHAPE = 92
    ASSERT_EQUAL_SHAPE = 93
    CONV2D_BLOCK_SCALED = 94
    MAX_POOL2D_ADAPTIVE = 95
    AVG_POOL2D_ADAPTIVE = 96
    RESHAPE_BLOCK_SCALED = 97
    ROW_GATHER_BLOCK_SCALED = 98
    ROW_GATHER = 99
    MATMUL_T = 100


@table
class ArgMaxAttribute:
    axis: Int32 = 0
    nan_mode: Annotated[NanPropagationMode, U32] = NanPropagationMode.UNKNOWN


@table
class AvgPool2dAttribute:
    kernel: list[Int32] = []
    stride: list[Int32] = []
    pad: list[Int32] = []
    acc_type: Annotated[DType, U32] = DType.UNKNOWN


@table
class Conv2dAttribute:
    pad: list[Int32] = []
    stride: list[Int32] = []
    dilation: list[Int32] = []
    local_bound: bool = False
    acc_type: Annotated[DType, U32] = DType.UNKNOWN


@table
class Conv3dAttribute:
    pad: list[Int32] = []
    stride: list[Int32] = []
    dilation: list[Int32] = []
    local_bound: bool = False
    acc_type: Annotated[DType, U32] = DType.UNKNOWN


@table
class DepthwiseConv2dAttribute:
    pad: list[Int32] = []
    stride: list[Int32] = []
    dilation: list[Int32] = []
    local_bound: bool = False
    acc_type: Annotated[DType, U32] = DType.UNKNOWN


@table
class FFT2dAttribute:
    inverse: bool = False
    local_bound: bool = False


@table
class MatMulAttribute:
    pass


@table
class MaxPool2dAttribute:
    kernel: list[Int32] = []
    stride: list[Int32] = []
    pad: list[Int32] = []
    nan_mode: Annotated[NanPropagationMode, U32] = NanPropagationMode.UNKNOWN


@table
class RFFT2dAttribute:
    local_bound: bool = False


@table
class TransposeConv2dAttribute:
    out_pad: list[Int32] = []
    stride: list[Int32] = []
    local_bound: bool = False
    acc_type: Annotated[DType, U32] = DType.UNKNOWN


@table
class ClampAttribute:
    min_val: Annotated[Bytes, Aligned(8)] | None = None
    max_val: Annotated[Bytes, Aligned(8)] | None = None
    nan_mode: Annotated[NanPropagationMode, U32] = NanPropagationMode.UNKNOWN


@table
class ErfAttribute:
    pass


@table
class SigmoidAttribute:
    pass


@table
class TanhAttribute:
    pass


@table
class AddAttribute:
    pass


@table
class ArithmeticRightShiftAttribute:
    round: bool = False


@table
class BitwiseAndAttribute:
    pass


@table
class BitwiseOrAttribute:
    pass


@table
class BitwiseXorAttribute:
    pass


@table
class IntDivAttribute:
    pass


@table
class LogicalAndAttribute:
    pass


@table
class LogicalLeftShiftAttribute:
    pass


@table
class LogicalRightShiftAttribute:
    pass


@table
class LogicalOrAttribute:
    pass


@table
class LogicalXorAttribute:
    pass


@table
class MaximumAttribute:
    nan_mode: Annotated[NanPropagationMode, U32] = NanPropagationMode.UNKNOWN


@table
class MinimumAttribute:
    nan_mode: Annotated[NanPropagationMode, U32] = NanPropagationMode.UNKNOWN


@table
class MulAttribute:
    pass


@table
class PowAttribute:
    pass


@table
class SubAttribute:
    pass


@table
class TableAttribute:
    pass


@table
class AbsAttribute:
    pass


@table
class BitwiseNotAttribute:
    pass


@table
class CeilAttribute:
    pass


@table
class ClzAttribute:
    pass


@table
class CosAttribute:
    pass


@table
class ExpAttribute:
    pass


@table
class FloorAttribute:
    pass


@table
class LogAttribute:
    pass


@table
class LogicalNotAttribute:
    pass


@table
class NegateAttribute:
    pass


@table
class ReciprocalAttribute:
    pass


@table
class RsqrtAttribute:
    pass


@table
class SinAttribute:
    pass


@table
class SelectAttribute:
    pass


@table
class EqualAttribute:
    pass


@table
class GreaterAttribute:
    pass


@table
class GreaterEqualAttribute:
    pass


@table
class ReduceAllAttribute:
    axis: Int32 = 0


@table
class ReduceAnyAttribute:
    axis: Int32 = 0


@table
class ReduceMaxAttribute:
    axis: Int32 = 0
    nan_mode: Annotated[NanPropagationMode, U32] = NanPropagationMode.UNKNOWN


@table
class ReduceMinAttribute:
    axis: Int32 = 0
    nan_mode: Annotated[NanPropagationMode, U32] = NanPropagationMode.UNKNOWN


@table
class ReduceProductAttribute:
    axis: Int32 = 0


@table
class ReduceSumAttribute:
    axis: Int32 = 0


@table
class ConcatAttribute:
    axis: Int32 = 0


@table
class PadAttribute:
    pass


@table
class ReshapeAttribute:
    pass


@table
class ReverseAttribute:
    axis: Int32 = 0


@table
class SliceAttribute:
    pass


@table
class TileAttribute:
    pass


@table
class TransposeAttribute:
    perms: list[Int32] = []


@table
class GatherAttribute:
    pass


@table
class ScatterAttribute:
    pass


@table
class ResizeAttribute:
    mode: Annotated[ResizeMode, U32] = ResizeMode.UNKNOWN


@table
class CastAttribute:
    pass


@table
class RescaleAttribute:
    scale32: bool = False
    rounding_mode: Annotated[RoundingMode, U32] = RoundingMode.UNKNOWN
    per_channel: bool = False
    input_unsigned: bool = False
    output_unsigned: bool = False


@table
class ConstAttribute:
    pass


@table
class IdentityAttribute:
    pass


@table
class CustomAttribute:
    operator_name: str | None = None
    domain_name: str | None = None
    implementation_attrs: bytes = b""


@table
class CondIfAttribute:
    then_graph: str = ""
    else_graph: str = ""


@table
class WhileLoopAttribute:
    cond_graph: str = ""
    body_graph: str = ""


@table
class VariableAttribute:
    pass


@table
class VariableWriteAttribute:
    pass


@table
class VariableReadAttribute:
    pass


@table
class ConstShapeAttribute:
    pass


@table
class MatMulTBlockScaledAttribute:
    block_size: Annotated[BlockSize, U32] = BlockSize.UNKNOWN


@table
class CastFromBlockScaledAttribute:
    block_size: Annotated[BlockSize, U32] = BlockSize.UNKNOWN


@table
class CastToBlockScaledAttribute:
    block_size: Annotated[BlockSize, U32] = BlockSize.UNKNOWN


@table
class DimAttribute:
    axis: Int32 = 0


@table
class ConcatShapeAttribute:
    pass


@table
class AddShapeAttribute:
    pass


@table
class SubShapeAttribute:
    pass


@table
class MulShapeAttribute:
    pass


@table
class SliceShapeAttribute:
    pass


@table
class Exp2ShapeAttribute:
    pass


@table
class Log2CeilShapeAttribute:
    pass


@table
class Log2FloorShapeAttribute:
    pass


@table
class MaxShapeAttribute:
    pass


@table
class MinShapeAttribute:
    pass


@table
class ModShapeAttribute:
    pass


@table
class DivCeilShapeAttribute:
    pass


@table
class DivFloorShapeAttribute:
    pass


@table
class AssertEqualShapeAttribute:
    allow_broadcast: bool = False


@table
class Conv2dBlockScaledAttribute:
    block_size: Annotated[BlockSize, U32] = BlockSize.UNKNOWN


@table
class MaxPool2dAdaptiveAttribute:
    nan_mode: Annotated[NanPropagationMode, U32] = NanPropagationMode.UNKNOWN


@table
class AvgPool2dAdaptiveAttribute:
    acc_type: Annotated[DType, U32] = DType.UNKNOWN


@table
class ReshapeBlockScaledAttribute:
    block_size: Annotated[BlockSize, U32] = BlockSize.UNKNOWN


@table
class RowGatherBlockScaledAttribute:
    block_size: Annotated[BlockSize, U32] = BlockSize.UNKNOWN


@table
class RowGatherAttribute:
    pass


@table
class MatMulTAttribute:
    pass


@table
class OpLocation:
    text: str | None = None


@table
class Version:
    """Version of the TOSA specification."""

    major: Int32 = -1
    minor: Int32 = -1
    patch: Int32 = -1
    draft: bool = True


@table
class SoftwareVersion:
    major: Int32 = -1
    minor: Int32 = -1
    micro: Int32 = -1
    modifier: str | None = None


@table
class SerializationCompatibility:
    min_reader_version: SoftwareVersion | None = None
    features: UInt64 = 0


@table
class TosaTensor:
    """A tensor by its name; `data` are the elements of a constant."""

    name: str = ""
    shape: list[Int32] = []
    type: Annotated[DType, U32] = DType.UNKNOWN
    data: Annotated[Bytes, Aligned(8)] | None = None
    variable: bool = False
    is_unranked: bool = False
    variable_name: str | None = None
    offset: UInt64 = 0
    size: UInt64 = 0
    scale_type: Annotated[DType, U32] = DType.UNKNOWN
    scale_data: Annotated[Bytes, Aligned(8)] | None = None
    block_shape: Annotated[BlockShape, U32] = BlockShape.UNKNOWN
    scale_offset: UInt64 = 0
    scale_size: UInt64 = 0


@table
class TosaShape:
    """A shape by its name; `data` are its sizes, as i64."""

    name: str = ""
    rank: UInt32 = 0
    data: Annotated[Bytes, Aligned(8)] | None = None


Attribute: TypeAlias = (
    ArgMaxAttribute
    | AvgPool2dAttribute
    | Conv2dAttribute
    | Conv3dAttribute
    | DepthwiseConv2dAttribute
    | FFT2dAttribute
    | MatMulAttribute
    | MaxPool2dAttribute
    | RFFT2dAttribute
    | TransposeConv2dAttribute
    | ClampAttribute
    | ErfAttribute
    | SigmoidAttribute
    | TanhAttribute
    | AddAttribute
    | ArithmeticRightShiftAttribute
    | BitwiseAndAttribute
    | BitwiseOrAttribute
    | BitwiseXorAttribute
    | IntDivAttribute
    | LogicalAndAttribute
    | LogicalLeftShiftAttribute
    | LogicalRightShiftAttribute
    | LogicalOrAttribute
    | LogicalXorAttribute
    | MaximumAttribute
    | MinimumAttribute
    | MulAttribute
    | PowAttribute
    | SubAttribute
    | TableAttribute
    | AbsAttribute
    | BitwiseNotAttribute
    | CeilAttribute
    | ClzAttribute
    | CosAttribute
    | ExpAttribute
    | FloorAttribute
    | LogAttribute
    | LogicalNotAttribute
    | NegateAttribute
    | ReciprocalAttribute
    | RsqrtAttribute
    | SinAttribute
    | SelectAttribute
    | EqualAttribute
    | GreaterAttribute
    | GreaterEqualAttribute
    | ReduceAllAttribute
    | ReduceAnyAttribute
    | ReduceMaxAttribute
    | ReduceMinAttribute
    | ReduceProductAttribute
    | ReduceSumAttribute
    | ConcatAttribute
    | PadAttribute
    | ReshapeAttribute
    | ReverseAttribute
    | SliceAttribute
    | TileAttribute
    | TransposeAttribute
    | GatherAttribute
    | ScatterAttribute
    | ResizeAttribute
    | CastAttribute
    | RescaleAttribute
    | ConstAttribute
    | IdentityAttribute
    | CustomAttribute
    | CondIfAttribute
    | WhileLoopAttribute
    | VariableAttribute
    | VariableWriteAttribute
    | VariableReadAttribute
    | ConstShapeAttribute
    | MatMulTBlockScaledAttribute
    | CastFromBlockScaledAttribute
    | CastToBlockScaledAttribute
    | DimAttribute
    | ConcatShapeAttribute
    | AddShapeAttribute
    | SubShapeAttribute
    | MulShapeAttribute
    | SliceShapeAttribute
    | Exp2ShapeAttribute
    | Log2CeilShapeAttribute
    | Log2FloorShapeAttribute
    | MaxShapeAttribute
    | MinShapeAttribute
    | ModShapeAttribute
    | DivCeilShapeAttribute
    | DivFloorShapeAttribute
    | AssertEqualShapeAttribute
    | Conv2dBlockScaledAttribute
    | MaxPool2dAdaptiveAttribute
    | AvgPool2dAdaptiveAttribute
    | ReshapeBlockScaledAttribute
    | RowGatherBlockScaledAttribute
    | RowGatherAttribute
    | MatMulTAttribute
)


@table
class TosaOperator:
    """An operator between named tensors and shapes."""

    op: Annotated[Op, U32] = Op.UNKNOWN
    attribute: Attribute | None = None
    inputs: list[str] = []
    outputs: list[str] = []
    location: OpLocation | None = None


@table
class TosaBasicBlock:
    """Operators in the order in which they run."""

    name: str = ""
    operators: list[TosaOperator] = []
    tensors: list[TosaTensor] = []
    inputs: list[str] = []
    outputs: list[str] = []
    shapes: list[TosaShape] = []


@table
class TosaRegion:
    """Blocks, the first of which is the entry."""

    name: str = ""
    blocks: list[TosaBasicBlock] = []


@table
class TosaGraph:
    """A file: regions, the first of which is `main`."""

    version: Version | None = None
    regions: list[TosaRegion] = []
    software_version: SoftwareVersion | None = None
    compatibility: SerializationCompatibility | None = None
