"""Resizing and warping images."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import FLOAT, check_kinds, check_rank, check_same_type, check_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.matmul import in_arithmetic_type
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.portable.resample_bytes import dense, resample_bytes
from et_vm.kernels.portable.steps import NOTHING, call, chain, copy, filled
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, DType, Tensor


def _target(
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


def _check_image(ctx: PrepareContext, input: Tensor, size: Sequence[int], out: Tensor) -> None:
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
    _check_image(ctx, input, size, out)
    if not out.array.size:
        return NOTHING
    array = input.array
    calls: list[Step] = []
    for axis, (count, scale) in enumerate(zip(size, scales, strict=True), 2):
        extent = input.sizes[axis]
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
    size, scales = _target(ctx, input, output_size, scale_factors)
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
    size, _ = _target(ctx, self, output_size, None)
    return _nearest(ctx, self, size, (scales_h, scales_w), out)


def _source_positions(
    extent: int, count: int, align_corners: bool, scale: float | None, dtype: DType
) -> Array:
    """Where on a line of ``extent`` elements each of ``count`` results lies, in the arithmetic of ``dtype``
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
    if input.scalar_type != ScalarType.BYTE:
        check_kinds(ctx, input.scalar_type, (FLOAT,), arg="input")
    _check_image(ctx, input, size, out)
    if not out.array.size:
        return NOTHING
    if input.scalar_type == ScalarType.BYTE:
        extents = zip(input.sizes[2:], size, scales, strict=True)
        lines = [dense(_linear_lines(*line, align_corners), line[0]) for line in extents]
        return resample_bytes, (input.array, *lines, out.array)
    dtype = numpy_dtype(arithmetic(input.scalar_type))
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
    """For each of ``count`` results the first of the two elements between which it lies, and their weights."""
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
    size, scales = _target(ctx, input, output_size, scale_factors)
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
    size, _ = _target(ctx, self, output_size, None)
    return _bilinear(ctx, self, size, align_corners, (scales_h, scales_w), out)


def _antialias_weights(
    extent: int, count: int, align_corners: bool, scale: float | None
) -> list[tuple[int, Array]]:
    """For each of ``count`` results the first element it draws on and the weights of the triangle filter,
    widened when the image shrinks.
    """
    if align_corners:
        step = (extent - 1) / (count - 1) if count > 1 else 0.0
    else:
        step = 1.0 / scale if scale is not None and scale > 0 else extent / count
    support = max(step, 1.0)
    found: list[tuple[int, Array]] = []
    for at in range(count):
        centre = step * (at + 0.5)
        first = max(int(centre - support + 0.5), 0)
        last = min(int(centre + support + 0.5), extent)
        distance = (np.arange(first, last) - centre + 0.5) / support
        weights = np.maximum(0.0, 1.0 - np.abs(distance))
        total = weights.sum()
        found.append((first, weights / total if total else weights))
    return found


@kernel("aten::_upsample_bilinear2d_aa.out")
def upsample_bilinear2d_aa_out(
    ctx: PrepareContext,
    self: Tensor,
    output_size: list[int],
    align_corners: bool,
    scales_h: float | None,
    scales_w: float | None,
    out: Tensor,
) -> Step:
    """Weighted means with a triangle filter as wide as the image shrinks, of columns, then of rows.
    Scratch: the image with its width changed, float32 copies of 16-bit types, and one product.
    """
    if self.scalar_type != ScalarType.BYTE:
        check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    size, _ = _target(ctx, self, output_size, None)
    _check_image(ctx, self, size, out)
    if not out.array.size:
        return NOTHING
    if self.scalar_type == ScalarType.BYTE:
        extents = zip(self.sizes[2:], size, (scales_h, scales_w), strict=True)
        lines = [dense(_antialias_weights(n, m, align_corners, s), n) for n, m, s in extents]
        return resample_bytes, (self.array, *lines, out.array)
    dtype = numpy_dtype(arithmetic(self.scalar_type))
    calls, array = in_arithmetic_type(ctx, self, dtype, "self")
    batch, channels, height, _ = self.sizes
    wide = ctx.scratch((batch, channels, height, size[1]), dtype)
    work = ctx.scratch((batch, channels, height), dtype)
    for at, (first, weights) in enumerate(
        _antialias_weights(self.sizes[3], size[1], align_corners, scales_w)
    ):
        calls += _weighted(array[..., first : first + len(weights)], weights, work, wide[..., at], 3)
    target = out.array if out.dtype == dtype else ctx.scratch(out.sizes, dtype)
    work = ctx.scratch((batch, channels, size[1]), dtype)
    for at, (first, weights) in enumerate(_antialias_weights(height, size[0], align_corners, scales_h)):
        calls += _weighted(wide[:, :, first : first + len(weights)], weights, work, target[:, :, at], 2)
    if target is not out.array:
        calls.append(copy(target, out.array))
    return chain(calls)


def _weighted(part: Array, weights: Array, work: Array, out: Array, axis: int) -> list[Step]:
    """Calls for the weighted sum of ``part`` along ``axis``, one element after the other so that only NaNs
    with a weight count.
    """
    before = (slice(None),) * axis
    calls: list[Step] = []
    for at, weight in enumerate(weights):
        term = part[(*before, at)]
        factor = filled(work.dtype, weight)
        calls.append(call(np.multiply, term, factor, work if at else out))
        if at:
            calls.append(call(np.add, out, work, out))
    return calls


