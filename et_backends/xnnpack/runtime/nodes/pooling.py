"""Pooling of images with the channels last."""

from __future__ import annotations

import numpy as np

from et_backends.xnnpack.format.graph import (
    Node1x1,
    NodePooling2D,
    XNNArgMaxPooling2d,
    XNNAvgPooling2d,
    XNNGlobalAvgPooling2d,
    XNNMaxPooling2d,
)
from et_backends.xnnpack.runtime.nodes.declare import translates
from et_backends.xnnpack.runtime.nodes.windows import SAME_PADDING, Axis, checked, padded, tap
from et_backends.xnnpack.runtime.site import Site
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.steps import call, copy, filled
from et_vm.step import Step
from et_vm.values import Array, Tensor

_COUNT = 40
"""Bytes that the number of elements of a window takes, and what it is made of."""
KEEP_DIMENSIONS = 0x40
"""The flag for an output that still has the dimensions which were averaged over, of size 1."""


def _axes(site: Site, node: NodePooling2D, x: Tensor, *, dilated: bool) -> tuple[Axis, Axis]:
    site.check(len(x.sizes) == 4, "input", "an image", list(x.sizes))
    return checked(
        site,
        x,
        (
            Axis(x.sizes[1], node.pooling_height, node.stride_height,
                 node.dilation_height if dilated else 1, node.padding_top, node.padding_bottom),
            Axis(x.sizes[2], node.pooling_width, node.stride_width,
                 node.dilation_width if dilated else 1, node.padding_left, node.padding_right),
        ),
        filtered=False,
        same=bool(node.flags & SAME_PADDING),
    )  # fmt: skip


@translates(XNNMaxPooling2d, moves=True)
def max_pooling(site: Site, node: NodePooling2D) -> list[Step]:
    """The greatest element of each window: of its columns, then of its rows. Scratch: the padded image, and it with the
    columns taken together.
    """
    x = site.operand(node.input_id)
    axes = height, width = _axes(site, node, x, dilated=True)
    out = site.result(node.output_id, (x.sizes[0], height.out, width.out, x.sizes[3]))
    calls: list[Step] = []
    x = site.converted(x, out.scalar_type, calls)
    source = padded(site, x.array, axes, -np.inf, calls)
    if width.taps == 1 and width.stride == 1:
        columns = source
    else:
        columns = site.ctx.scratch((*source.shape[:2], width.out, source.shape[3]), source.dtype)
        calls += _reduced(site, np.maximum, source, 2, width, columns)
    return calls + _reduced(site, np.maximum, columns, 1, height, out.array)


def _reduced(
    site: Site, function: np.ufunc, source: Array, axis: int, window: Axis, target: Array
) -> list[Step]:
    """Steps that take the elements under all taps along an axis together."""
    site.ctx.hold(calls=2 * window.taps)
    taps = [tap(source, axis, window, index) for index in range(window.taps)]
    if len(taps) == 1:
        return [copy(taps[0], target)]
    calls = [call(function, taps[0], taps[1], target)]
    return calls + [call(function, target, other, target) for other in taps[2:]]


@translates(XNNAvgPooling2d)
def average_pooling(site: Site, node: NodePooling2D) -> list[Step]:
    """The mean of each window; padding does not count. Scratch: the padded image, the sums of its columns, and in
    float32 what is not.
    """
    x = site.operand(node.input_id)
    axes = height, width = _axes(site, node, x, dilated=False)
    out = site.result(node.output_id, (x.sizes[0], height.out, width.out, x.sizes[3]))
    calls: list[Step] = []
    x = site.converted(x, ScalarType.FLOAT, calls)
    source = padded(site, x.array, axes, 0.0, calls)
    columns = site.ctx.scratch((*source.shape[:2], width.out, source.shape[3]), source.dtype)
    target = out.array if out.dtype == source.dtype else site.ctx.scratch(out.sizes, source.dtype)
    calls += _reduced(site, np.add, source, 2, width, columns)
    calls += _reduced(site, np.add, columns, 1, height, target)
    # In integers first, of rows and columns and of windows.
    site.ctx.hold(_COUNT * (height.out * width.out + height.out + width.out))
    counts = np.outer(_counts(height), _counts(width)).astype(np.float32)
    calls.append(call(np.divide, target, counts[None, :, :, None], target))
    if target is not out.array:
        calls.append(copy(target, out.array))
    return calls


def _counts(window: Axis) -> Array:
    """The number of elements of each window inside the image, at least 1."""
    first = np.arange(window.out) * window.stride - window.before
    inside = np.minimum(first + window.taps, window.size) - np.maximum(first, 0)
    return np.maximum(inside, 1)


@translates(XNNGlobalAvgPooling2d)
def global_average_pooling(site: Site, node: Node1x1) -> list[Step]:
    """The mean of each channel. Scratch: sums of what is not float32."""
    x = site.operand(node.input_id)
    site.check(len(x.sizes) >= 3, "input", "an image", list(x.sizes))
    *batch, height, width, channels = x.sizes
    count = height * width
    site.check(count > 0, "input", "an image with pixels", list(x.sizes))
    kept = (1, 1) if node.flags & KEEP_DIMENSIONS or len(x.sizes) == 4 else ()
    out = site.result(node.output_id, (*batch, *kept, channels))
    pixels = x.array.reshape(-1, count, channels)
    target = out.array.reshape(-1, channels)
    sums = target if out.scalar_type == ScalarType.FLOAT else site.ctx.scratch(target.shape, np.float32)
    calls: list[Step] = [
        (np.add.reduce, (pixels, 1, np.float32, sums)),
        call(np.divide, sums, filled(sums.dtype, count), sums),
    ]
    return calls if sums is target else [*calls, copy(sums, target)]


@translates(XNNArgMaxPooling2d, moves=True)
def arg_max_pooling(site: Site, node: XNNArgMaxPooling2d) -> list[Step]:
    """The greatest element of each window, and its place in it; windows lie side by side. Scratch: the padded image,
    the windows, and the places as numpy gives them.
    """
    x = site.operand(node.input_id)
    site.check(len(x.sizes) == 4, "input", "an image", list(x.sizes))
    taps = node.pooling_height, node.pooling_width
    axes = height, width = checked(
        site,
        x,
        (
            Axis(x.sizes[1], taps[0], taps[0], 1, node.padding_top, node.padding_bottom),
            Axis(x.sizes[2], taps[1], taps[1], 1, node.padding_left, node.padding_right),
        ),
        filtered=False,
        same=bool(node.flags & SAME_PADDING),
    )
    sizes = (x.sizes[0], height.out, width.out, x.sizes[3])
    out, index = site.result(node.output_value_id, sizes), site.result(node.output_index_id, sizes)
    calls: list[Step] = []
    x = site.converted(x, out.scalar_type, calls)
    source = padded(site, x.array, axes, -np.inf, calls)
    rows, columns = height.out * taps[0], width.out * taps[1]
    split = source[:, :rows, :columns].reshape(sizes[0], height.out, taps[0], width.out, taps[1], sizes[3])
    gathered = site.ctx.scratch((*sizes, *taps), source.dtype)
    flat = gathered.reshape(*sizes, taps[0] * taps[1])
    places = site.ctx.scratch(sizes, np.intp)
    return [
        *calls,
        copy(split.transpose(0, 1, 3, 5, 2, 4), gathered),
        (flat.argmax, (-1, places)),
        (flat.max, (-1, out.array)),
        copy(places, index.array),
    ]
