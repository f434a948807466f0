"""Convolution as a matrix product. A 1x1 kernel takes the image itself, others a matrix of windows (im2col).

In index order the product is (filters, taps) x (taps, places) and lands in the output image as it lies;
with channels last it is (places, taps) x (taps, filters). Groups are a batch of products.
"""

from __future__ import annotations

import math

import numpy as np

from et_vm.kernels.portable.image.geometry import Padded, Window, channels_last, windows
from et_vm.kernels.portable.linalg.matmul import product
from et_vm.kernels.portable.movement.move import moves
from et_vm.kernels.portable.steps import call, copy
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array

MATRIX_LIMIT = 1 << 22
"""Elements of the window matrix gathered at a time (16 MB of float32)."""


def dense(
    ctx: PrepareContext,
    image: Array,
    weight: Array,
    bias: Array | None,
    out: Array,
    window: Window,
    groups: int,
    pack_key: int | None,
) -> list[Step]:
    """Calls that store the convolution of `image` (N, C, space...) with `weight` (K, C / groups,
    space...) into `out`, which is contiguous or channels-last.

    `pack_key` identifies a constant weight, of which a repacked copy may be kept. Scratch: the padded
    image of one sample and the window matrix of at most MATRIX_LIMIT elements; for a 1x1 kernel only the
    image, when its places are strided.
    """
    method = _channels_last if channels_last(out) else _channels_first
    return method(ctx, image, weight, bias, out, window, groups, pack_key)


def _packed_weight(ctx: PrepareContext, weight: Array, pack_key: int | None) -> tuple[list[Step], Array]:
    """`weight` C-contiguous: itself, a copy kept for a constant, or scratch and the calls that fill it."""
    if weight.flags.c_contiguous:
        return [], weight
    if pack_key is not None:
        return [], ctx.memo(("weight", pack_key), lambda: np.ascontiguousarray(weight))
    packed = ctx.scratch(weight.shape, weight.dtype)
    return moves(ctx, weight, packed), packed