@kernel("aten::grid_sampler_2d.out")
def grid_sampler_2d_out(
    ctx: PrepareContext,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    out: Tensor,
) -> Step:
    """``input`` (N, C, H, W) at the points of ``grid`` (N, h, w, 2), x before y, in [-1, 1]. Interpolation
    0 bilinear, 1 nearest, 2 bicubic; outside 0 zeros, 1 the border, 2 reflection. Numpy allocates the
    positions and weights.
    """
    check_rank(ctx, input, 4, arg="input")
    check_rank(ctx, grid, 4, arg="grid")
    check_kinds(ctx, input.scalar_type, (FLOAT,), arg="input")
    check_same_type(ctx, input, ("grid", grid), ("out", out))
    matches = grid.sizes[0] == input.sizes[0] and grid.sizes[3] == 2
    ctx.check(matches, arg="grid", expected=f"[{input.sizes[0]}, h, w, 2]", got=list(grid.sizes))
    ctx.check(
        interpolation_mode in (0, 1, 2),
        arg="interpolation_mode",
        expected="0, 1 or 2",
        got=interpolation_mode,
    )
    ctx.check(padding_mode in (0, 1, 2), arg="padding_mode", expected="0, 1 or 2", got=padding_mode)
    ctx.check(min(input.sizes[2:]) > 0, arg="input", expected="a non-empty image", got=list(input.sizes))
    out.resize((*input.sizes[:2], *grid.sizes[1:3]))
    if not out.array.size:
        return NOTHING
    dtype = numpy_dtype(arithmetic(input.scalar_type))
    return _sample, (
        input.array, grid.array, interpolation_mode, padding_mode, align_corners, dtype, out.array,
    )  # fmt: skip


def _reflect(position: Array, low: float, high: float) -> Array:
    """``position`` folded back and forth between ``low`` and ``high``."""
    if low == high:
        return np.zeros_like(position)
    span = high - low
    inside = np.abs(position - low)
    extra = np.fmod(inside, span)
    flips = np.floor(inside / span)
    return np.where(flips % 2 == 0, extra + low, span - extra + low).astype(position.dtype)


def _placed(position: Array, size: int, padding_mode: int, align_corners: bool) -> Array:
    """Positions outside of the image brought where ``padding_mode`` says."""
    if padding_mode == 0:
        return position
    if padding_mode == 2:
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        position = _reflect(position, low, high)
    # A NaN goes to the first element, as in torch.
    return np.fmin(np.fmax(position, 0), size - 1)


def _sample(
    image: Array, grid: Array, mode: int, padding_mode: int, align_corners: bool, dtype: DType, out: Array
) -> None:
    image, grid = image.astype(dtype, copy=False), grid.astype(dtype, copy=False)
    height, width = image.shape[2:]
    positions: list[Array] = []
    for axis, size in ((1, height), (0, width)):
        unit: Array = grid[..., axis]
        position = (unit + 1) / 2 * (size - 1) if align_corners else ((unit + 1) * size - 1) / 2
        positions.append(position if mode == 2 else _placed(position, size, padding_mode, align_corners))
    y, x = positions
    total = np.zeros(out.shape, dtype)
    if mode == 1:
        total += _fetch(image, np.rint(y), np.rint(x), padding_mode, align_corners, False)
    else:
        weigh = _linear_weights if mode == 0 else _cubic_weights
        rows, columns = weigh(y), weigh(x)
        for (yy, wy), (xx, wx) in itertools.product(rows, columns):
            total += _fetch(image, yy, xx, padding_mode, align_corners, mode == 2) * (wy * wx)[:, None]
    np.copyto(out, total, "unsafe")


def _linear_weights(position: Array) -> list[tuple[Array, Array]]:
    low = np.floor(position)
    share = position - low
    return [(low, 1 - share), (low + 1, share)]


def _cubic_weights(position: Array) -> list[tuple[Array, Array]]:
    """Keys's cubic convolution with a = -0.75."""
    a = -0.75
    low = np.floor(position)
    t = position - low

    def near(d: Array) -> Array:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Array) -> Array:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [(low - 1, far(t + 1)), (low, near(t)), (low + 1, near(1 - t)), (low + 2, far(2 - t))]


def _fetch(image: Array, y: Array, x: Array, padding_mode: int, align_corners: bool, place: bool) -> Array:
    """The elements at whole positions, (N, C, h, w); zero outside of the image."""
    height, width = image.shape[2:]
    if place:
        y, x = _placed(y, height, padding_mode, align_corners), _placed(x, width, padding_mode, align_corners)
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    row = np.where(inside, y, 0).astype(np.intp)
    column = np.where(inside, x, 0).astype(np.intp)
    samples: int = image.shape[0]
    sample = np.arange(samples).reshape(-1, 1, 1)
    found: Array = np.moveaxis(image[sample, :, row, column], -1, 1)
    return np.where(inside[:, None], found, np.zeros((), image.dtype))
