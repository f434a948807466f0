"""Scales and zero points per index of a dimension, row, or group."""

from __future__ import annotations

from xdsl.ir import SSAValue

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.passes.to_executorch.decompose_quantized.builder import Builder, decomposes, shape
from et_ops.dtypes import F32, I32


def _along(b: Builder, vector: SSAValue, axis: int, rank: int) -> SSAValue:
    """A vector as a tensor that lies along a dimension."""
    sizes = [1] * rank
    sizes[axis] = shape(vector)[0] if shape(vector)[0] >= 0 else -1
    return b.view(vector, sizes)


@decomposes("quantize_per_channel")
def quantize_channels(b: Builder, op: edge.QuantizedDecomposedQuantizePerChannelOp) -> SSAValue:
    """`clamp(round(x * (1 / scale)) + zero_point)`."""
    rank = len(shape(op.input))
    scales, zero_points = (_along(b, v, op.axis, rank) for v in (op.scales, op.zero_points))
    scaled = b.combined(edge.MulTensorOp, b.to(op.input, F32), b.inverse(scales))
    moved = b.combined(edge.AddTensorOp, b(edge.RoundOp, scaled), zero_points)
    return b.clamped(moved, op.quant_min, op.quant_max, dtype_of(op.dtype))


def _restored(b: Builder, x: SSAValue, scales: SSAValue, zero_points: SSAValue | None) -> SSAValue:
    """`(x - zero_point) * scale`, each in the type that it promotes to."""
    shifted = x if zero_points is None else b.combined(edge.SubTensorOp, x, zero_points)
    return b.combined(edge.MulTensorOp, shifted, scales)


@decomposes("dequantize_per_channel")
def dequantize_channels(b: Builder, op: edge.QuantizedDecomposedDequantizePerChannelOp) -> SSAValue:
    rank = len(shape(op.input))
    scales = _along(b, op.scales, op.axis, rank)
    zero_points = None if op.zero_points is None else _along(b, op.zero_points, op.axis, rank)
    kind = F32 if op.out_dtype is None else dtype_of(op.out_dtype)
    return b.to(_restored(b, op.input, scales, zero_points), kind)


@decomposes("fake_quant_per_channel")
def fake_quantise_channels(b: Builder, op: edge.QuantizedDecomposedFakeQuantPerChannelOp) -> SSAValue:
    rank = len(shape(op.input))
    scales = b.to(_along(b, op.scales, op.axis, rank), F32)
    zero_points = b.to(b.to(_along(b, op.zero_points, op.axis, rank), I32), F32)
    whole = b(edge.RoundOp, b(edge.MulTensorOp, op.input, b.inverse(scales)))
    inside = b(edge.ClampOp, b(edge.AddTensorOp, whole, zero_points), op.quant_min, op.quant_max)
    return b(edge.MulTensorOp, b(edge.SubTensorOp, inside, zero_points), scales)


def _moved(b: Builder, x: SSAValue, scales: SSAValue, zero_points: SSAValue) -> SSAValue:
    """`round(x * (1 / scale) + zero_point)`: unlike by channel the zero point is added before rounding."""
    scaled = b.combined(edge.MulTensorOp, x, b.inverse(scales))
    return b(edge.RoundOp, b.combined(edge.AddTensorOp, scaled, zero_points))


@decomposes("quantize_per_token")
def quantize_rows(b: Builder, op: edge.QuantizedDecomposedQuantizePerTokenOp) -> SSAValue:
    levels = _moved(b, op.input, op.scales, op.zero_points)
    return b.clamped(levels, op.quant_min, op.quant_max, dtype_of(op.dtype))


@decomposes("dequantize_per_token")
def dequantize_rows(b: Builder, op: edge.QuantizedDecomposedDequantizePerTokenOp) -> SSAValue:
    return b.to(_restored(b, op.input, op.scales, op.zero_points), dtype_of(op.output_dtype))


def _group_size(
    op: edge.QuantizedDecomposedQuantizePerChannelGroupOp
    | edge.QuantizedDecomposedDequantizePerChannelGroupOp,
) -> int | None:
    """The number of elements that share a scale, if the number of columns is known."""
    columns = shape(op.input)[1]
    if columns < 0:
        return None
    return columns if op.group_size > columns and shape(op.scales)[-1:] == (1,) else op.group_size


def _rows(b: Builder, value: SSAValue, columns: int) -> SSAValue:
    """A matrix with another number of columns."""
    sizes = shape(value)
    count = 1
    for size in sizes:
        count = -1 if count < 0 or size < 0 else count * size
    return b.view(value, (-1 if count < 0 else count // columns, columns))


@decomposes("quantize_per_channel_group")
def quantize_groups(b: Builder, op: edge.QuantizedDecomposedQuantizePerChannelGroupOp) -> SSAValue | None:
    size = _group_size(op)
    if size is None:
        return None
    scales, zero_points = (_rows(b, value, 1) for value in (op.scales, op.zero_points))
    levels = _moved(b, _rows(b, op.input, size), scales, zero_points)
    integers = b.clamped(levels, op.quant_min, op.quant_max, dtype_of(op.dtype))
    return _rows(b, integers, shape(op.input)[1])


@decomposes("dequantize_per_channel_group")
def dequantize_groups(b: Builder, op: edge.QuantizedDecomposedDequantizePerChannelGroupOp) -> SSAValue | None:
    size = _group_size(op)
    if size is None:
        return None
    zero_points = None if op.zero_points is None else _rows(b, op.zero_points, 1)
    restored = _restored(b, _rows(b, op.input, size), _rows(b, op.scales, 1), zero_points)
    return b.to(_rows(b, restored, shape(op.input)[1]), dtype_of(op.output_dtype))
