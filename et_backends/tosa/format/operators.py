"""Operators of TOSA: their operands, attributes, and the types of their results.

The rules are those of the specification 1.0, by the operator's number. The compiler builds and verifies ops with them,
and a runtime checks a file with them, so that its kernels need not ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, NamedTuple, cast, get_args

from et_backends.tosa.format.graph import (
    Attribute,
    AvgPool2dAttribute,
    ClampAttribute,
    Conv2dAttribute,
    DepthwiseConv2dAttribute,
    DType,
    MaxPool2dAttribute,
    NanPropagationMode,
    Op,
    TransposeAttribute,
    TransposeConv2dAttribute,
)

__all__ = [
    "ATTRIBUTES",
    "DEFAULTS",
    "ELEMENT_TYPES",
    "ITEM_BITS",
    "OPERANDS",
    "POINTWISE",
    "VARIADIC",
    "TosaType",
    "numpy_name",
    "result_of",
]


class TosaType(NamedTuple):
    """Shape and element type of a tensor; of a shape, its rank and `DType.SHAPE`."""

    shape: tuple[int, ...]
    dtype: DType
    sizes: tuple[int, ...] | None = None
    """The numbers of a constant shape."""


_PLAIN: Final = {name: member for name, member in Op.__members__.items() if name not in ("UNKNOWN", "CUSTOM")}

_UNARY = (
    Op.CLAMP, Op.ERF, Op.SIGMOID, Op.TANH, Op.ABS, Op.BITWISE_NOT, Op.CEIL, Op.CLZ, Op.COS, Op.EXP, Op.FLOOR,
    Op.LOG, Op.LOGICAL_NOT, Op.RECIPROCAL, Op.RSQRT, Op.SIN,
)  # fmt: skip
_BINARY = (
    Op.ADD, Op.ARITHMETIC_RIGHT_SHIFT, Op.BITWISE_AND, Op.BITWISE_OR, Op.BITWISE_XOR, Op.INTDIV, Op.LOGICAL_AND,
    Op.LOGICAL_LEFT_SHIFT, Op.LOGICAL_RIGHT_SHIFT, Op.LOGICAL_OR, Op.LOGICAL_XOR, Op.MAXIMUM, Op.MINIMUM, Op.POW,
    Op.SUB,
)  # fmt: skip
_COMPARISONS = (Op.EQUAL, Op.GREATER, Op.GREATER_EQUAL)
_REDUCTIONS = (
    Op.REDUCE_ALL, Op.REDUCE_ANY, Op.REDUCE_MAX, Op.REDUCE_MIN, Op.REDUCE_PRODUCT, Op.REDUCE_SUM,
)  # fmt: skip

POINTWISE: Final = frozenset((*_UNARY, *_BINARY, *_COMPARISONS, Op.MUL, Op.NEGATE, Op.SELECT, Op.CAST))
"""Operators whose elements depend on the elements at the same place alone."""

OPERANDS: Final[dict[Op, tuple[str, ...]]] = {
    **dict.fromkeys(_UNARY, ("input",)),
    **dict.fromkeys(_BINARY, ("input1", "input2")),
    **dict.fromkeys(_COMPARISONS, ("input1", "input2")),
    **dict.fromkeys(_REDUCTIONS, ("input",)),
    Op.ARGMAX: ("input",),
    Op.AVG_POOL2D: ("input", "input_zp", "output_zp"),
    Op.CONV2D: ("input", "weight", "bias", "input_zp", "weight_zp"),
    Op.DEPTHWISE_CONV2D: ("input", "weight", "bias", "input_zp", "weight_zp"),
    Op.TRANSPOSE_CONV2D: ("input", "weight", "bias", "input_zp", "weight_zp"),
    Op.MATMUL: ("a", "b", "a_zp", "b_zp"),
    Op.MAX_POOL2D: ("input",),
    Op.MUL: ("input1", "input2", "shift"),
    Op.NEGATE: ("input1", "input1_zp", "output_zp"),
    Op.TABLE: ("input", "table"),
    Op.SELECT: ("condition", "on_true", "on_false"),
    Op.CONCAT: ("inputs",),
    Op.PAD: ("input", "padding", "pad_const"),
    Op.RESHAPE: ("input", "new_shape"),
    Op.REVERSE: ("input",),
    Op.SLICE: ("input", "start", "size"),
    Op.TILE: ("input", "multiples"),
    Op.TRANSPOSE: ("input",),
    Op.GATHER: ("source", "indices"),
    Op.SCATTER: ("values_in", "indices", "input"),
    Op.RESIZE: ("input", "scale", "offset", "border"),
    Op.CAST: ("input",),
    Op.RESCALE: ("input", "multiplier", "shift", "input_zp", "output_zp"),
    Op.IDENTITY: ("input",),
    Op.CONST: (),
    Op.CONST_SHAPE: (),
}
"""Names of the operands of the operators that are known here."""

VARIADIC: Final = frozenset({Op.CONCAT})
"""Operators whose one operand stands for several."""

ATTRIBUTES: Final[dict[Op, type[Any]]] = {
    op: get_args(Attribute)[op - 1] for op in _PLAIN.values() if op in OPERANDS
}
"""The table of the attribute of each operator."""

DEFAULTS: Final[dict[str, object]] = {"local_bound": False, "nan_mode": NanPropagationMode.PROPAGATE}
"""Values of the fields of attributes that texts may leave out."""

ITEM_BITS: Final = {
    DType.BOOL: 8, DType.INT4: 4, DType.INT8: 8, DType.INT16: 16, DType.INT32: 32, DType.INT48: 48,
    DType.INT64: 64, DType.FP32: 32, DType.FP16: 16, DType.BF16: 16,
}  # fmt: skip
"""Bits that an element of a constant takes in a file."""

_NUMPY: Final = {
    DType.BOOL: "bool", DType.INT8: "int8", DType.INT16: "int16", DType.INT32: "int32", DType.INT48: "int64",
    DType.INT64: "int64", DType.FP32: "float32", DType.FP16: "float16", DType.SHAPE: "int64",
}  # fmt: skip

_ACCUMULATED: Final = {DType.INT8: DType.INT32, DType.INT16: DType.INT48}
_MAX_RANK: Final = 6
"""Of level 8K."""


def numpy_name(dtype: DType) -> str:
    """The numpy dtype that holds elements. Raises `ValueError` for a type that is not known here."""
    if dtype not in _NUMPY:
        raise ValueError(f"element type {dtype.name} is not supported")
    return _NUMPY[dtype]


_INTEGERS: Final = frozenset({DType.INT8, DType.INT16, DType.INT32})
_FLOATS: Final = frozenset({DType.FP32, DType.FP16, DType.BF16})
_BOOL: Final = frozenset({DType.BOOL})
_WIDE: Final = frozenset({DType.INT32}) | _FLOATS
_NARROW: Final = frozenset({DType.INT8, DType.INT16}) | _FLOATS
_RESCALED: Final = _INTEGERS | {DType.INT48}
_WEIGHTS: Final = {DType.INT8: (DType.INT8, DType.INT4), DType.INT16: (DType.INT8,)}
"""Types of weights of convolutions of integers. Those of floats are the images'."""

