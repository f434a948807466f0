"""Convolutions of images with the channels last, by the kernels for `aten::convolution`."""

from __future__ import annotations

import numpy as np

from et_backends.xnnpack.format.graph import NodeConv, XNNConv2d, XNNConvTranspose2d, XNNDepthwiseConv2d
from et_backends.xnnpack.runtime.grid import clamp
from et_backends.xnnpack.runtime.nodes.declare import translates
from et_backends.xnnpack.runtime.nodes.depthwise import depthwise_steps
from et_backends.xnnpack.runtime.nodes.windows import MOST, SAME_PADDING, Axis, checked, padded
from et_backends.xnnpack.runtime.site import Site, image, viewed
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.convolution.convolution import convolution_out
from et_vm.kernels.portable.steps import call
from et_vm.step import Step
from et_vm.values import Array, Tensor

_BLOCK = 1 << 17
"""Elements of a product that are finished while the cache has them."""


@translates(XNNConv2d)
def convolution(site: Site, node: NodeConv) -> list[Step]:
    """A filter of (outputs, height, width, inputs of a group). Scratch as the kernel says, an image that is not
    padded on all sides alike, and a quantized filter in float32.
    """
    filters = node.groups * node.group_output_channels
    shape = (filters, node.kernel_height, node.kernel_width, node.group_input_channels)
    calls: list[Step] = []
    weight = _checked(site, site.filter(node.filter_id, calls), shape)
    return calls + _convolve(site, node, image(weight), filters)


@translates(XNNDepthwiseConv2d)
def depthwise(site: Site, node: NodeConv) -> list[Step]:
    """A filter of (1, height, width, outputs) for groups of one input each."""
    filters = node.groups * node.group_output_channels
    site.check(node.group_input_channels == 1, "groups", "one input each", node.group_input_channels)
    stored = _filter(site, node, (1, node.kernel_height, node.kernel_width, filters))
    single = node.group_output_channels == 1 and stored.constant and not site.has_compiled
    if single and stored.scalar_type == ScalarType.FLOAT:
        x = _input(site, node)
        if x.scalar_type == ScalarType.FLOAT:
            return _single(site, node, x, stored)
    return _convolve(site, node, _by_channel(stored), filters)


def _filter(site: Site, node: NodeConv, shape: tuple[int, ...]) -> Tensor:
    return _checked(site, site.operand(node.filter_id), shape)


def _checked(site: Site, weight: Tensor, shape: tuple[int, ...]) -> Tensor:
    site.check(weight.sizes == shape, "filter", list(shape), list(weight.sizes))
    return weight


def _input(site: Site, node: NodeConv) -> Tensor:
    x = site.operand(node.input1_id)
    channels = node.groups * node.group_input_channels
    site.check(
        len(x.sizes) == 4 and x.sizes[-1] == channels, "input1", f"an image of {channels} channels", x.sizes
    )
    site.check(node.groups > 0, "groups", "a positive number", node.groups)
    return x


def _bias(site: Site, node: NodeConv, filters: int, like: Tensor, calls: list[Step]) -> Tensor | None:
    bias = site.optional(node.bias_id)
    if bias is None:
        return None
    site.check(bias.sizes == (filters,), "bias", [filters], list(bias.sizes))
    return site.converted(bias, like.scalar_type, calls)


def _axes(site: Site, node: NodeConv, x: Tensor) -> tuple[Axis, Axis]:
    return checked(
        site,
        x,
        (
            Axis(x.sizes[1], node.kernel_height, node.subsampling_height, node.dilation_height,
                 node.padding_top, node.padding_bottom),
            Axis(x.sizes[2], node.kernel_width, node.subsampling_width, node.dilation_width,
                 node.padding_left, node.padding_right),
        ),
        filtered=True,
        same=bool(node.flags & SAME_PADDING),
    )  # fmt: skip


def _single(site: Site, node: NodeConv, x: Tensor, weight: Tensor) -> list[Step]:
    """One filter for each channel, all in float32."""
    axes = height, width = _axes(site, node, x)
    out = site.result(node.output_id, (x.sizes[0], height.out, width.out, x.sizes[3]))
    if out.scalar_type != ScalarType.FLOAT or not out.numel:
        return _convolve(site, node, _by_channel(weight), x.sizes[3])
    calls: list[Step] = []
    bias = _bias(site, node, x.sizes[3], out, calls)
    if bias is not None and not bias.constant:
        # What is repeated along a row at load has to be there at load.
        return _convolve(site, node, _by_channel(weight), x.sizes[3])
    added = None if bias is None else bias.array
    limits = site.take_limits()
    return calls + depthwise_steps(
        site.ctx, x.array, weight.array[0], weight.version, added, axes, limits, out.array
    )


def _by_channel(stored: Tensor) -> Tensor:
    """The filter (1, height, width, outputs) as (outputs, 1, height, width)."""
    _, height, width, filters = stored.sizes
    return viewed(stored, (filters, 1, height, width), (1, 2, 3, 0))


