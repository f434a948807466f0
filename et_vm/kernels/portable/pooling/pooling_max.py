"""Max pooling over volumes and adaptive grids, and its inverse."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

from et_ops.inference.convolution import FRACTIONAL, POOLING, UNPOOLING
from et_ops.inference.shapes import spatial
from et_vm.kernels.portable.arguments import FLOAT, INTEGER
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.image.geometry import Window
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.pooling.pooling import pooling_window
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor
from et_vm.work import CALL


def _take_better(values: Array, places: Array, tap: Array, where: Array) -> None:
    """Replace `values`, and with them their `places`, by those of `tap` that are larger or NaN."""
    better = tap > values
    if tap.dtype.kind not in "iu":
        better |= np.isnan(tap)
    np.copyto(values, tap, where=better)
    np.copyto(places, np.broadcast_to(where, places.shape), where=better)


@kernel("aten::max_pool3d_with_indices.out")
@inferred(POOLING[3].maximum, kinds=(INTEGER, FLOAT), outs=2)
def max_pool3d_with_indices_out(
    ctx: PrepareContext,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
    out: Tensor,
    indices: Tensor,
) -> Step:
    """The largest of each window of a volume ([N,] C, D, H, W), and its index in the channel's volume: of equals
    the first, of NaNs the last. Allocates the padded volume and a mask of the result.
    """
    window = pooling_window(ctx, self, kernel_size, stride, padding, dilation, out, 3)
    ctx.work(8 * math.prod(window.kernel) * (out.numel + CALL))
    return evaluated(functools.partial(_max_windows, window), (self,), (out, indices))


def _max_windows(window: Window, volume: Array) -> tuple[Array, Array]:
    lowest = -math.inf if volume.dtype.kind == "f" else np.iinfo(volume.dtype).min
    batch = volume.shape[:-3]
    after = [
        max(pad, reach - size - pad)
        for pad, reach, size in zip(window.padding, window.reach, window.size, strict=True)
    ]
    spans = [(0, 0)] * len(batch) + list(zip(window.padding, after, strict=True))
    padded = np.pad(volume, spans, constant_values=lowest)
    values = np.full((*batch, *window.out), lowest, volume.dtype)
    places = np.zeros(values.shape, np.int64)
    corners = [
        np.arange(n) * s - p for n, s, p in zip(window.out, window.stride, window.padding, strict=True)
    ]
    # Where all taps of a window are as low as its padding, the first of its taps inside the volume is the index.
    firsts = [c + -(-np.maximum(-c, 0) // d) * d for c, d in zip(corners, window.dilation, strict=True)]
    np.copyto(places, _plane_index(firsts, window.size))
    for tap in itertools.product(*map(range, window.kernel)):
        begin = [t * d for t, d in zip(tap, window.dilation, strict=True)]
        cut = tuple(
            slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(begin, window.out, window.stride, strict=True)
        )
        lines = [c + b for c, b in zip(corners, begin, strict=True)]
        _take_better(values, places, padded[(..., *cut)], _plane_index(lines, window.size))
    return values, places


def _plane_index(lines: Sequence[Array], size: Sequence[int]) -> Array:
    """The index in the flattened image of each combination of coordinates."""
    result = np.zeros((1,) * len(lines), np.int64)
    for axis, (line, extent) in enumerate(zip(lines, size, strict=True)):
        result = result * extent + line.reshape((-1,) + (1,) * (len(lines) - 1 - axis))
    return result


def _adaptive_max(ctx: PrepareContext, self: Tensor, dims: int, out: Tensor, indices: Tensor) -> Step:
    places = out.sizes[-dims:]
    ctx.work(4 * self.numel + 8 * CALL * math.prod(places))
    return evaluated(functools.partial(_max_parts, places), (self,), (out, indices))


def _max_parts(counts: tuple[int, ...], image: Array) -> tuple[Array, Array]:
    """Part k of n along a dimension of size s is [floor(k s / n), ceil((k + 1) s / n))."""
    dims = len(counts)
    size = image.shape[-dims:]
    values = np.empty((*image.shape[:-dims], *counts), image.dtype)
    places = np.empty(values.shape, np.int64)
    for at in itertools.product(*map(range, counts)):
        spans = [(k * s // n, -(-(k + 1) * s // n)) for k, s, n in zip(at, size, counts, strict=True)]
        part = image[(..., *(slice(*span) for span in spans))]
        flat = part.reshape(*part.shape[:-dims], math.prod(part.shape[-dims:]))
        best: Array = np.argmax(flat, -1)
        if image.dtype.kind == "f":
            # numpy finds the first NaN, torch the last.
            lost = np.isnan(flat)
            best = np.where(lost.any(-1), flat.shape[-1] - 1 - np.argmax(lost[..., ::-1], -1), best)
        values[(..., *at)] = np.take_along_axis(flat, best[..., None], -1)[..., 0]
        lines: list[Array] = [np.arange(start, end) for start, end in spans]
        index = _plane_index(lines, size).reshape(-1)
        places[(..., *at)] = index[best]
    return values, places


@kernel("aten::adaptive_max_pool2d.out")
@inferred(POOLING[2].adaptive_maximum, kinds=(INTEGER, FLOAT), outs=2)
def adaptive_max_pool2d_out(
    ctx: PrepareContext, self: Tensor, output_size: list[int], out: Tensor, indices: Tensor
) -> Step:
    """Maxima over a grid of `output_size` nearly equal parts, and their indices in the channel's plane.
    Allocates each part in turn.
    """
    return _adaptive_max(ctx, self, 2, out, indices)


@kernel("aten::adaptive_max_pool3d.out")
@inferred(POOLING[3].adaptive_maximum, kinds=(INTEGER, FLOAT), outs=2)
def adaptive_max_pool3d_out(
    ctx: PrepareContext, self: Tensor, output_size: list[int], out: Tensor, indices: Tensor
) -> Step:
    """Maxima over a grid of `output_size` nearly equal parts, and their indices in the channel's volume.
    Allocates each part in turn.
    """
    return _adaptive_max(ctx, self, 3, out, indices)


def _fractional(
    ctx: PrepareContext,
    self: Tensor,
    kernel_size: list[int],
    random_samples: Tensor,
    dims: int,
    output: Tensor,
    indices: Tensor,
) -> Step:
    taps = spatial(kernel_size, dims)
    places, planes = output.sizes[-dims:], math.prod(output.sizes[:-dims])
    ctx.work(8 * math.prod(taps) * (output.numel + CALL * planes))
    compute = functools.partial(_fractional_max, ctx, taps, places)
    return evaluated(compute, (self, random_samples), (output, indices))


def _fractional_max(
    ctx: PrepareContext, taps: tuple[int, ...], counts: tuple[int, ...], image: Array, samples: Array
) -> tuple[Array, Array]:
    """Windows start at the steps of Graham 2015 (arXiv:1412.6071): floor((k + u) a) - floor(u a), a = (s - t) /
    (n - 1), with a random u for each channel and dimension, and the last at the end.
    """
    inside = (samples >= 0) & (samples <= 1)
    if not inside.all():
        raise ctx.trap(arg="random_samples", expected="numbers in [0, 1]", got=float(samples[~inside][0]))
    dims = len(counts)
    size = image.shape[-dims:]
    whole = image.reshape(-1, image.shape[-dims - 1], *size)
    values = np.empty((*whole.shape[:2], *counts), image.dtype)
    places = np.empty(values.shape, np.int64)
    for n, c in itertools.product(range(whole.shape[0]), range(whole.shape[1])):
        # Of planes the last dimension takes the first number, of volumes the first.
        numbers = samples[n, c] if dims == 3 else samples[n, c, ::-1]
        lines = [_starts(u, *extent) for u, *extent in zip(numbers, size, counts, taps, strict=True)]
        best = np.full(counts, -math.inf, image.dtype)
        where = np.zeros(counts, np.int64)
        np.copyto(where, _plane_index(lines, size))
        for tap in itertools.product(*map(range, taps)):
            moved = [line + t for line, t in zip(lines, tap, strict=True)]
            _take_better(best, where, whole[n, c][np.ix_(*moved)], _plane_index(moved, size))
        values[n, c], places[n, c] = best, where
    shape = (*image.shape[:-dims], *counts)
    return values.reshape(shape), places.reshape(shape)


def _starts(u: np.float32 | np.float64, size: int, count: int, taps: int) -> Array:
    starts = np.full(count, size - taps, np.int64)
    if count > 1:
        kind = type(u)
        alpha = kind(size - taps) / kind(count - 1)
        steps = np.arange(count - 1).astype(kind)
        starts[:-1] = ((steps + u) * alpha).astype(np.int64) - int(u * alpha)
    return starts


@kernel("aten::fractional_max_pool2d.output")
@inferred(FRACTIONAL[2], kinds=(FLOAT,), outs=2)
def fractional_max_pool2d_out(
    ctx: PrepareContext,
    self: Tensor,
    kernel_size: list[int],
    output_size: list[int],
    random_samples: Tensor,
    output: Tensor,
    indices: Tensor,
) -> Step:
    """Maxima of windows at random steps, and their indices. Allocates the result and a mask of a plane."""
    return _fractional(ctx, self, kernel_size, random_samples, 2, output, indices)


@kernel("aten::fractional_max_pool3d.output")
@inferred(FRACTIONAL[3], kinds=(FLOAT,), outs=2)
def fractional_max_pool3d_out(
    ctx: PrepareContext,
    self: Tensor,
    kernel_size: list[int],
    output_size: list[int],
    random_samples: Tensor,
    output: Tensor,
    indices: Tensor,
) -> Step:
    """Maxima of windows at random steps, and their indices. Allocates the result and a mask of a volume."""
    return _fractional(ctx, self, kernel_size, random_samples, 3, output, indices)


def _unpool(ctx: PrepareContext, self: Tensor, indices: Tensor, dims: int, out: Tensor) -> Step:
    return evaluated(functools.partial(_scatter, ctx, out.sizes, dims), (self, indices), (out,))


def _scatter(ctx: PrepareContext, shape: tuple[int, ...], dims: int, image: Array, indices: Array) -> Array:
    area = math.prod(shape[-dims:])
    planes = math.prod(shape[:-dims])
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < area:
        wrong = int(indices.min()) if int(indices.min()) < 0 else int(indices.max())
        raise ctx.trap(arg="indices", expected=f"indices in [0, {area})", got=wrong)
    result = np.zeros((planes, area), image.dtype)
    if image.size:
        np.put_along_axis(result, indices.reshape(planes, -1), image.reshape(planes, -1), 1)
    return result.reshape(shape)


@kernel("aten::max_unpool2d.out")
@inferred(UNPOOLING[2])
def max_unpool2d_out(
    ctx: PrepareContext, self: Tensor, indices: Tensor, output_size: list[int], out: Tensor
) -> Step:
    """Each element put where `indices` say in its plane of zeros. Allocates the result."""
    return _unpool(ctx, self, indices, 2, out)


@kernel("aten::max_unpool3d.out")
@inferred(UNPOOLING[3])
def max_unpool3d_out(
    ctx: PrepareContext,
    self: Tensor,
    indices: Tensor,
    output_size: list[int],
    stride: list[int],
    padding: list[int],
    out: Tensor,
) -> Step:
    """Each element put where `indices` say in its volume of zeros. Allocates the result."""
    return _unpool(ctx, self, indices, 3, out)
