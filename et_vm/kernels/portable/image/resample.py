"""Resizing images: in the arithmetic of floats, and of bytes in fixed point as torch does it.

Columns of bytes are resampled before rows, each rounded to bytes; the weights of a pass are integers of at most 15
bits, with as many binary places as the largest of them allows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import FLOAT, INTEGER, check_kinds, check_rank, check_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.linalg.matmul import in_arithmetic_type
from et_vm.kernels.portable.promotion import arithmetic, floating
from et_vm.kernels.portable.steps import NOTHING, call, chain, copy
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, DType, Tensor


def target_size(
    ctx: PrepareContext,
    input: Tensor,
    output_size: Sequence[int] | None,
    scale_factors: Sequence[float] | None,
) -> tuple[tuple[int, int], tuple[float | None, float | None]]:
    """The height and width of the result, and the scales that were given instead of them."""
    check_rank(ctx, input, 4, arg="input")
    if (output_size is None) == (scale_factors is None):
        raise ctx.error("exactly one of 'output_size' and 'scale_factors' must be given")
    if output_size is not None:
        ctx.check(len(output_size) == 2, arg="output_size", expected="two numbers", got=list(output_size))
        return (output_size[0], output_size[1]), (None, None)
    factors = list(scale_factors or ())
    ctx.check(
        len(factors) == 2 and min(factors) > 0,
        arg="scale_factors",
        expected="two positive numbers",
        got=factors,
    )
    height, width = (int(size * factor) for size, factor in zip(input.sizes[2:], factors, strict=True))
    return (height, width), (factors[0], factors[1])


def check_image(ctx: PrepareContext, input: Tensor, size: Sequence[int], out: Tensor) -> None:
    check_rank(ctx, input, 4, arg="input")
    check_type(ctx, input.scalar_type, out, arg="out")
    positive = min(*size, *input.sizes[1:]) > 0
    ctx.check(
        positive,
        arg="output_size",
        expected="a non-empty image and result",
        got=(list(input.sizes), list(size)),
    )
    out.resize((*input.sizes[:2], *size))


def _nearest(
    ctx: PrepareContext, input: Tensor, size: Sequence[int], scales: Sequence[float | None], out: Tensor
) -> Step:
    check_image(ctx, input, size, out)
    if not out.array.size:
        return NOTHING
    array = input.array
    calls: list[Step] = []
    for axis, (count, scale) in enumerate(zip(size, scales, strict=True), 2):
        extent = input.sizes[axis]
        if count in (extent, 2 * extent):
            # Torch looks at the sizes first, whatever the factor is that gave them.
            source = np.arange(count, dtype=np.intp) // (count // extent)
        else:
            # As in torch, positions are float32 products.
            step = np.float32(1.0 / scale if scale is not None and scale > 0 else extent / count)
            source = np.minimum((np.arange(count, dtype=np.float32) * step).astype(np.intp), extent - 1)
        shape = list(array.shape)
        shape[axis] = count
        target = out.array if axis == 3 and out.array.flags.c_contiguous else ctx.scratch(shape, array.dtype)
        calls.append((array.take, (source, axis, target, "clip")))
        array = target
    if array is not out.array:
        calls.append(copy(array, out.array))
    return chain(calls)


@kernel("aten::upsample_nearest2d.vec_out")
def upsample_nearest2d_vec_out(
    ctx: PrepareContext,
    input: Tensor,
    output_size: list[int] | None,
    scale_factors: list[float] | None,
    out: Tensor,
) -> Step:
    """The element at floor(i * n / m) for each i of m. Scratch: the image with its height changed."""
    size, scales = target_size(ctx, input, output_size, scale_factors)
    return _nearest(ctx, input, size, scales, out)


@kernel("aten::upsample_nearest2d.out")
def upsample_nearest2d_out(
    ctx: PrepareContext,
    self: Tensor,
    output_size: list[int],
    scales_h: float | None,
    scales_w: float | None,
    out: Tensor,
) -> Step:
    """The element at floor(i * n / m) for each i of m. Scratch: the image with its height changed."""
    size, _ = target_size(ctx, self, output_size, None)
    return _nearest(ctx, self, size, (scales_h, scales_w), out)


def _source_positions(
    extent: int, count: int, align_corners: bool, scale: float | None, dtype: DType
) -> Array:
    """Source coordinates of `count` results on a line of `extent` elements, in the arithmetic of `dtype`
    as torch computes it.
    """
    real = np.float64 if dtype == np.float64 else np.float32
    at = np.arange(count, dtype=real)
    if align_corners:
        return at * real((extent - 1) / (count - 1) if count > 1 else 0.0)
    step = real(1.0 / scale if scale is not None and scale > 0 else extent / count)
    return np.maximum((at + real(0.5)) * step - real(0.5), real(0))


def _bilinear(
    ctx: PrepareContext,
    input: Tensor,
    size: Sequence[int],
    align_corners: bool,
    scales: Sequence[float | None],
    out: Tensor,
) -> Step:
    check_kinds(ctx, input.scalar_type, (INTEGER, FLOAT), arg="input")
    check_image(ctx, input, size, out)
    if not out.array.size:
        return NOTHING
    if input.scalar_type == ScalarType.BYTE:
        extents = zip(input.sizes[2:], size, scales, strict=True)
        lines = [dense(_linear_lines(*line, align_corners), line[0]) for line in extents]
        return resample_bytes, (input.array, *lines, out.array)
    dtype = numpy_dtype(arithmetic(floating(input.scalar_type)))
    calls, array = in_arithmetic_type(ctx, input, dtype, "input")
    for axis, (count, scale) in enumerate(zip(size, scales, strict=True), 2):
        extent = input.sizes[axis]
        position = _source_positions(extent, count, align_corners, scale, dtype)
        low = np.minimum(position.astype(np.intp), extent - 1)
        high = np.minimum(low + 1, extent - 1)
        line = [1] * array.ndim
        line[axis] = count
        share = (position - low).astype(dtype).reshape(line)
        rest = (1 - share).astype(dtype)
        shape = list(array.shape)
        shape[axis] = count
        direct = axis == 3 and out.dtype == dtype and out.array.flags.c_contiguous
        first = out.array if direct else ctx.scratch(shape, dtype)
        second = ctx.scratch(shape, dtype)
        calls += [
            (array.take, (low, axis, first, "clip")),
            (array.take, (high, axis, second, "clip")),
            call(np.multiply, first, rest, first),
            call(np.multiply, second, share, second),
            call(np.add, first, second, first),
        ]
        array = first
    if array is not out.array:
        calls.append(copy(array, out.array))
    return chain(calls)


def _linear_lines(
    extent: int, count: int, scale: float | None, align_corners: bool
) -> list[tuple[int, Array]]:
    """For each of `count` results the first of the two elements between which it lies, and their weights."""
    found: list[tuple[int, Array]] = []
    for position in _source_positions(extent, count, align_corners, scale, np.dtype(np.float64)):
        low = min(int(position), extent - 1)
        share = min(float(position) - low, 1.0)
        found.append((low, np.array([1 - share, share]) if low + 1 < extent else np.ones(1)))
    return found


@kernel("aten::upsample_bilinear2d.vec_out")
def upsample_bilinear2d_vec_out(
    ctx: PrepareContext,
    input: Tensor,
    output_size: list[int] | None,
    align_corners: bool,
    scale_factors: list[float] | None,
    out: Tensor,
) -> Step:
    """Linear interpolation of rows, then of columns. Scratch: two images with the height changed, one with
    both.
    """
    size, scales = target_size(ctx, input, output_size, scale_factors)
    return _bilinear(ctx, input, size, align_corners, scales, out)


@kernel("aten::upsample_bilinear2d.out")
def upsample_bilinear2d_out(
    ctx: PrepareContext,
    self: Tensor,
    output_size: list[int],
    align_corners: bool,
    scales_h: float | None,
    scales_w: float | None,
    out: Tensor,
) -> Step:
    """Linear interpolation of rows, then of columns. Scratch: two images with the height changed, one with
    both.
    """
    size, _ = target_size(ctx, self, output_size, None)
    return _bilinear(ctx, self, size, align_corners, (scales_h, scales_w), out)


_BITS = 15
_MOST_PLACES = 22


def fixed_point(weights: Array) -> tuple[Array, int]:
    """`weights` [results, elements] as integers, and the number of their binary places."""
    largest = float(weights.max(initial=0.0))
    places = 0
    while places < _MOST_PLACES and int(0.5 + largest * (1 << (places + 1))) < 1 << _BITS:
        places += 1
    scaled = weights * (1 << places)
    return np.where(weights < 0, scaled - 0.5, scaled + 0.5).astype(np.int64), places


def dense(rows: Sequence[tuple[int, Array]], extent: int) -> Array:
    """Weights [results, elements] from the first element and the weights of each result."""
    matrix = np.zeros((len(rows), extent))
    for at, (first, weights) in enumerate(rows):
        matrix[at, first : first + len(weights)] += weights
    return matrix


def _pass(lines: Array, weights: Array) -> Array:
    """`lines` [..., elements] of bytes to [..., results]."""
    factors, places = fixed_point(weights)
    half = 1 << (places - 1) if places else 0
    return np.clip((lines.astype(np.int64) @ factors.T + half) >> places, 0, 255)


def resample_bytes(image: Array, rows: Array, columns: Array, out: Array) -> None:
    """`image` (N, C, H, W) resampled with the weights of its `rows` [h, H] and `columns` [w, W]. A direction
    that keeps its size is left alone. Allocates the image with its width changed and the result, in int64.
    """
    made = image if columns.shape[0] == columns.shape[1] else _pass(image, columns)
    if rows.shape[0] != rows.shape[1]:
        made = _pass(made.swapaxes(2, 3), rows).swapaxes(2, 3)
    np.copyto(out, made, "unsafe")
