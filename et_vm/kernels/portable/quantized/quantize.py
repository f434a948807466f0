"""Numbers to integers with a scale and a zero point, and back: the `quantized_decomposed` operators of torch.

What torch computes in steps is computed in the same steps, each rounded to the type that torch gives it, so that
results are equal to the bit. Kernels allocate an array or two of the size of the tensor for each step.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from et_ops.inference import quantized as rules
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import check_out_type, dimension
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.promotion import arithmetic, promote
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


def rounded(ufunc: Callable[..., Array], kind: ScalarType, a: Array, b: Array | float) -> Array:
    """`ufunc(a, b)` as an operation of torch with a result of type `kind`: in its arithmetic, rounded once."""
    compute = numpy_dtype(arithmetic(kind))
    other = b.astype(compute) if isinstance(b, np.ndarray) else compute.type(b)
    return ufunc(a.astype(compute), other).astype(numpy_dtype(kind))


def clamped(array: Array, limits: tuple[float, float], dtype: np.dtype[np.generic]) -> Array:
    low, high = (array.dtype.type(limit) for limit in limits)
    result = np.minimum(np.maximum(array, low), high)
    wide = result.astype(np.float32) if array.dtype.kind != "f" else result
    if dtype == np.int32:
        return wide.astype(dtype)
    # By way of int64: what a float becomes that a small integer does not hold depends on the machine.
    return np.where(np.isnan(wide), 0, wide).astype(np.int64).astype(dtype)


def _quantize(
    limits: tuple[float, float], dtype: np.dtype[np.generic], x: Array, scale: float, zero_point: float
) -> Array:
    """round(x / scale) + zero_point in float32; the scale is inverted in float64."""
    inverse = np.float32(1.0 / scale) if scale else np.float32(math.inf)
    return clamped(np.rint(x * inverse) + np.float32(zero_point), limits, dtype)


@kernel("quantized_decomposed::quantize_per_tensor.out")
@inferred(rules.quantize)
def quantize_per_tensor_out(
    ctx: PrepareContext,
    input: Tensor,
    scale: float,
    zero_point: int,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out: Tensor,
) -> Step:
    """round(`input` / `scale`) + `zero_point`, ties to even, clamped to [`quant_min`, `quant_max`]."""
    compute = functools.partial(
        _quantize, (quant_min, quant_max), out.dtype, scale=scale, zero_point=zero_point
    )
    return evaluated(compute, (input,), (out,))


@kernel("quantized_decomposed::quantize_per_tensor.Tensor_out")
@inferred(rules.quantize_by_tensor)
def quantize_per_tensor_tensor_out(
    ctx: PrepareContext,
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out: Tensor,
) -> Step:
    """The same with `scale` and `zero_point` in tensors of one element."""
    compute = functools.partial(_quantize_by, (quant_min, quant_max), out.dtype)
    return evaluated(compute, (input, scale, zero_point), (out,))


def _quantize_by(
    limits: tuple[float, float], dtype: np.dtype[np.generic], x: Array, scale: Array, zero_point: Array
) -> Array:
    return _quantize(limits, dtype, x, float(scale.item()), float(zero_point.item()))


@kernel("quantized_decomposed::quantize_per_tensor.Tensor2_out")
@inferred(rules.quantize_by_tensors)
def quantize_per_tensor_tensor2_out(
    ctx: PrepareContext,
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: Tensor,
    quant_max: Tensor,
    dtype: int,
    out: Tensor,
) -> Step:
    """The same with the limits in tensors of one element, too."""

    def compute(x: Array, scale: Array, zero_point: Array, low: Array, high: Array) -> Array:
        info = np.iinfo(out.dtype)
        for arg, limit in (("quant_min", int(low.item())), ("quant_max", int(high.item()))):
            good = info.min <= limit <= info.max
            ctx.check(good, arg=arg, expected=f"a number in [{info.min}, {info.max}]", got=limit)
        return _quantize_by((low.item(), high.item()), out.dtype, x, scale, zero_point)

    return evaluated(compute, (input, scale, zero_point, quant_min, quant_max), (out,))


def _dequantize(kind: ScalarType, x: Array, scale: float, zero_point: float) -> Array:
    shifted = rounded(np.subtract, kind, x.astype(numpy_dtype(kind)), zero_point)
    return rounded(np.multiply, kind, shifted, scale)


@kernel("quantized_decomposed::dequantize_per_tensor.out")
@inferred(rules.dequantize)
def dequantize_per_tensor_out(
    ctx: PrepareContext,
    input: Tensor,
    scale: float,
    zero_point: int,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out_dtype: int | None,
    out: Tensor,
) -> Step:
    """(`input` - `zero_point`) * `scale` in `out_dtype`, by default float32."""
    compute = functools.partial(_dequantize, out.scalar_type, scale=scale, zero_point=zero_point)
    return evaluated(compute, (input,), (out,))


@kernel("quantized_decomposed::dequantize_per_tensor.Tensor_out")
@inferred(rules.dequantize_by_tensor)
def dequantize_per_tensor_tensor_out(
    ctx: PrepareContext,
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out_dtype: int | None,
    out: Tensor,
) -> Step:
    """The same with `scale` and `zero_point` in tensors of one element."""

    return _dequantize_by(input, scale, zero_point, out)


def _dequantize_by(input: Tensor, scale: Tensor, zero_point: Tensor, out: Tensor) -> Step:
    def compute(x: Array, scale: Array, zero_point: Array) -> Array:
        return _dequantize(out.scalar_type, x, float(scale.item()), float(zero_point.item()))

    return evaluated(compute, (input, scale, zero_point), (out,))


@kernel("quantized_decomposed::dequantize_per_tensor.Tensor2_out")
@inferred(rules.dequantize_by_tensor)
def dequantize_per_tensor_tensor2_out(
    ctx: PrepareContext,
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: Tensor,
    quant_max: Tensor,
    dtype: int,
    out_dtype: int | None,
    out: Tensor,
) -> Step:
    """The same with the limits, which do not matter, in tensors."""
    return _dequantize_by(input, scale, zero_point, out)


@kernel("quantized_decomposed::convert_element_type.no_fuse_out")
@inferred(rules.convert)
def convert_element_type_out(ctx: PrepareContext, input: Tensor, dtype: int, out: Tensor) -> Step:
    """`input` as `dtype`."""
    return evaluated(np.asarray, (input,), (out,), input.dtype)


def along(array: Array, axis: int, rank: int) -> Array:
    """The vector `array` as an array of `rank` that lies along `axis`."""
    return array.reshape((1,) * axis + (-1,) + (1,) * (rank - axis - 1))


@kernel("quantized_decomposed::quantize_per_channel.out")
@inferred(rules.quantize_channels)
def quantize_per_channel_out(
    ctx: PrepareContext,
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out: Tensor,
) -> Step:
    """round(`input` * (1 / scale)) + zero point, clamped, with a scale and a zero point for each index of
    dimension `axis`.
    """
    where = dimension(ctx, axis, len(input.sizes), arg="axis")
    kinds = promote(ScalarType.FLOAT, scales.scalar_type), zero_points.scalar_type
    shape = functools.partial(along, axis=where, rank=len(input.sizes))
    compute = functools.partial(_quantize_channels, (quant_min, quant_max), out.dtype, kinds, shape)
    return evaluated(compute, (input, scales, zero_points), (out,))


def _quantize_channels(
    limits: tuple[float, float],
    dtype: np.dtype[np.generic],
    kinds: tuple[ScalarType, ScalarType],
    shape: Callable[[Array], Array],
    x: Array,
    scales: Array,
    zero_points: Array,
) -> Array:
    kind = promote(*kinds)
    whole = np.rint(rounded(np.multiply, kinds[0], x, 1 / shape(scales)))
    return clamped(rounded(np.add, kind, whole, shape(zero_points)), limits, dtype)


@kernel("quantized_decomposed::dequantize_per_channel.out")
@inferred(rules.dequantize_channels)
def dequantize_per_channel_out(
    ctx: PrepareContext,
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: int,
    out_dtype: int | None,
    out: Tensor,
) -> Step:
    """(`input` - zero point) * scale, with a scale and a zero point for each index of dimension `axis`."""
    where = dimension(ctx, axis, len(input.sizes), arg="axis")
    shape = functools.partial(along, axis=where, rank=len(input.sizes))
    return restored(input, scales, zero_points, shape, out)


def restored(
    input: Tensor, scales: Tensor, zero_points: Tensor | None, shape: Callable[[Array], Array], out: Tensor
) -> Step:
    """The step that stores (`input` - `zero_points`) * `scales`, the two brought into shape by `shape`,
    each operation in the type that torch's promotion gives it. Integers wrap.
    """
    kinds = [input.scalar_type, scales.scalar_type]
    if zero_points is not None:
        kinds.append(zero_points.scalar_type)
    given = (input, scales) if zero_points is None else (input, scales, zero_points)
    return evaluated(functools.partial(_restore, kinds, shape), given, (out,))


def _restore(
    kinds: Sequence[ScalarType],
    shape: Callable[[Array], Array],
    x: Array,
    scales: Array,
    zero_points: Array | None = None,
) -> Array:
    kind = kinds[0]
    if zero_points is not None:
        kind = promote(kind, kinds[2])
        x = rounded(np.subtract, kind, x, shape(zero_points))
    return rounded(np.multiply, promote(kind, kinds[1]), x, shape(scales))


@kernel("quantized_decomposed::fake_quant_per_channel.out")
@inferred(rules.fake_quantise_channels, check=check_out_type)
def fake_quant_per_channel_out(
    ctx: PrepareContext,
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    out: Tensor,
) -> Step:
    """Quantized by channel and restored, in float32."""
    where = dimension(ctx, axis, len(input.sizes), arg="axis")

    def compute(x: Array, scales: Array, zero_points: Array) -> Array:
        scale = along(scales.astype(np.float32), where, x.ndim)
        zero = along(zero_points.astype(np.int32), where, x.ndim).astype(np.float32)
        level = np.rint(x * (1 / scale)) + zero
        limits = np.float32(quant_min), np.float32(quant_max)
        return (np.minimum(np.maximum(level, limits[0]), limits[1]) - zero) * scale

    return evaluated(compute, (input, scales, zero_points), (out,))
