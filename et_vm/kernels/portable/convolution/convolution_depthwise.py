"""Depthwise convolution as a sum of shifted images.

A stride of s is undone first: the padded image is taken apart into s x s phases, so that under each tap the
elements that meet an output row lie side by side. Each phase is one flat row of memory per channel, rows of
the image following one another, so a tap of the kernel is a single offset and its contribution one long
multiplication; the few elements computed across the row ends are dropped at the end. Blocks of channels
keep image, product and sum in the L2 cache.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from et_vm.kernels.portable.image.geometry import Window, channels_last
from et_vm.kernels.portable.steps import call, copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array

TILE = 1 << 16
"""Elements of the padded image worked on at a time (256 KB of float32), measured best from 64 KB to 1 MB."""

_WIDE = 256


class _Phases(NamedTuple):
    """The padded image taken apart: phase (p, q) holds the elements (i * stride + p, j * stride + q) as
    `rows` by `columns`.
    """

    rows: int
    columns: int
    which: list[tuple[int, int]]
    taps: list[tuple[int, int, int]]
    """Per tap of the kernel in order: its phase's place in `which`, and the row and column it starts
    from.
    """


def _phases(window: Window) -> _Phases:
    (sh, sw), (dh, dw), (kh, kw) = window.stride, window.dilation, window.kernel
    which: dict[tuple[int, int], int] = {}
    taps: list[tuple[int, int, int]] = []
    for y, x in itertools.product(range(kh), range(kw)):
        phase = ((y * dh) % sh, (x * dw) % sw)
        taps.append((which.setdefault(phase, len(which)), y * dh // sh, x * dw // sw))
    rows = window.out[0] + (kh - 1) * dh // sh
    columns = window.out[1] + (kw - 1) * dw // sw
    return _Phases(rows, columns, list(which), taps)


def _overlap(size: int, stride: int, pad: int, phase: int, count: int) -> tuple[slice, slice]:
    """Range of elements `i * stride + phase - pad`, i < count, inside [0, size): the slice of i, and of
    the image.
    """
    first = max(0, -(-(pad - phase) // stride))
    last = min(count, (size - 1 + pad - phase) // stride + 1)
    start = first * stride + phase - pad
    return slice(first, max(first, last)), slice(start, start + max(0, last - first) * stride, stride)


def depthwise(
    ctx: PrepareContext,
    image: Array,
    weight: Array,
    bias: Array | None,
    out: Array,
    window: Window,
    pack_key: int | None,
) -> list[Step]:
    """Calls that convolve each channel of `image` (N, C, H, W) with its own filters of `weight` (C * m,
    1, h, w) into `out`, which is contiguous or channels-last.

    Scratch: a tile of the image, a product and a sum. Channels last with m = 1 keeps the weights repeated
    along a row (`pack_key` identifies a constant weight; otherwise they are repeated into scratch at each
    call).
    """
    ctx.hold(calls=math.prod(window.kernel))
    if channels_last(out) and weight.shape[0] == image.shape[1]:
        return _last(ctx, image, weight, bias, out, window, pack_key)
    return _first(ctx, image, weight, bias, out, window)


def _first(
    ctx: PrepareContext, image: Array, weight: Array, bias: Array | None, out: Array, window: Window
) -> list[Step]:
    samples, channels = image.shape[:2]
    many = weight.shape[0] // channels
    phases = _phases(window)
    height, width = window.out
    flat = height * phases.columns
    # A tap may start up to a row's slack further on, so a plane has that many elements more.
    slack = max(column for _, _, column in phases.taps)
    plane = phases.rows * phases.columns + slack
    block = min(channels, max(1, TILE // (plane * len(phases.which))))
    # Blocks of one size have one tile.
    block = -(-channels // -(-channels // block))
    planes = ctx.scratch((len(phases.which), block, plane), image.dtype)
    total = ctx.scratch((block, many, flat), image.dtype)
    part = ctx.scratch((block, many, flat), image.dtype)
    calls: list[Step] = [copy(filled(image.dtype, 0), planes)]
    filters = weight.reshape(channels, many, -1, 1).transpose(2, 0, 1, 3)
    targets = out.reshape(samples, channels, many, height, width) if many > 1 else out[:, :, None]
    column = None if bias is None else bias.reshape(channels, many, 1, 1)
    tiles: dict[int, _Tile] = {}
    ctx.hold(calls=samples * -(-channels // block) * (len(phases.which) + len(phases.taps) + 2))
    for sample, start in itertools.product(range(samples), range(0, channels, block)):
        end = min(start + block, channels)
        count = end - start
        tile = tiles.get(count)
        if tile is None:
            tile = tiles[count] = _tile(planes[:, :count], total[:count], part[:count], phases, window)
        pixels = image[sample, start:end]
        calls += [copy(pixels[index], inside) for index, inside in tile.insides]
        factors = list(filters[:, start:end])
        calls.append((_sum_products, (tile.shifted, factors, tile.sums, tile.products)))
        target = targets[sample, start:end]
        calls.append(
            copy(tile.kept, target) if column is None else (np.add, (tile.kept, column[start:end], target))
        )
    return calls


class _Tile(NamedTuple):
    """Views of the scratch of `_first` for a number of channels: the same for every such block."""

    insides: list[tuple[tuple[Any, ...], Array]]
    """Per phase, which elements of the image it holds, and where."""
    shifted: list[Array]
    """Per tap, what it is multiplied with."""
    sums: Array
    products: Array
    kept: Array
    """The sums without those across the row ends."""


def _sum_products(shifted: Sequence[Array], factors: Sequence[Array], sums: Array, products: Array) -> None:
    np.multiply(shifted[0], factors[0], sums)
    for image, factor in zip(shifted[1:], factors[1:], strict=True):
        np.multiply(image, factor, products)
        np.add(sums, products, sums)


def _tile(planes: Array, sums: Array, products: Array, phases: _Phases, window: Window) -> _Tile:
    count, many, flat = sums.shape
    height = window.out[0]
    size = phases.rows * phases.columns
    insides: list[tuple[tuple[Any, ...], Array]] = []
    for at, (p, q) in enumerate(phases.which):
        rows, from_rows = _overlap(window.size[0], window.stride[0], window.padding[0], p, phases.rows)
        columns, from_columns = _overlap(
            window.size[1], window.stride[1], window.padding[1], q, phases.columns
        )
        inside = planes[at, :, :size].reshape(count, phases.rows, phases.columns)[:, rows, columns]
        if inside.size:
            insides.append(((slice(None), from_rows, from_columns), inside))
    shifted: list[Array] = []
    for phase, row, column in phases.taps:
        offset = row * phases.columns + column
        shifted.append(planes[phase, :, None, offset : offset + flat])
    return _Tile(
        insides,
        shifted,
        sums,
        products,
        sums.reshape(count, many, height, phases.columns)[..., : window.out[1]],
    )


def _last(
    ctx: PrepareContext,
    image: Array,
    weight: Array,
    bias: Array | None,
    out: Array,
    window: Window,
    pack_key: int | None,
) -> list[Step]:
    samples, channels = image.shape[:2]
    phases = _phases(window)
    height, width = window.out
    # Narrow channels: the weights repeated along a row make the inner loop a whole row instead of one pixel.
    repeat = 1 if channels >= _WIDE else phases.columns
    calls, factors = _repeated_weight(ctx, weight.reshape(channels, -1), repeat, pack_key)
    pixel_rows = phases.columns * channels
    halo = phases.rows - height
    block = min(height, max(1, TILE // (pixel_rows * len(phases.which)) - halo))
    slack = max(column for _, _, column in phases.taps) * channels
    plane = (block + halo) * pixel_rows + slack
    planes = ctx.scratch((len(phases.which), plane), image.dtype)
    total = ctx.scratch(block * pixel_rows, image.dtype)
    part = ctx.scratch(block * pixel_rows, image.dtype)
    zero = filled(image.dtype, 0)
    ctx.hold(calls=samples * -(-height // block) * (len(phases.which) + 2 * len(phases.taps) + 2))
    turned, targets = np.moveaxis(image, 1, -1), np.moveaxis(out, 1, -1)
    for sample, start in itertools.product(range(samples), range(0, height, block)):
        end = min(start + block, height)
        count = (end - start) * pixel_rows
        # The border moves with the tile, so it is cleared for each.
        calls.append(copy(zero, planes))
        for at, (p, q) in enumerate(phases.which):
            rows, from_rows = _overlap(
                window.size[0],
                window.stride[0],
                window.padding[0] - start * window.stride[0],
                p,
                end - start + halo,
            )
            columns, from_columns = _overlap(
                window.size[1], window.stride[1], window.padding[1], q, phases.columns
            )
            grid = planes[at, : (block + halo) * pixel_rows].reshape(block + halo, phases.columns, channels)
            inside = grid[rows, columns]
            if inside.size:
                calls.append(copy(turned[sample, from_rows, from_columns], inside))
        shape = (count // (repeat * channels), repeat * channels)
        sums, products = total[:count].reshape(shape), part[:count].reshape(shape)
        for at, (phase, row, column) in enumerate(phases.taps):
            offset = (row * phases.columns + column) * channels
            shifted = planes[phase, offset : offset + count].reshape(shape)
            calls.append(call(np.multiply, shifted, factors[at], products if at else sums))
            if at:
                calls.append(call(np.add, sums, products, sums))
        kept = sums.reshape(end - start, phases.columns, channels)[:, :width]
        target = targets[sample, start:end]
        calls.append(copy(kept, target) if bias is None else call(np.add, kept, bias, target))
    return calls


def _repeated_weight(
    ctx: PrepareContext, weight: Array, repeat: int, pack_key: int | None
) -> tuple[list[Step], Array]:
    """`weight` (channels, taps) as (taps, repeat * channels)."""
    channels, taps = weight.shape
    view = np.broadcast_to(weight.T[:, None, :], (taps, repeat, channels))
    if pack_key is not None:
        packed = ctx.memo(("weight", pack_key, repeat), lambda: np.ascontiguousarray(view), view.nbytes)
        return [], packed.reshape(taps, -1)
    buffer = ctx.scratch((taps, repeat, channels), weight.dtype)
    return [copy(view, buffer)], buffer.reshape(taps, -1)
