"""Resizing images: in the arithmetic of floats, and of bytes in fixed point as torch does it.

Columns of bytes are resampled before rows, each rounded to bytes; the weights of a pass are integers of at most 15
bits, with as many binary places as the largest of them allows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from et_ops.inference.convolution import RESAMPLING
from et_ops.resampling import goes_by_sizes, nearest_factor
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import FLOAT, INTEGER
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.linalg.matmul import in_arithmetic_type
from et_vm.kernels.portable.promotion import arithmetic, floating
from et_vm.kernels.portable.steps import call, chain, copy
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, DType, Tensor

_NEAREST, _BILINEAR = RESAMPLING["upsample_nearest2d"], RESAMPLING["upsample_bilinear2d"]


def _nearest(ctx: PrepareContext, input: Tensor, scales: Sequence[float | None], out: Tensor) -> Step:
    array = input.array
    calls: list[Step] = []
    is_channels_last = input.dim_order == (0, 2, 3, 1)
    by_sizes = goes_by_sizes(input.sizes[1], out.sizes[2:], is_channels_last=is_channels_last)
    for axis, (count, given) in enumerate(zip(out.sizes[2:], scales, strict=True), 2):
        extent = input.sizes[axis]
        scale = nearest_factor(extent, count, given, by_sizes)
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
@inferred(_NEAREST.by_vector)
def upsample_nearest2d_vec_out(
    ctx: PrepareContext,
    input: Tensor,
    output_size: list[int] | None,
    scale_factors: list[float] | None,
    out: Tensor,
) -> Step:
    """The element at floor(i * n / m) for each i of m. Scratch: the image with its height changed."""
    return _nearest(ctx, input, scale_factors or (None, None), out)


@kernel("aten::upsample_nearest2d.out")
@inferred(_NEAREST.by_size)
def upsample_nearest2d_out(
    ctx: PrepareContext,
    self: Tensor,
    output_size: list[int],
    scales_h: float | None,
    scales_w: float | None,
    out: Tensor,
) -> Step:
    """The element at floor(i * n / m) for each i of m. Scratch: the image with its height changed."""
    return _nearest(ctx, self, (scales_h, scales_w), out)


def _source_positions(
    extent: int, count: int, align_corners: bool, scale: float | None, dtype: DType
) -> Array:
    """Source coordinates of `count` results on a line of `extent` elements, in the arithmetic of `dtype`
    as torch computes it: they are the elements' own where the size is kept, whatever the scale is.
    """
    real = np.float64 if dtype == np.float64 else np.float32
    at = np.arange(count, dtype=real)
    if count == extent:
        return at
    if align_corners:
        return at * real((extent - 1) / (count - 1) if count > 1 else 0.0)
    step = real(1.0 / scale if scale is not None and scale > 0 else extent / count)
    return np.maximum((at + real(0.5)) * step - real(0.5), real(0))


def _bilinear(
    ctx: PrepareContext,
    input: Tensor,
    align_corners: bool,
    scales: Sequence[float | None],
    out: Tensor,
) -> Step:
    size = out.sizes[2:]
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
        # Where the size is kept, torch multiplies the element itself by 0, which makes a NaN of an infinity.
        high = low if count == extent else np.minimum(low + 1, extent - 1)
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
@inferred(_BILINEAR.by_vector, kinds=(INTEGER, FLOAT))
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
    return _bilinear(ctx, input, align_corners, scale_factors or (None, None), out)


@kernel("aten::upsample_bilinear2d.out")
@inferred(_BILINEAR.by_size, kinds=(INTEGER, FLOAT))
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
    return _bilinear(ctx, self, align_corners, (scales_h, scales_w), out)


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