def _rows_at_a_time(window: Window, elements_per_place: int) -> int:
    per_row = elements_per_place * math.prod(window.out[1:])
    return min(window.out[0], max(1, MATRIX_LIMIT // per_row))


def _channels_first(
    ctx: PrepareContext,
    image: Array,
    weight: Array,
    bias: Array | None,
    out: Array,
    window: Window,
    groups: int,
    pack_key: int | None,
) -> list[Step]:
    samples, channels = image.shape[:2]
    filters = weight.shape[0] // groups
    calls, weight = _packed_weight(ctx, weight, pack_key)
    matrix = weight.reshape(groups, filters, -1)
    column = None if bias is None else bias.reshape(groups, filters, 1)
    rows_out, rest = window.out[0], math.prod(window.out[1:])
    places = rows_out * rest
    direct = window.is_pointwise and window.out == window.size
    pad = Padded(ctx, image[0], 1, window)
    calls += pad.edges
    taps = math.prod(window.kernel)
    rows = _rows_at_a_time(window, channels * taps)
    buffer: Array | None = None
    ctx.hold(calls=3 * samples * -(-rows_out // rows))
    for sample in range(samples):
        source, target = image[sample], out[sample].reshape(groups, filters, rows_out, rest)
        if direct and (plane := _as_matrix(source)) is not None:
            whole = target.reshape(groups, filters, places)
            calls += product(ctx, matrix, plane.reshape(groups, channels // groups, places), whole)
            if column is not None:
                calls.append(call(np.add, whole, column, whole))
            continue
        if buffer is None:
            buffer = ctx.scratch(channels * taps * rows * rest, image.dtype)
        bring, inside = pad.calls(ctx, source)
        calls += bring
        view = windows(inside, 1, window)
        by_row = (slice(None),) * (1 + len(window.kernel))
        for start in range(0, rows_out, rows):
            end = min(start + rows, rows_out)
            count = (end - start) * rest
            gathered = buffer[: channels * taps * count]
            part = view[(*by_row, slice(start, end))]
            calls.append(copy(part, gathered.reshape(part.shape)))
            result = target[:, :, start:end].reshape(groups, filters, count)
            calls += product_into(ctx, matrix, gathered.reshape(groups, -1, count), result)
            if column is not None:
                calls.append(call(np.add, result, column, result))
    return calls


def product_into(ctx: PrepareContext, a: Array, b: Array, out: Array) -> list[Step]:
    """`out = a @ b` for operands BLAS reads in place and an `out` whose rows are contiguous but may lie
    apart.
    """
    return [(np.matmul, (a, b, out))] if a.shape[-1] else product(ctx, a, b, out)


def _as_matrix(image: Array) -> Array | None:
    """One image (C, space...) as a matrix (C, places) that BLAS can read, if its memory allows."""
    channels = image.shape[0]
    if image.flags.c_contiguous:
        return image.reshape(channels, -1)
    turned = np.moveaxis(image, 0, -1)
    return turned.reshape(-1, channels).T if turned.flags.c_contiguous else None


def _channels_last(
    ctx: PrepareContext,
    image: Array,
    weight: Array,
    bias: Array | None,
    out: Array,
    window: Window,
    groups: int,
    pack_key: int | None,
) -> list[Step]:
    samples, channels = image.shape[:2]
    filters, depth = weight.shape[0] // groups, channels // groups
    calls, weight = _packed_weight(ctx, np.moveaxis(weight, 1, -1), pack_key)
    matrix = weight.reshape(groups, filters, -1).swapaxes(1, 2)
    rows_out, rest = window.out[0], math.prod(window.out[1:])
    places = rows_out * rest
    direct = window.is_pointwise and window.out == window.size
    turned = np.moveaxis(image, 1, -1)
    pad = Padded(ctx, turned[0], 0, window)
    calls += pad.edges
    taps = math.prod(window.kernel)
    rows = _rows_at_a_time(window, channels * taps)
    buffer: Array | None = None
    results = np.moveaxis(out, 1, -1).reshape(samples, rows_out, rest, groups * filters)
    ctx.hold(calls=3 * samples * -(-rows_out // rows))
    for sample in range(samples):
        if direct and (plane := _as_matrix(image[sample])) is not None:
            whole = results[sample].reshape(places, groups * filters)
            by_group = plane.T.reshape(places, groups, depth).swapaxes(0, 1)
            calls += _grouped_product(ctx, by_group, matrix, whole, bias)
            continue
        if buffer is None:
            buffer = ctx.scratch(channels * taps * rows * rest, image.dtype)
        bring, inside = pad.calls(ctx, turned[sample])
        calls += bring
        view = windows(inside, 0, window)  # kernel..., places..., channels
        space = len(window.kernel)
        split = view.reshape(*view.shape[:-1], groups, depth)
        order = (2 * space, *range(space, 2 * space), *range(space), 2 * space + 1)
        by_place = split.transpose(order)  # groups, places..., kernel..., depth
        for start in range(0, rows_out, rows):
            end = min(start + rows, rows_out)
            count = (end - start) * rest
            part = by_place[:, start:end]
            gathered = buffer[: channels * taps * count]
            calls.append(copy(part, gathered.reshape(part.shape)))
            result = results[sample, start:end].reshape(count, groups * filters)
            calls += _grouped_product(ctx, gathered.reshape(groups, count, -1), matrix, result, bias)
    return calls


def _grouped_product(ctx: PrepareContext, a: Array, b: Array, out: Array, bias: Array | None) -> list[Step]:
    """(groups, places, taps) x (groups, taps, filters) into (places, groups * filters)."""
    groups = a.shape[0]
    target = out.reshape(out.shape[0], groups, -1).swapaxes(0, 1)
    operands = (a[0], b[0], target[0]) if groups == 1 else (a, b, target)
    calls = product_into(ctx, *operands)
    return calls if bias is None else [*calls, call(np.add, out, bias, out)]
