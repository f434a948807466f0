"""Products and convolutions of quantized tensors, in integers.

numpy has no fast product of integers; BLAS adds products of integers exactly as floats while no sum exceeds 2^24, or
2^53 in double precision. Weights stay integers of one byte in memory: they are converted block by block, or filter by
filter, into scratch at each call.
"""

from __future__ import annotations

import math

import numpy as np

from et_ops.inference import integer as rules
from et_vm.kernels.portable.convolution.convolution import Operands, method, window_of
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.image.geometry import channels_last
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.integer.requantize import Coefficients, Grid, reach, requantized, sum_type
from et_vm.kernels.portable.steps import chain, copy
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

WEIGHTS = 1 << 17
"""Weights converted at a time: 512 KB of float32."""
PLACES = 1 << 18
"""Elements of the image and the result of a 1x1 convolution at a time: 1 MB of float32."""


def _largest_sum(weight: Tensor, input_zero_point: int) -> int:
    """A bound of the magnitudes of all sums of products, also of parts of them: by the weights if they are known."""
    most = reach(input_zero_point)
    bound = most * 128 * math.prod(weight.sizes[1:])
    if sum_type(bound) is np.float32 or not weight.constant:
        return bound
    rows = weight.array.reshape(weight.sizes[0], -1)
    return most * max(int(np.abs(row, dtype=np.int32).sum()) for row in rows)


def _coefficients(
    ctx: PrepareContext, scales: Tensor, bias: Tensor | None, input_scale: float, grid: Grid
) -> tuple[Step, Coefficients]:
    """The coefficients of a layer in scratch, and the call that computes them."""
    factors = ctx.scratch(scales.sizes, np.float64)
    if bias is None:
        return (_scale, (scales.array, input_scale, grid.scale, factors)), Coefficients(factors)
    added = ctx.scratch(bias.sizes, np.float64)
    fill: Step = (_scale, (scales.array, input_scale, grid.scale, factors, bias.array, added))
    if bias.dtype == np.int32:
        return fill, Coefficients(factors, None, added)
    return fill, Coefficients(factors, added)


def _scale(
    scales: Array,
    input_scale: float,
    scale: float,
    factors: Array,
    bias: Array | None = None,
    added: Array | None = None,
) -> None:
    np.multiply(scales, input_scale, factors, dtype=np.float64)
    np.divide(factors, scale, factors)
    if bias is not None and added is not None:
        np.copyto(added, bias)
        if bias.dtype != np.int32:
            np.divide(added, scale, added)


def _shift(source: Array, zero_point: int, target: Array) -> Step:
    """The call that stores integers less their zero point as floats, exactly."""
    if not zero_point:
        return copy(source, target)
    return _subtract, (source, target.dtype.type(zero_point), target)


def _subtract(source: Array, zero_point: np.floating, target: Array) -> None:
    np.copyto(target, source)
    np.subtract(target, zero_point, target)


