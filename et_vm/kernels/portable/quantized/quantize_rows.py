"""Quantization per row (token), or per group of elements of a row.

Each step is rounded to the type that torch gives it; kernels allocate an array or two of the size of the tensor
for each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from et_ops.inference import quantized as rules
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import FLOAT, INTEGER, check_kinds
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.promotion import promote
from et_vm.kernels.portable.quantized.quantize import clamped, restored, rounded
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


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
@inferred(rules.quantize_rows)
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
    kinds = (input.scalar_type, scales.scalar_type, zero_points.scalar_type)
    compute = functools.partial(_quantize, (quant_min, quant_max), out.dtype, kinds, _as_is)
    return evaluated(compute, (input, scales, zero_points), (out,))


@kernel("quantized_decomposed::dequantize_per_token.out")
@inferred(rules.dequantize_rows)
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
    return restored(input, scales, zero_points, _as_is, out)


def _group(input: Tensor, scales: Tensor, size: int) -> int:
    """The number of elements that share a scale."""
    columns = input.sizes[1]
    return columns if size > columns and scales.sizes[-1:] == (1,) else size


def by_group(array: Array, rows: int) -> Array:
    """One number for each group of each of `rows`, [rows, groups, 1]."""
    return array.reshape(rows, -1, 1)


@kernel("quantized_decomposed::quantize_per_channel_group.out")
@inferred(rules.quantize_groups)
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
    size = _group(input, scales, group_size)
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
@inferred(rules.dequantize_groups)
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
    size = _group(input, scales, group_size)

    def shape(array: Array) -> Array:
        return np.repeat(array.reshape(input.sizes[0], -1), size, axis=1)

    return restored(input, scales, zero_points, shape, out)


def _check_choice(ctx: PrepareContext, scalar_type: ScalarType, out: Tensor, *, arg: str) -> None:
    """Scales are of a float type; upstream's kernels take zero points of any."""
    kinds = (FLOAT,) if arg == "scale_out" else (INTEGER, FLOAT)
    check_kinds(ctx, out.scalar_type, kinds, arg=arg)


@kernel("quantized_decomposed::choose_qparams_per_token.out")
@inferred(rules.choose_scales_for_rows, check=_check_choice, outs=2)
def choose_qparams_per_token_out(
    ctx: PrepareContext, input: Tensor, dtype: int, scale_out: Tensor, zero_point_out: Tensor
) -> Step:
    """For each row the scale that takes its largest magnitude to 127, and 0. `dtype` is int8."""
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
@inferred(rules.choose_for_rows, check=_check_choice, outs=2)
def choose_qparams_per_token_asymmetric_out(
    ctx: PrepareContext, input: Tensor, dtype: int, scale_out: Tensor, zero_point_out: Tensor
) -> Step:
    """For each row the scale and zero point that take its range, widened to hold 0, to [-128, 127]."""
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
