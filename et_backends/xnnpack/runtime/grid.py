"""Quantized numbers as the real numbers they stand for.

A quantized value of a graph is held as float32 that lie on the grid of its scale and zero point: so all that
reads it is an ordinary float kernel, and what writes it ends with the steps that put the results on the grid.
Sums are exact to float32's 24 bits instead of 32, so that a result may differ from XNNPACK's by one step of the
grid where it lies half way between two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from et_backends.xnnpack.format.graph import PerTensorQuant, XNNDatatype, XNNQuantizedTensorValue, XValue
from et_vm.kernels.portable.steps import call, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, DType

FLOAT32: DType = np.dtype(np.float32)


class Limits(NamedTuple):
    """The least and the greatest that an output may be."""

    low: float
    high: float


class Grid(NamedTuple):
    """The numbers `(q - zero_point) * scale` for all q from `low` to `high`."""

    scale: float
    zero_point: int
    low: int
    high: int

    @property
    def dtype(self) -> DType:
        """The type of the numbers q."""
        return np.dtype(np.int8 if self.low < 0 else np.uint8)


_RANGES = {XNNDatatype.qint8: (-128, 127), XNNDatatype.quint8: (0, 255)}


def grid_of(value: XValue) -> Grid | None:
    """The grid of a value that has one for all its elements and is no constant of 32 bits."""
    described = value.xvalue_union
    if not isinstance(described, XNNQuantizedTensorValue):
        return None
    parameters, tensor = described.quant_params, described.tensor_value
    if not isinstance(parameters, PerTensorQuant) or tensor is None or tensor.datatype not in _RANGES:
        return None
    return Grid(parameters.scale, parameters.zero_point, *_RANGES[tensor.datatype])


def clamp(array: Array, limits: Limits, out: Array) -> list[Step]:
    """Steps that store `array` within `limits` into `out`, which may be `array`."""
    low, high = limits
    if high == float("inf"):
        if low == -high:
            return []
        return [call(np.maximum, array, filled(out.dtype, low), out)]
    if low == -float("inf"):
        return [call(np.minimum, array, filled(out.dtype, high), out)]
    return [(array.clip, (filled(out.dtype, low), filled(out.dtype, high), out))]


def snap(array: Array, grid: Grid, limits: Limits | None = None) -> list[Step]:
    """Steps that put the numbers in `array` on the grid, and within `limits`."""
    low, high = grid.low - grid.zero_point, grid.high - grid.zero_point
    if limits is not None:
        low = _nearest(limits.low, grid, low, high)
        high = _nearest(limits.high, grid, low, high)
    scale = filled(array.dtype, grid.scale)
    return [
        call(np.divide, array, scale, array),
        call(np.rint, array, array),
        (array.clip, (filled(array.dtype, low), filled(array.dtype, high), array)),
        call(np.multiply, array, scale, array),
    ]


def _nearest(number: float, grid: Grid, low: int, high: int) -> int:
    """The number of steps from zero to `number`, clamped to `low` and `high`."""
    return int(np.rint(min(max(number / grid.scale, low), high)))


def read_in(ctx: PrepareContext, source: Array, grid: Grid, target: Array) -> list[Step]:
    """Steps that store the real numbers which the integers in `source` stand for into `target`."""
    del ctx
    calls: list[Step] = [(np.copyto, (target, source, "unsafe"))]
    if grid.zero_point:
        calls.append(call(np.subtract, target, filled(target.dtype, grid.zero_point), target))
    return [*calls, call(np.multiply, target, filled(target.dtype, grid.scale), target)]


def write_out(ctx: PrepareContext, source: Array, grid: Grid, target: Array) -> list[Step]:
    """Steps that store real numbers on the grid into `target` as integers."""
    work = ctx.scratch(source.shape, source.dtype)
    return [
        call(np.divide, source, filled(work.dtype, grid.scale), work),
        call(np.rint, work, work),
        call(np.add, work, filled(work.dtype, grid.zero_point), work),
        (np.copyto, (target, work, "unsafe")),
    ]


def snap_rows(ctx: PrepareContext, source: Array, target: Array, kept: int) -> list[Step]:
    """Steps that store `source` into `target` with each row on a grid of its own: 256 numbers that reach from the
    least to the greatest of it and to zero. A row is the last `kept` dimensions.

    The scale and the zero point are XNNPACK's: of the two zero points that put the least or the greatest number on
    the grid, that with the smaller error.
    """
    columns = math.prod(source.shape[source.ndim - kept :])
    x, y = source.reshape(-1, columns), target.reshape(-1, columns)
    rows = x.shape[0]
    low, high, scale, zero, other, inverse = (ctx.scratch((rows, 1), FLOAT32) for _ in range(6))
    chosen = ctx.scratch((rows, 1), np.bool_)
    least, most = filled(FLOAT32, -128), filled(FLOAT32, 127)
    return [
        (_row_grids, (x, low, high, scale, zero, other, inverse, chosen)),
        call(np.multiply, x, scale, y),
        call(np.add, y, zero, y),
        call(np.rint, y, y),
        (y.clip, (least, most, y)),
        call(np.subtract, y, zero, y),
        call(np.multiply, y, inverse, y),
    ]


def _row_grids(
    x: Array, low: Array, high: Array, scale: Array, zero: Array, other: Array, inverse: Array, chosen: Array
) -> None:
    np.minimum(np.min(x, axis=1, keepdims=True, initial=0.0), 0.0, out=low)
    np.maximum(np.max(x, axis=1, keepdims=True, initial=0.0), 0.0, out=high)
    np.subtract(high, low, scale)
    np.divide(np.float32(255), scale, scale)
    np.copyto(scale, np.float32(1), where=high == low)
    np.multiply(low, scale, zero)
    np.multiply(high, scale, other)
    np.greater(zero + np.float32(-128) + other + np.float32(127), 0, chosen)
    np.subtract(np.float32(-128), zero, zero)
    np.subtract(np.float32(127), other, other)
    np.copyto(zero, other, where=~chosen)
    zero.clip(np.float32(-128), np.float32(127), zero)
    np.rint(zero, zero)
    np.divide(np.float32(1), scale, inverse)
