"""Quantization with a scale and a zero point for each row (token), or for each group of elements of a row.

Each step is rounded to the type that torch gives it; kernels allocate an array or two of the size of the tensor
for each.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import FLOAT, broadcast, check_kinds, check_rank, check_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.promotion import promote
from et_vm.kernels.portable.quantized.quantize import check_quantized, clamped, restored, rounded
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor


def _check_rows(ctx: PrepareContext, input: Tensor, scales: Tensor, zero_points: Tensor) -> None:
    ctx.check(bool(input.sizes), arg="input", expected="at least one dimension", got="a 0-d tensor")
    check_kinds(ctx, scales.scalar_type, (FLOAT,), arg="scales")
    rows = math.prod(input.sizes[:-1])
    for arg, tensor in (("scales", scales), ("zero_points", zero_points)):
        ctx.check(tensor.numel == rows, arg=arg, expected=f"{rows} elements", got=list(tensor.sizes))
    good = broadcast(ctx, input, scales, zero_points) == input.sizes
    ctx.check(good, arg="scales", expected="a shape that broadcasts to the input", got=list(scales.sizes))


def _as_is(array: Array) -> Array:
    return array


def _quantize(
    limits: tuple[float, float],
    dtype: np.dtype[np.generic],
    kinds: tuple[ScalarType, ScalarType, ScalarType],
    shape: Callable[[Array], Array],
    x: Array,
    scales: Array,
    zero_points: Array,
) -> Array:
    """round(x * (1 / scale) + zero_point): unlike per tensor the zero point is added before rounding."""
    one = np.ones((), scales.dtype)
    inverse = rounded(np.divide, kinds[1], one, shape(scales))
    kind = promote(kinds[0], kinds[1])
    level = rounded(np.multiply, kind, x, inverse)
    kind = promote(kind, kinds[2])
    level = rounded(np.add, kind, level, shape(zero_points))
    return clamped(np.rint(level), limits, dtype)


@kernel("quantized_decomposed::quantize_per_token.out")
def quantize_per_token_out(
    ctx: PrepareContext,
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out: Tensor,
) -> Step:
    """round(`input` * (1 / scale) + zero point), clamped, with `scales` and `zero_points` for each row
    [..., 1].
    """
    check_kinds(ctx, input.scalar_type, (FLOAT,), arg="input")
    _check_rows(ctx, input, scales, zero_points)
    check_type(ctx, check_quantized(ctx, dtype, quant_min, quant_max), out, arg="out")
    out.resize(input.sizes)
    kinds = (input.scalar_type, scales.scalar_type, zero_points.scalar_type)
    compute = functools.partial(_quantize, (quant_min, quant_max), out.dtype, kinds, _as_is)
    return evaluated(compute, (input, scales, zero_points), (out,))


@kernel("quantized_decomposed::dequantize_per_token.out")
def dequantize_per_token_out(
    ctx: PrepareContext,
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    output_dtype: int,
    out: Tensor,
) -> Step:
    """(`input` - zero point) * scale, with `scales` and `zero_points` for each row [..., 1]."""
    check_type(ctx, check_quantized(ctx, dtype), input, arg="input")
    _check_rows(ctx, input, scales, zero_points)
    check_kinds(ctx, ScalarType(output_dtype), (FLOAT,), arg="output_dtype")
    check_type(ctx, ScalarType(output_dtype), out, arg="out")
    out.resize(input.sizes)
    return restored(input, scales, zero_points, _as_is, out)


def _group(ctx: PrepareContext, input: Tensor, scales: Tensor, zero_points: Tensor | None, size: int) -> int:
    """The number of elements that share a scale."""
    check_rank(ctx, input, 2, arg="input")
    check_kinds(ctx, scales.scalar_type, (FLOAT,), arg="scales")
    ctx.check(size > 1, arg="group_size", expected="a number above 1", got=size)
    columns = input.sizes[1]
    if size > columns and scales.sizes[-1:] == (1,):
        size = columns
    good = size > 0 and columns % size == 0
    ctx.check(good, arg="group_size", expected=f"a divisor of {columns}", got=size)
    groups = input.numel // size
    for arg, tensor in (("scales", scales), ("zero_points", zero_points)):
        good = tensor is None or tensor.numel == groups
        ctx.check(good, arg=arg, expected=f"{groups} elements", got=tensor and list(tensor.sizes))
    return size


def by_group(array: Array, rows: int) -> Array:
    """One number for each group of each of `rows`, [rows, groups, 1]."""
    return array.reshape(rows, -1, 1)


@kernel("quantized_decomposed::quantize_per_channel_group.out")
def quantize_per_channel_group_out(
    ctx: PrepareContext,
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    group_size: int,
    out: Tensor,
) -> Step:
    """round(`input` * (1 / scale) + zero point), clamped, of a matrix with `scales` and `zero_points` for
    every `group_size` elements of a row.
    """
    check_kinds(ctx, input.scalar_type, (FLOAT,), arg="input")
    size = _group(ctx, input, scales, zero_points, group_size)
    check_type(ctx, check_quantized(ctx, dtype, quant_min, quant_max), out, arg="out")
    out.resize(input.sizes)
    rows = input.sizes[0]
    kinds = (input.scalar_type, scales.scalar_type, zero_points.scalar_type)
    shape = functools.partial(by_group, rows=rows)

    def compute(x: Array, scales: Array, zero_points: Array) -> Array:
        if np.isnan(x).any():
            raise ctx.trap(arg="input", expected="numbers", got="NaN")
        groups = x.reshape(rows, -1, size)
        limits = (quant_min, quant_max)
        return _quantize(limits, out.dtype, kinds, shape, groups, scales, zero_points).reshape(x.shape)

    return evaluated(compute, (input, scales, zero_points), (out,))


@kernel("quantized_decomposed::dequantize_per_channel_group.out")
def dequantize_per_channel_group_out(
    ctx: PrepareContext,
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    quant_min: int,
    quant_max: int,
    dtype: int,
    group_size: int,
    output_dtype: int,
    out: Tensor,
) -> Step:
    """(`input` - zero point) * scale of a matrix with `scales` and `zero_points` for every `group_size`
    elements of a row.
    """
    check_type(ctx, check_quantized(ctx, input.scalar_type), input, arg="input")
    size = _group(ctx, input, scales, zero_points, group_size)
    check_kinds(ctx, ScalarType(output_dtype), (FLOAT,), arg="output_dtype")
    check_type(ctx, ScalarType(output_dtype), out, arg="out")
    out.resize(input.sizes)

    def shape(array: Array) -> Array:
        return np.repeat(array.reshape(input.sizes[0], -1), size, axis=1)

    return restored(input, scales, zero_points, shape, out)


def _check_choice(ctx: PrepareContext, input: Tensor, scale: Tensor, zero_point: Tensor) -> None:
    check_kinds(ctx, input.scalar_type, (FLOAT,), arg="input")
    check_kinds(ctx, scale.scalar_type, (FLOAT,), arg="scale_out")
    good = bool(input.sizes) and input.sizes[-1] > 0
    ctx.check(good, arg="input", expected="rows that are not empty", got=list(input.sizes))
    scale.resize((*input.sizes[:-1], 1))
    zero_point.resize((*input.sizes[:-1], 1))


@kernel("quantized_decomposed::choose_qparams_per_token.out")
def choose_qparams_per_token_out(
    ctx: PrepareContext, input: Tensor, dtype: int, scale_out: Tensor, zero_point_out: Tensor
) -> Step:
    """For each row the scale that takes its largest magnitude to 127, and 0. `dtype` is int8."""
    good = ScalarType(dtype) == ScalarType.CHAR
    ctx.check(good, arg="dtype", expected="int8", got=ScalarType(dtype).torch_name)
    _check_choice(ctx, input, scale_out, zero_point_out)
    kind = ScalarType.FLOAT if input.scalar_type == ScalarType.HALF else input.scalar_type

    def compute(x: Array) -> tuple[Array, Array]:
        largest: Array = np.abs(x).max(-1, keepdims=True)
        least = rounded(np.maximum, kind, largest, 1e-5)
        scale = rounded(np.divide, kind, least, 127)
        return scale, np.zeros_like(scale)

    return evaluated(compute, (input,), (scale_out, zero_point_out))


@kernel(
    "quantized_decomposed::_choose_qparams_per_token_asymmetric_impl.out",
    "quantized_decomposed::choose_qparams_per_token_asymmetric.out",
)
def choose_qparams_per_token_asymmetric_out(
    ctx: PrepareContext, input: Tensor, dtype: int, scale_out: Tensor, zero_point_out: Tensor
) -> Step:
    """For each row the scale and zero point that take its range, widened to hold 0, to [-128, 127]."""
    check_quantized(ctx, dtype)
    _check_choice(ctx, input, scale_out, zero_point_out)
    kind = input.scalar_type

    def compute(x: Array) -> tuple[Array, Array]:
        low = np.minimum(x.min(-1, keepdims=True), 0)
        high = np.maximum(x.max(-1, keepdims=True), 0)
        step = rounded(np.divide, kind, rounded(np.subtract, kind, high, low), 255)
        scale = rounded(np.maximum, kind, step, float(np.finfo(np.float32).eps))
        down, up = (rounded(np.divide, kind, end, scale) for end in (low, high))
        from_low, from_high = rounded(np.add, kind, down, -128), rounded(np.add, kind, up, 127)
        balance = rounded(np.add, kind, from_low, from_high).astype(x.dtype)
        zero = np.where(
            balance > 0,
            rounded(np.multiply, kind, rounded(np.add, kind, down, 128), -1).astype(x.dtype),
            rounded(np.multiply, kind, rounded(np.subtract, kind, up, 127), -1).astype(x.dtype),
        )
        return scale, np.rint(np.minimum(np.maximum(zero, x.dtype.type(-128)), x.dtype.type(127)))

    return evaluated(compute, (input,), (scale_out, zero_point_out))