@kernel("integer::linear.out")
@inferred(rules.linear)
def linear_out(
    ctx: PrepareContext,
    input: Tensor,
    input_scale: float,
    input_zero_point: int,
    weight: Tensor,
    weight_scales: Tensor,
    bias: Tensor | None,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
    out: Tensor,
) -> Step:
    """`input` [..., K] times the transpose of `weight` [N, K], with a scale of each row of it or one for all.

    `s = Σ (input - input_zero_point) * weight` is exact. The result is `round(s * f + bias / out_scale) +
    out_zero_point` for a bias of floats, `round((s + bias) * f) + out_zero_point` for one of integers, where `f =
    input_scale * weight_scale / out_scale`, in double precision and this order, halves rounded to even; clamped to the
    limits. Scratch: `input` and the sums of a block of filters as floats, and the block.
    """
    grid = Grid(out_scale, out_zero_point, out_quant_min, out_quant_max)
    columns, filters = weight.sizes[1], weight.sizes[0]
    rows = input.numel // columns if columns else math.prod(input.sizes[:-1])
    dtype = sum_type(_largest_sum(weight, input_zero_point))
    fill, coefficients = _coefficients(ctx, weight_scales, bias, input_scale, grid)
    image = ctx.scratch((rows, columns), dtype)
    calls = [fill, _shift(input.array, input_zero_point, image.reshape(input.sizes))]
    whole = out.array if out.array.flags.c_contiguous else ctx.scratch(out.sizes, np.int8)
    results = whole.reshape(rows, filters)
    block = min(filters, max(1, WEIGHTS // max(1, columns)))
    matrix = ctx.scratch((block, columns), dtype)
    sums = ctx.scratch(rows * block, dtype)
    for start in range(0, filters, block):
        end = min(start + block, filters)
        part = matrix[: end - start]
        total = sums[: rows * (end - start)].reshape(rows, end - start)
        calls += [copy(weight.array[start:end], part), (np.matmul, (image, part.T, total))]
        calls += requantized(ctx, total, results[:, start:end], grid, coefficients.part(start, end), 1)
    if whole is not out.array:
        calls.append(copy(whole, out.array))
    return chain(calls)


@kernel("integer::convolution.out")
@inferred(rules.convolution)
def convolution_out(
    ctx: PrepareContext,
    input: Tensor,
    input_scale: float,
    input_zero_point: int,
    weight: Tensor,
    weight_scales: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
    out: Tensor,
) -> Step:
    """`input` (N, C, space...) with `weight` (K, C / groups, space...); the borders stand for the real number 0.

    The formula is that of `linear`. Scratch: a sample, its sums and the filters as floats, and what the convolution of
    floats takes; for kernels of 1x1 a block of the image and of its sums.
    """
    grid = Grid(out_scale, out_zero_point, out_quant_min, out_quant_max)
    window = window_of(ctx, input, weight, stride, padding, dilation, False, out)
    dtype = sum_type(_largest_sum(weight, input_zero_point))
    fill, coefficients = _coefficients(ctx, weight_scales, bias, input_scale, grid)
    last = channels_last(out.array)
    filters = ctx.scratch(weight.sizes, dtype)
    calls = [fill, copy(weight.array, filters)]
    whole = out.array if _is_dense(out.array, last) else ctx.scratch(out.sizes, np.int8)
    last = last and whole is out.array
    stored = [] if whole is out.array else [copy(whole, out.array)]
    images, results, kernels = input.array, whole, filters
    direct = window.is_pointwise and window.out == window.size and groups == 1
    if direct and _is_dense(images, last):
        calls += _pointwise(ctx, images, input_zero_point, filters, coefficients, grid, whole, last)
        return chain(calls + stored)
    if len(window.size) == 1:
        window, images, results = window.lifted(), images[:, :, None, :], results[:, :, None, :]
        kernels = filters[:, :, None, :]
    image = _scratch(ctx, images[:1].shape, dtype, last)
    sums = _scratch(ctx, results[:1].shape, dtype, last)
    products = method(ctx, Operands(image, kernels, None, sums), window, groups, False, None)
    axis = 1 if last else 0
    for sample in range(len(images)):
        calls += [_shift(images[sample : sample + 1], input_zero_point, image), *products]
        total, target = (_matrix(one[0 if one is sums else sample], last) for one in (sums, results))
        calls += requantized(ctx, total, target, grid, coefficients, axis)
    return chain(calls + stored)


def _is_dense(images: Array, last: bool) -> bool:
    """Whether the elements of a batch of images lie side by side in memory, channels last or first."""
    return (np.moveaxis(images, 1, -1) if last else images).flags.c_contiguous


def _matrix(image: Array, last: bool) -> Array:
    """An image [channels, space...] as a matrix: channels are its rows, its columns if they are last in memory."""
    if last:
        return np.moveaxis(image, 0, -1).reshape(-1, image.shape[0])
    return image.reshape(image.shape[0], -1)


def _scratch(ctx: PrepareContext, shape: tuple[int, ...], dtype: type[np.floating], last: bool) -> Array:
    if not last:
        return ctx.scratch(shape, dtype)
    return np.moveaxis(ctx.scratch((shape[0], *shape[2:], shape[1]), dtype), -1, 1)


def _pointwise(
    ctx: PrepareContext,
    images: Array,
    zero_point: int,
    filters: Array,
    coefficients: Coefficients,
    grid: Grid,
    out: Array,
    last: bool,
) -> list[Step]:
    """A 1x1 convolution block by block of places, so that floats stay in the cache."""
    count, channels = filters.shape[:2]
    places = math.prod(images.shape[2:])
    matrix = filters.reshape(count, channels)
    block = min(places, max(1, PLACES // (count + channels)))
    image = ctx.scratch(channels * block, matrix.dtype)
    sums = ctx.scratch(count * block, matrix.dtype)
    calls: list[Step] = []
    for sample in range(len(images)):
        source, target = _matrix(images[sample], last), _matrix(out[sample], last)
        for start in range(0, places, block):
            size = min(block, places - start)
            shapes = ((size, channels), (size, count)) if last else ((channels, size), (count, size))
            pixels = image[: channels * size].reshape(shapes[0])
            total = sums[: count * size].reshape(shapes[1])
            here = (slice(start, start + size),) if last else (slice(None), slice(start, start + size))
            calls.append(_shift(source[here], zero_point, pixels))
            calls.append((np.matmul, (pixels, matrix.T, total) if last else (matrix, pixels, total)))
            calls += requantized(ctx, total, target[here], grid, coefficients, 1 if last else 0)
    return calls