ELEMENT_TYPES: Final[dict[Op, frozenset[DType]]] = {
    **dict.fromkeys((Op.ABS, Op.ADD, Op.MAXIMUM, Op.MINIMUM, Op.SUB, Op.REDUCE_SUM), _WIDE),
    **dict.fromkeys((Op.EQUAL, Op.GREATER, Op.GREATER_EQUAL), _WIDE),
    **dict.fromkeys((Op.CLAMP, Op.ARGMAX, Op.MATMUL), _NARROW),
    **dict.fromkeys((Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.TRANSPOSE_CONV2D), _NARROW),
    **dict.fromkeys(
        (Op.MUL, Op.NEGATE, Op.REDUCE_MAX, Op.REDUCE_MIN, Op.GATHER, Op.SCATTER), _INTEGERS | _FLOATS
    ),
    **dict.fromkeys((Op.BITWISE_AND, Op.BITWISE_NOT, Op.BITWISE_OR, Op.BITWISE_XOR), _INTEGERS),
    **dict.fromkeys((Op.ARITHMETIC_RIGHT_SHIFT, Op.LOGICAL_LEFT_SHIFT, Op.LOGICAL_RIGHT_SHIFT), _INTEGERS),
    **dict.fromkeys((Op.CLZ, Op.INTDIV), frozenset({DType.INT32})),
    **dict.fromkeys((Op.LOGICAL_AND, Op.LOGICAL_NOT, Op.LOGICAL_OR, Op.LOGICAL_XOR), _BOOL),
    **dict.fromkeys((Op.REDUCE_ALL, Op.REDUCE_ANY), _BOOL),
    **dict.fromkeys((Op.CEIL, Op.COS, Op.ERF, Op.EXP, Op.FLOOR, Op.LOG, Op.POW, Op.RECIPROCAL), _FLOATS),
    Op.RESCALE: _RESCALED,
    **dict.fromkeys((Op.REDUCE_PRODUCT, Op.RSQRT, Op.SIGMOID, Op.SIN, Op.TANH), _FLOATS),
}
"""The element types that an operator takes for its first operand; the others have rules of their own, or take all.

Source: the tables of supported data types in the TOSA specification 1.0.
"""


