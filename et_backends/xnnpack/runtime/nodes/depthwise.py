"""Depthwise convolution of float32 images with the channels last: each tap of the filter is a product of the image,
as it lies in memory, with the tap's weights, added where it falls into the output. There is no padded image: a tap
that falls outside of the image adds nothing there.
"""

from __future__ import annotations

import itertools

import numpy as np

from et_backends.xnnpack.runtime.grid import FLOAT32, Limits, clamp
from et_backends.xnnpack.runtime.nodes.windows import Axis
from et_vm.kernels.portable.steps import call, copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array

_TILE = 1 << 15
"""Elements of the output worked on at a time, measured best for filters of 3 x 3 from 7 x 7 to 112 x 112 pixels."""

_WIDE = 256
"""Channels from which on the weights of a tap need not be repeated along a row for long loops."""


def depthwise_steps(
    ctx: PrepareContext,
    image: Array,
    weight: Array,
    weight_key: object,
    bias: Array | None,
    axes: tuple[Axis, Axis],
    limits: Limits | None,
    out: Array,
) -> list[Step]:
    """Steps that convolve each channel of `image` (N, H, W, C) with its own filter of the constant `weight`
    (h, w, C) into `out` (N, H', W', C), within `limits`. Scratch: a tile. Kept: the weights, repeated along a row.
    """
    height, width = axes
    samples, _, _, channels = image.shape
    # Narrow pixels that lie side by side are taken for lines of numbers: the fewer and longer the loops, the better.
    lines = width.stride == 1 and channels < _WIDE
    repeat, unit = (width.out, channels) if lines else (1, 1)
    row = weight.shape[0] * weight.shape[1] * repeat * channels
    weights: Array = ctx.memo(
        ("taps", weight_key, repeat),
        lambda: np.ascontiguousarray(
            np.broadcast_to(weight[:, :, None, :], (*weight.shape[:2], repeat, channels))
        ).reshape(*weight.shape[:2], -1),
        FLOAT32.itemsize * row,
    )
    rows = min(height.out, max(1, _TILE // (width.out * channels)))
    tiles = samples * -(-height.out // rows)
    ctx.hold(FLOAT32.itemsize * repeat * channels, 2 * tiles * (height.taps * width.taps + 2))
    taps = sorted(
        itertools.product(range(height.taps), range(width.taps)),
        # One that falls into the image everywhere comes first: it needs no zeros to be added to.
        key=lambda tap: _misses(height, tap[0]) + _misses(width, tap[1]),
    )
    product = ctx.scratch((rows, width.out, channels), FLOAT32)
    results = out
    if lines:
        image, results = image.reshape(samples, height.size, -1), out.reshape(samples, height.out, -1)
        product = product.reshape(rows, -1)
        bias = None if bias is None else np.tile(bias, repeat)
    calls: list[Step] = []
    for sample, start in itertools.product(range(samples), range(0, height.out, rows)):
        end = min(start + rows, height.out)
        tile = results[sample, start:end]
        for index, (y, x) in enumerate(taps):
            inside, from_rows = _overlap(height, y, start, end)
            within, from_columns = _overlap(width, x, 0, width.out)
            alone = index == 0 and inside == slice(0, end - start) and within == slice(0, width.out)
            if index == 0 and not alone:
                calls.append(copy(filled(FLOAT32, 0), tile))
            if from_rows is None or from_columns is None:
                continue
            within, from_columns = _scaled(within, unit), _scaled(from_columns, unit)
            source, target = image[sample, from_rows, from_columns], tile[inside, within]
            part = target if alone else product[inside, within]
            factors = weights[y, x, : target.shape[1]] if lines else weights[y, x]
            calls.append(call(np.multiply, source, factors, part))
            if not alone:
                calls.append(call(np.add, target, part, target))
        if bias is not None:
            calls.append(call(np.add, tile, bias, tile))
        if limits is not None:
            calls += clamp(tile, limits, tile)
    return calls


def _scaled(part: slice, unit: int) -> slice:
    return slice(part.start * unit, part.stop * unit, part.step) if unit > 1 else part


def _misses(axis: Axis, tap: int) -> int:
    """The number of places without an element of the image under a tap."""
    inside, _ = _overlap(axis, tap, 0, axis.out)
    return axis.out - (inside.stop - inside.start)


def _overlap(axis: Axis, tap: int, start: int, end: int) -> tuple[slice, slice | None]:
    """For which of the places from `start` to `end` a tap falls into the image, counted from `start`; on what."""
    offset = tap * axis.dilation - axis.before
    first = min(max(start, -(offset // axis.stride)), end)
    last = max(min(end, (axis.size - 1 - offset) // axis.stride + 1), first)
    at = first * axis.stride + offset
    reached = slice(at, at + (last - first - 1) * axis.stride + 1, axis.stride) if last > first else None
    return slice(first - start, last - start), reached