def _convolve(site: Site, node: NodeConv, weight: Tensor, filters: int) -> list[Step]:
    x = _input(site, node)
    axes = height, width = _axes(site, node, x)
    out = site.result(node.output_id, (x.sizes[0], height.out, width.out, filters))
    if not out.numel:
        return []
    calls: list[Step] = []
    x = site.converted(x, out.scalar_type, calls)
    weight = site.converted(weight, out.scalar_type, calls)
    bias = _bias(site, node, filters, out, calls)
    single = node.groups == 1 and out.scalar_type == ScalarType.FLOAT and not site.has_compiled
    plain = all((axis.taps, axis.stride, axis.before, axis.after) == (1, 1, 0, 0) for axis in axes)
    if single and plain:
        return [*calls, *_pointwise(site, x.array, weight.array, bias, out.array)]
    padding = [height.before, width.before]
    if (height.before, width.before) != (height.after, width.after):
        surrounded = padded(site, x.array, axes, 0.0, calls)
        x = Tensor(x.scalar_type, surrounded.shape, storage=surrounded.reshape(-1).view(np.uint8))
        padding = [0, 0]
    steps = site.kernel(
        "aten::convolution.out",
        convolution_out,
        image(x),
        weight,
        bias,
        [height.stride, width.stride],
        padding,
        [height.dilation, width.dilation],
        False,
        [0, 0],
        node.groups,
        image(out),
    )
    return [*calls, *steps]


def _pointwise(site: Site, x: Array, weight: Array, bias: Tensor | None, out: Array) -> list[Step]:
    """One tap: a product of matrices, finished block by block."""
    filters, channels = weight.shape[:2]
    matrix = weight.reshape(filters, channels).T
    rows, results = x.reshape(-1, channels), out.reshape(-1, filters)
    limits = site.take_limits()
    count = max(1, _BLOCK // filters)
    calls: list[Step] = []
    for start in range(0, rows.shape[0], count):
        result = results[start : start + count]
        calls.append((np.matmul, (rows[start : start + count], matrix, result)))
        if bias is not None:
            calls.append(call(np.add, result, bias.array, result))
        if limits is not None:
            calls += clamp(result, limits, result)
    return calls


@translates(XNNConvTranspose2d)
def transposed(site: Site, node: NodeConv) -> list[Step]:
    """A filter of (outputs, height, width, inputs of a group), whose windows spread each element of the input."""
    x = _input(site, node)
    groups, outputs, inputs = node.groups, node.group_output_channels, node.group_input_channels
    filters = groups * outputs
    stored = _filter(site, node, (filters, node.kernel_height, node.kernel_width, inputs))
    sides = (
        (x.sizes[1], node.kernel_height, node.subsampling_height, node.dilation_height,
         node.padding_top, node.padding_bottom, node.adjustment_height),
        (x.sizes[2], node.kernel_width, node.subsampling_width, node.dilation_width,
         node.padding_left, node.padding_right, node.adjustment_width),
    )  # fmt: skip
    sizes: list[int] = []
    for size, taps, stride, dilation, before, after, more in sides:
        positive = (
            min(taps, stride, dilation) > 0 and max(taps, stride, dilation, before, after, more) <= MOST
        )
        site.check(positive, "window", "positive numbers", (taps, stride, dilation))
        site.check(before == after, "padding", "the same on both sides", (before, after))
        sizes.append((size - 1) * stride + (taps - 1) * dilation + 1 + more - before - after)
    site.check(min(sizes) > 0, "input", "an image that something is left of", list(x.sizes))
    out = site.result(node.output_id, (x.sizes[0], *sizes, filters))
    if not out.numel:
        return []
    calls: list[Step] = []
    x = site.converted(x, out.scalar_type, calls)
    weight = _spreading(site, site.converted(stored, out.scalar_type, calls), groups, calls)
    steps = site.kernel(
        "aten::convolution.out",
        convolution_out,
        image(x),
        weight,
        _bias(site, node, filters, out, calls),
        [node.subsampling_height, node.subsampling_width],
        [node.padding_top, node.padding_left],
        [node.dilation_height, node.dilation_width],
        True,
        [node.adjustment_height, node.adjustment_width],
        groups,
        image(out),
    )
    return [*calls, *steps]


def _spreading(site: Site, stored: Tensor, groups: int, calls: list[Step]) -> Tensor:
    """The filter as (inputs, outputs of a group, height, width)."""
    filters, height, width, inputs = stored.sizes
    by_group = stored.array.reshape(groups, filters // groups, height, width, inputs)
    turned = by_group.transpose(0, 4, 1, 2, 3)
    weight = Tensor(
        stored.scalar_type,
        (groups * inputs, filters // groups, height, width),
        constant=stored.constant,
        name=stored.name,
    )
    if stored.constant:
        packed = site.ctx.memo(
            ("spreading", stored.version), lambda: np.ascontiguousarray(turned), turned.nbytes
        )
    else:
        packed = site.ctx.scratch(turned.shape, stored.dtype)
        calls.append((np.copyto, (packed, turned)))
    weight.bind(packed.reshape(-1).view(np.uint8))
    if stored.constant:
        weight.version = stored.version
    return weight