def result_of(op: Op, attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    """The type of an operator's result, from its attribute and its operands; of `CAST`, `RESCALE` and constants the
    element type is the `declared` one.

    Raises `ValueError` for operands and attributes that the operator does not take.
    """
    names = OPERANDS.get(op)
    if names is None:
        raise ValueError(f"operator {op.name} is not supported")
    if op in VARIADIC:
        if not inputs:
            raise ValueError("no operands")
    elif len(inputs) != len(names):
        raise ValueError(f"{len(inputs)} operands, expected {len(names)}")
    taken = ELEMENT_TYPES.get(op)
    if taken is not None and inputs[0].dtype not in taken:
        allowed = ", ".join(sorted(kind.name for kind in taken))
        raise ValueError(f"{op.name} takes {allowed}, not {inputs[0].dtype.name}")
    made = _RULES[op](attribute, inputs, declared)
    if made.dtype is not DType.SHAPE and len(made.shape) > _MAX_RANK:
        raise ValueError(f"a result of rank {len(made.shape)}; the limit is {_MAX_RANK}")
    if any(size < 1 for size in made.shape) and made.dtype is not DType.SHAPE:
        raise ValueError(f"a result of shape {list(made.shape)}: every size is at least 1")
    return made


def _broadcast(inputs: Sequence[TosaType]) -> tuple[int, ...]:
    ranks = {len(one.shape) for one in inputs}
    if len(ranks) != 1:
        raise ValueError(f"operands of ranks {sorted(ranks)}; one rank is required")
    found: list[int] = []
    for sizes in zip(*(one.shape for one in inputs), strict=True):
        size = max(sizes)
        if any(one not in (1, size) for one in sizes):
            raise ValueError(f"operands of shapes {', '.join(str(list(one.shape)) for one in inputs)}")
        found.append(size)
    return tuple(found)


def _same(inputs: Sequence[TosaType]) -> DType:
    types = {one.dtype for one in inputs}
    if len(types) != 1:
        raise ValueError(f"operands of element types {', '.join(sorted(one.name for one in types))}")
    return next(iter(types))


def _unary(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    return TosaType(inputs[0].shape, inputs[0].dtype)


def _clamp(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    kind = cast("ClampAttribute", attribute)
    nbytes = ITEM_BITS[inputs[0].dtype] // 8
    for name, value in (("min_val", kind.min_val), ("max_val", kind.max_val)):
        if len(value or b"") < nbytes:
            raise ValueError(f"{name} has {len(value or b'')} bytes, an element has {nbytes}")
    return _unary(attribute, inputs, declared)


def _binary(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    return TosaType(_broadcast(inputs), _same(inputs))


def _comparison(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    _same(inputs)
    return TosaType(_broadcast(inputs), DType.BOOL)


def _mul(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    kind = _same(inputs[:2])
    if inputs[2][:2] != ((1,), DType.INT8):
        raise ValueError("the shift is one i8")
    return TosaType(
        _broadcast(inputs[:2]), DType.INT32 if kind in (DType.INT8, DType.INT16, DType.INT32) else kind
    )


def _negate(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    _zero_points(inputs[0].dtype, inputs[1])
    _zero_points(inputs[0].dtype, inputs[2])
    return TosaType(inputs[0].shape, inputs[0].dtype)


def _zero_points(dtype: DType, zero_point: TosaType) -> None:
    if zero_point[:2] != ((1,), dtype):
        raise ValueError(f"a zero point is one element of type {dtype.name}")


def _select(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    if inputs[0].dtype is not DType.BOOL:
        raise ValueError("the condition is not of type BOOL")
    return TosaType(_broadcast(inputs), _same(inputs[1:]))


def _cast(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    return TosaType(inputs[0].shape, declared)


def _rescale(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    source, multiplier, shift, input_zp, output_zp = inputs
    if declared not in _RESCALED:
        raise ValueError(f"a result of type {declared.name}")
    if attribute.per_channel and not source.shape:
        raise ValueError("scales of channels of an operand that has no dimensions")
    channels = source.shape[-1] if attribute.per_channel else 1
    wide = DType.INT32 if attribute.scale32 else DType.INT16
    if multiplier[:2] != ((channels,), wide) or shift[:2] != ((channels,), DType.INT8):
        raise ValueError(f"multipliers are {channels} of type {wide.name}, shifts {channels} of type INT8")
    _zero_points(source.dtype, input_zp)
    _zero_points(declared, output_zp)
    return TosaType(source.shape, declared)


def _table(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    kinds = {DType.INT8: ((256,), DType.INT8), DType.INT16: ((513,), DType.INT16)}
    if kinds.get(inputs[0].dtype) != inputs[1][:2]:
        raise ValueError("a table is 256 elements of i8 for i8, or 513 of i16 for i16")
    return TosaType(inputs[0].shape, DType.INT8 if inputs[0].dtype is DType.INT8 else DType.INT32)


def _axis(attribute: Any, source: TosaType) -> int:
    axis = int(attribute.axis)
    if not 0 <= axis < len(source.shape):
        raise ValueError(f"axis {axis} of rank {len(source.shape)}")
    return axis


def _reduction(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    axis = _axis(attribute, inputs[0])
    shape = inputs[0].shape
    return TosaType((*shape[:axis], 1, *shape[axis + 1 :]), inputs[0].dtype)


def _argmax(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    axis = _axis(attribute, inputs[0])
    shape = inputs[0].shape
    return TosaType((*shape[:axis], *shape[axis + 1 :]), DType.INT32)


def _divided(value: int, stride: int, what: str) -> int:
    if value < 0 or stride < 1 or value % stride:
        raise ValueError(f"{what}: {value} is not a multiple of the stride {stride}")
    return value // stride + 1


def _image(source: TosaType) -> tuple[int, int, int, int]:
    if len(source.shape) != 4:
        raise ValueError(f"an operand of rank {len(source.shape)}; images have rank 4")
    batch, height, width, channels = source.shape
    return batch, height, width, channels


def _pool(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    kind = cast("AvgPool2dAttribute | MaxPool2dAttribute", attribute)
    batch, height, width, channels = _image(inputs[0])
    if len(kind.kernel) != 2 or len(kind.stride) != 2 or len(kind.pad) != 4:
        raise ValueError("a kernel and a stride have 2 numbers, padding 4")
    if max(kind.pad[:2]) >= kind.kernel[0] or max(kind.pad[2:]) >= kind.kernel[1] or min(kind.pad) < 0:
        raise ValueError(f"padding {kind.pad} of a kernel {kind.kernel}")
    rows = _divided(height + sum(kind.pad[:2]) - kind.kernel[0], kind.stride[0], "height")
    columns = _divided(width + sum(kind.pad[2:]) - kind.kernel[1], kind.stride[1], "width")
    return TosaType((batch, rows, columns, channels), inputs[0].dtype)


def _average(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    for zero_point in inputs[1:]:
        _zero_points(inputs[0].dtype, zero_point)
    return _pool(attribute, inputs, declared)


def _convolved(
    kind: Conv2dAttribute | DepthwiseConv2dAttribute, height: int, width: int, kernel: Sequence[int]
) -> tuple[int, int]:
    if len(kind.pad) != 4 or len(kind.stride) != 2 or len(kind.dilation) != 2:
        raise ValueError("a stride and a dilation have 2 numbers, padding 4")
    if min(kind.pad) < 0 or min(kind.dilation) < 1:
        raise ValueError(f"padding {kind.pad}, dilation {kind.dilation}")
    return (
        _divided(
            height - 1 + sum(kind.pad[:2]) - (kernel[0] - 1) * kind.dilation[0], kind.stride[0], "height"
        ),
        _divided(width - 1 + sum(kind.pad[2:]) - (kernel[1] - 1) * kind.dilation[1], kind.stride[1], "width"),
    )


def _weights(inputs: Sequence[TosaType], outputs: int) -> DType:
    source, weight, bias, input_zp, weight_zp = inputs
    if weight.dtype not in _WEIGHTS.get(source.dtype, (source.dtype,)):
        raise ValueError(f"weights of type {weight.dtype.name} for an image of type {source.dtype.name}")
    _zero_points(source.dtype, input_zp)
    _zero_points(weight.dtype, weight_zp)
    made = _ACCUMULATED.get(source.dtype, source.dtype)
    if bias.shape not in ((1,), (outputs,)) or bias.dtype is not made:
        raise ValueError(f"a bias of shape {list(bias.shape)} and type {bias.dtype.name}")
    return made


def _conv2d(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    batch, height, width, channels = _image(inputs[0])
    outputs, rows, columns, depth = _image(inputs[1])
    if depth != channels:
        raise ValueError(f"weights for {depth} channels, the input has {channels}")
    size = _convolved(attribute, height, width, (rows, columns))
    return TosaType((batch, *size, outputs), _weights(inputs, outputs))


def _depthwise(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    batch, height, width, channels = _image(inputs[0])
    rows, columns, depth, multiplier = _image(inputs[1])
    if depth != channels:
        raise ValueError(f"weights for {depth} channels, the input has {channels}")
    size = _convolved(attribute, height, width, (rows, columns))
    return TosaType((batch, *size, channels * multiplier), _weights(inputs, channels * multiplier))


def _transposed(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    kind = cast("TransposeConv2dAttribute", attribute)
    batch, height, width, channels = _image(inputs[0])
    outputs, rows, columns, depth = _image(inputs[1])
    if depth != channels:
        raise ValueError(f"weights for {depth} channels, the input has {channels}")
    if len(kind.out_pad) != 4 or len(kind.stride) != 2:
        raise ValueError("a stride has 2 numbers, output padding 4")
    if min(kind.stride) < 1:
        raise ValueError(f"stride {kind.stride}; both numbers are at least 1")
    if min(kind.out_pad[:2]) <= -rows or min(kind.out_pad[2:]) <= -columns:
        raise ValueError(f"output padding {kind.out_pad} of a kernel {[rows, columns]}")
    shape = (
        batch,
        (height - 1) * kind.stride[0] + sum(kind.out_pad[:2]) + rows,
        (width - 1) * kind.stride[1] + sum(kind.out_pad[2:]) + columns,
        outputs,
    )
    return TosaType(shape, _weights(inputs, outputs))


def _matmul(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    a, b, a_zp, b_zp = inputs
    kind = _same([a, b])
    if len(a.shape) != 3 or len(b.shape) != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise ValueError(f"a product of {list(a.shape)} and {list(b.shape)}")
    _zero_points(kind, a_zp)
    _zero_points(kind, b_zp)
    return TosaType((a.shape[0], a.shape[1], b.shape[2]), _ACCUMULATED.get(kind, kind))


def _concat(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    axis = _axis(attribute, inputs[0])
    rest = {(*one.shape[:axis], *one.shape[axis + 1 :]) for one in inputs}
    if len(rest) != 1 or len({len(one.shape) for one in inputs}) != 1:
        raise ValueError("operands differ in other dimensions than the axis")
    shape = inputs[0].shape
    joined = sum(one.shape[axis] for one in inputs)
    return TosaType((*shape[:axis], joined, *shape[axis + 1 :]), _same(inputs))


def _sizes(value: TosaType, count: int) -> tuple[int, ...]:
    if value.dtype is not DType.SHAPE or value.sizes is None or len(value.sizes) != count:
        raise ValueError(f"a constant shape of {count} numbers is required")
    return value.sizes


def _pad(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    shape = inputs[0].shape
    sizes = _sizes(inputs[1], 2 * len(shape))
    _zero_points(inputs[0].dtype, inputs[2])
    if min(sizes, default=0) < 0:
        raise ValueError(f"padding {list(sizes)}")
    made = (size + sizes[2 * dim] + sizes[2 * dim + 1] for dim, size in enumerate(shape))
    return TosaType(tuple(made), inputs[0].dtype)


def _reshape(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    if inputs[1].sizes is None:
        raise ValueError("a constant shape is required")
    shape = inputs[1].sizes
    if prod(shape) != prod(inputs[0].shape):
        raise ValueError(f"a reshape of {list(inputs[0].shape)} to {list(shape)}")
    return TosaType(shape, inputs[0].dtype)


def _reverse(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    _axis(attribute, inputs[0])
    return TosaType(inputs[0].shape, inputs[0].dtype)


def _slice(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    shape = inputs[0].shape
    start, size = (_sizes(one, len(shape)) for one in inputs[1:])
    if any(
        first < 0 or first + count > there for first, count, there in zip(start, size, shape, strict=True)
    ):
        raise ValueError(f"a slice of {list(size)} at {list(start)} of {list(shape)}")
    return TosaType(size, inputs[0].dtype)


def _tile(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    shape = inputs[0].shape
    times = _sizes(inputs[1], len(shape))
    return TosaType(tuple(a * b for a, b in zip(shape, times, strict=True)), inputs[0].dtype)


def _transpose(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    perms = cast("TransposeAttribute", attribute).perms
    shape = inputs[0].shape
    if sorted(perms) != list(range(len(shape))):
        raise ValueError(f"{list(perms)} is not a permutation of {len(shape)} dimensions")
    return TosaType(tuple(shape[dim] for dim in perms), inputs[0].dtype)


def _gather(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    source, indices = inputs
    if len(source.shape) != 3 or len(indices.shape) != 2 or source.shape[0] != indices.shape[0]:
        raise ValueError(f"values of {list(source.shape)}, indices of {list(indices.shape)}")
    if indices.dtype is not DType.INT32:
        raise ValueError("indices are of type INT32")
    return TosaType((*indices.shape, source.shape[2]), source.dtype)


def _scatter(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    values, indices, source = inputs
    made = _gather(attribute, (values, indices), declared)
    if made.shape != source.shape or made.dtype is not source.dtype:
        raise ValueError(f"an input of {list(source.shape)}, expected {list(made.shape)}")
    return TosaType(values.shape, values.dtype)


def _resize(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    batch, height, width, channels = _image(inputs[0])
    scale, offset, border = (_sizes(one, count) for one, count in zip(inputs[1:], (4, 2, 2), strict=True))
    rows = _divided((height - 1) * scale[0] - offset[0] + border[0], scale[1], "height")
    columns = _divided((width - 1) * scale[2] - offset[1] + border[1], scale[3], "width")
    kind = inputs[0].dtype
    if kind in (DType.INT8, DType.INT16) and attribute.mode == 2:
        kind = DType.INT32 if kind is DType.INT8 else DType.INT48
    return TosaType((batch, rows, columns, channels), kind)


def _identity(attribute: Any, inputs: Sequence[TosaType], declared: DType) -> TosaType:
    return inputs[0]


_Rule = Callable[[Any, Sequence[TosaType], DType], TosaType]
_RULES: Final[dict[Op, _Rule]] = {
    **dict.fromkeys(_UNARY, _unary),
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_COMPARISONS, _comparison),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    Op.ARGMAX: _argmax,
    Op.AVG_POOL2D: _average,
    Op.CAST: _cast,
    Op.CLAMP: _clamp,
    Op.CONCAT: _concat,
    Op.CONV2D: _conv2d,
    Op.DEPTHWISE_CONV2D: _depthwise,
    Op.GATHER: _gather,
    Op.IDENTITY: _identity,
    Op.MATMUL: _matmul,
    Op.MAX_POOL2D: _pool,
    Op.MUL: _mul,
    Op.NEGATE: _negate,
    Op.PAD: _pad,
    Op.RESCALE: _rescale,
    Op.RESHAPE: _reshape,
    Op.RESIZE: _resize,
    Op.REVERSE: _reverse,
    Op.SCATTER: _scatter,
    Op.SELECT: _select,
    Op.SLICE: _slice,
    Op.TABLE: _table,
    Op.TILE: _tile,
    Op.TRANSPOSE: _transpose,
    Op.TRANSPOSE_CONV2D: _transposed,
}
