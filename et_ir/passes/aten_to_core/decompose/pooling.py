"""Pooling, padding and resampling.

What works on one dimension works on two of which one is 1: kernels are written for two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, Size, decomposes, is_static, meta
from et_ops.dtypes import I64
from et_ops.inference.shapes import spatial


def _on_two_dims(b: Chain, x: SSAValue, pool: Callable[[SSAValue], Sequence[SSAValue]]) -> list[SSAValue]:
    """Apply something over the last two dimensions to a tensor of which the first of these is new."""
    lifted = pool(b(aten.UnsqueezeOp, x, -2))
    return [b(aten.SqueezeDimsOp, y, (-2,)) for y in lifted]


@decomposes(Reason.COMMON, aten.MaxPool2dOp)
def max_pool2d(b: Chain, op: aten.MaxPool2dOp) -> SSAValue:
    return b(aten.MaxPool2dWithIndicesOp, *_pool_arguments(op))


@decomposes(Reason.COMMON, aten.MaxPool3dOp)
def max_pool3d(b: Chain, op: aten.MaxPool3dOp) -> SSAValue:
    return b(aten.MaxPool3dWithIndicesOp, *_pool_arguments(op))


@decomposes(Reason.KERNEL, aten.MaxPool3dWithIndicesOp)
def max_pool3d_with_indices(b: Chain, op: aten.MaxPool3dWithIndicesOp) -> list[SSAValue] | None:
    """Each slice first, then each column of what that leaves, whose indices say where in which slice to look."""
    x = op.self
    if not is_static(x) or 0 in meta(x).shape:
        return None
    kernel, stride = spatial(op.kernel_size, 3), spatial(op.stride or op.kernel_size, 3)
    padding, dilation = spatial(op.padding, 3), spatial(op.dilation, 3)

    def pool(x: SSAValue, dims: tuple[int, int]) -> Sequence[SSAValue]:
        arguments = [_chosen(values, dims, otherwise) for values, otherwise in
                     ((kernel, 1), (stride, 1), (padding, 0), (dilation, 1))]  # fmt: skip
        return b.results(aten.MaxPool2dWithIndicesOp, x, *arguments, op.ceil_mode)

    *batch, channels, depth, height, width = meta(x).shape
    slices, within = pool(b.view(x, (*batch, channels * depth, height, width)), (1, 2))
    high, wide = meta(slices).shape[-2:]
    area = high * wide
    columns, places = pool(b.view(slices, (*batch, channels, depth, area)), (0, -1))
    deep = meta(columns).shape[-2]
    flat = b.view(places, (*batch, channels, deep * area))
    inside = b(aten.GatherOp, b.view(within, (*batch, channels, depth * area)), -1, flat)
    before = b(aten.MulScalarOp, b(aten.FloorDivideScalarOp, flat, area), height * width)
    result = (*batch, channels, deep, high, wide)
    return [b.view(columns, result), b.view(b(aten.AddTensorOp, before, inside), result)]


def _chosen(values: Sequence[int], dims: tuple[int, int], otherwise: int) -> tuple[int, ...]:
    """The window in two of three dimensions; -1 is a dimension in which it is trivial."""
    return tuple(otherwise if dim < 0 else values[dim] for dim in dims)


def _on_volumes(b: Chain, x: SSAValue, pool: Callable[[SSAValue, tuple[int, int]], SSAValue]) -> SSAValue:
    """Pool three dimensions as two: first height and width of each slice, then depth of each column."""
    *batch, channels, depth, height, width = meta(x).shape
    slices = pool(b.view(x, (*batch, channels * depth, height, width)), (1, 2))
    height, width = meta(slices).shape[-2:]
    columns = b.view(slices, (*batch, channels, depth, height * width))
    pooled = pool(columns, (0, -1))
    return b.view(pooled, (*batch, channels, meta(pooled).shape[-2], height, width))


def _pool_arguments(op: aten.MaxPool2dOp | aten.MaxPool3dOp) -> tuple[Any, ...]:
    return op.self, op.kernel_size, op.stride, op.padding, op.dilation, op.ceil_mode


@decomposes(Reason.COMMON, aten.MaxPool1dOp)
def max_pool1d(b: Chain, op: aten.MaxPool1dOp) -> SSAValue:
    return _max_pool1d(b, op)[0]


@decomposes(Reason.COMMON, aten.MaxPool1dWithIndicesOp)
def max_pool1d_with_indices(b: Chain, op: aten.MaxPool1dOp) -> list[SSAValue]:
    return _max_pool1d(b, op)


def _max_pool1d(b: Chain, op: aten.MaxPool1dOp) -> list[SSAValue]:
    stride = op.stride or op.kernel_size
    return _on_two_dims(
        b,
        op.self,
        lambda x: b.results(
            aten.MaxPool2dWithIndicesOp,
            x,
            (1, *op.kernel_size),
            (1, *stride),
            (0, *op.padding),
            (1, *op.dilation),
            op.ceil_mode,
        ),
    )


@decomposes(Reason.KERNEL, aten.AvgPool1dOp)
def avg_pool1d(b: Chain, op: aten.AvgPool1dOp) -> SSAValue:
    stride = op.stride or op.kernel_size
    (y,) = _on_two_dims(
        b,
        op.self,
        lambda x: b.results(
            aten.AvgPool2dOp,
            x,
            (1, *op.kernel_size),
            (1, *stride),
            (0, *op.padding),
            op.ceil_mode,
            op.count_include_pad,
        ),
    )
    return y


@decomposes(Reason.KERNEL, aten.AdaptiveAvgPool1dOp)
def adaptive_avg_pool1d(b: Chain, op: aten.AdaptiveAvgPool1dOp) -> SSAValue:
    (y,) = _on_two_dims(b, op.self, lambda x: b.results(aten.AdaptiveAvgPool2dOp, x, (1, *op.output_size)))
    return y


@decomposes(Reason.FEWER, aten.AdaptiveMaxPool1dOp)
def adaptive_max_pool1d(b: Chain, op: aten.AdaptiveMaxPool1dOp) -> list[SSAValue] | None:
    sizes = (1, meta(op.self).shape[-1])
    if not _divides(sizes, (1, *op.output_size)):
        return _uneven_max(b, op.self, op.output_size)
    kernel = _kernel(sizes, (1, *op.output_size))
    return _on_two_dims(b, op.self, lambda x: b.results(aten.MaxPool2dWithIndicesOp, x, kernel, kernel))


@decomposes(Reason.NONE, aten.AdaptiveMaxPool2dOp)
def adaptive_max_pool2d(b: Chain, op: aten.AdaptiveMaxPool2dOp) -> Sequence[SSAValue] | None:
    sizes = meta(op.self).shape[-2:]
    if not _divides(sizes, op.output_size):
        return _uneven_max(b, op.self, op.output_size)
    kernel = _kernel(sizes, op.output_size)
    return b.results(aten.MaxPool2dWithIndicesOp, op.self, kernel, kernel)


@decomposes(Reason.NONE, aten.AdaptiveMaxPool3dOp)
def adaptive_max_pool3d(b: Chain, op: aten.AdaptiveMaxPool3dOp) -> list[SSAValue] | None:
    return _uneven_max(b, op.self, op.output_size)


def _uneven_max(b: Chain, x: SSAValue, output: Sequence[int]) -> list[SSAValue] | None:
    """The maximum over windows of several sizes, and where in the last dimensions of `x` it is.

    Each window is gathered as if it were of the largest size: what it lacks is its last element again, which
    changes neither the maximum nor the first place of it.
    """
    rank, dims = meta(x).rank, len(output)
    if 0 in meta(x).shape or 0 in output:
        return None
    places: list[SSAValue] = []
    windows: list[Size] = []
    for dim, out in enumerate(output):
        size, window = b.size(x, dim - dims), _largest_window(b, x, dim - dims, out)
        number = b(aten.ArangeStartStepOp, 0, out, 1, dtype=I64)
        start = b(aten.FloorDivideScalarOp, b(aten.MulScalarOp, number, size), out)
        following = b(aten.MulScalarOp, b(aten.AddScalarOp, number, 1), size)
        last = b(aten.FloorDivideScalarOp, b(aten.AddScalarOp, following, -1), out)
        inside = b(aten.ArangeStartStepOp, 0, window, 1, dtype=I64)
        place = b(
            aten.MinimumOp, b(aten.AddTensorOp, b.view(start, (out, 1)), inside), b.view(last, (out, 1))
        )
        shape: list[Size] = [1] * (2 * dims)
        shape[dim], shape[dims + dim] = out, window
        places.append(b.view(place, shape))
        windows.append(window)
    lead = b.sizes(x)[: rank - dims]
    count = reduce(partial(b.compute, "mul"), windows)
    gathered = b(aten.IndexTensorOp, x, (*(None,) * (rank - dims), *places))
    gathered = b.view(gathered, (*lead, *output, count))
    largest, which = b.results(aten.MaxDimOp, gathered, -1)
    flat = places[0]
    for dim, place in enumerate(places[1:], 1 - dims):
        flat = b(aten.AddTensorOp, b(aten.MulScalarOp, flat, b.size(x, dim)), place)
    flat = b.expand(b.view(b.expand(flat, (*output, *windows)), (*output, count)), (*lead, *output, count))
    return [largest, b(aten.SqueezeDimsOp, b(aten.GatherOp, flat, -1, b(aten.UnsqueezeOp, which, -1)), (-1,))]


def _largest_window(b: Chain, x: SSAValue, dim: int, out: int) -> Size:
    """The largest number of elements in one of `out` windows; at most one more if it is known at run time only."""
    size = b.size(x, dim)
    if isinstance(size, SSAValue):
        return b.compute("add", b.compute("floordiv", size, out), 2)
    return max(-(-(i + 1) * size // out) - i * size // out for i in range(out))


def _divides(sizes: Sequence[int], output: Sequence[Any]) -> bool:
    """Whether windows of one size without overlap make up each dimension."""
    pairs = zip(sizes, output, strict=True)
    return all(isinstance(out, int) and size > 0 and out > 0 and size % out == 0 for size, out in pairs)


def _kernel(sizes: Sequence[int], output: Sequence[Any]) -> list[int]:
    return [size // out for size, out in zip(sizes, output, strict=True)]


@decomposes(Reason.FEWER, aten.AdaptiveAvgPool2dOp)
def adaptive_avg_pool2d(b: Chain, op: aten.AdaptiveAvgPool2dOp) -> SSAValue:
    """A mean over all, where one element comes out; plain pooling where windows are of one size."""
    x, output = op.self, op.output_size
    sizes = meta(x).shape[-2:]
    if tuple(output) == (1, 1):
        if not is_static(x):
            return b(aten.MeanDimOp, x, (-1, -2), True)
        # Over one dimension: kernels reduce contiguous runs much faster than pairs of dimensions.
        shape = meta(x).shape
        flat = b.view(x, (*shape[:-2], shape[-2] * shape[-1]))
        return b.view(b(aten.MeanDimOp, flat, (-1,), True), (*shape[:-2], 1, 1))
    if tuple(output) == sizes:
        return x
    if _divides(sizes, output):
        kernel = _kernel(sizes, output)
        return b(aten.AvgPool2dOp, x, kernel, kernel)
    return b(aten.UnderscoreAdaptiveAvgPool2dOp, x, output)


@decomposes(Reason.KERNEL, aten.AdaptiveAvgPool3dOp)
def adaptive_avg_pool3d(b: Chain, op: aten.AdaptiveAvgPool3dOp) -> SSAValue:
    x, output = op.self, op.output_size
    sizes = meta(x).shape[-3:]
    if tuple(output) == (1, 1, 1):
        return b(aten.MeanDimOp, x, (-1, -2, -3), True)
    if _divides(sizes, output):
        kernel = _kernel(sizes, output)
        return b(aten.AvgPool3dOp, x, kernel, kernel)
    if not is_static(x) or 0 in meta(x).shape:
        return b(aten.UnderscoreAdaptiveAvgPool3dOp, x, output)
    deep, *flat = output

    def pool(x: SSAValue, dims: tuple[int, int]) -> SSAValue:
        # A mean over a box is a mean of means: all windows of a slice are of one depth.
        size = flat if dims == (1, 2) else (deep, meta(x).shape[-1])
        return b(aten.UnderscoreAdaptiveAvgPool2dOp, x, size)

    return b.to(_on_volumes(b, b.wide(x), pool), meta(x).dtype)


@decomposes(Reason.KERNEL, aten.UnderscoreAdaptiveAvgPool3dOp)
def adaptive_avg_pool3d_core(b: Chain, op: aten.UnderscoreAdaptiveAvgPool3dOp) -> SSAValue | None:
    if not is_static(op.self) or 0 in meta(op.self).shape:
        return None
    return b(aten.AdaptiveAvgPool3dOp, op.self, op.output_size)


# -- padding


@decomposes(Reason.COMMON, aten.PadOp)
def pad(b: Chain, op: aten.PadOp) -> SSAValue | None:
    x, amounts = op.self, op.arg("pad")
    if op.mode == "constant":
        return b(aten.ConstantPadNdOp, x, amounts, 0.0 if op.value is None else op.value)
    if op.mode == "circular":
        return _circular(b, x, amounts)
    kinds = {
        "reflect": (aten.ReflectionPad1dOp, aten.ReflectionPad2dOp, aten.ReflectionPad3dOp),
        "replicate": (aten.ReplicationPad1dOp, aten.ReplicationPad2dOp, aten.ReplicationPad3dOp),
    }.get(op.mode)
    dims = len(amounts) // 2
    if kinds is None or not 1 <= dims <= 3 or meta(x).rank not in (dims + 1, dims + 2):
        return None
    return b(kinds[dims - 1], x, amounts)


def _circular(b: Chain, x: SSAValue, amounts: Sequence[Any]) -> SSAValue | None:
    """Circular padding, one dimension after the other: the end is repeated in front, the start behind."""
    if any(isinstance(amount, SSAValue) or amount < 0 for amount in amounts):
        return None
    for number in range(len(amounts) // 2):
        before, after = amounts[2 * number : 2 * number + 2]
        dim = meta(x).rank - 1 - number
        parts = [b(aten.SliceTensorOp, x, dim, -before, None)] if before else []
        parts.append(x)
        if after:
            parts.append(b(aten.SliceTensorOp, x, dim, 0, after))
        if len(parts) > 1:
            x = b(aten.CatOp, parts, dim)
    return x


# -- resampling


@decomposes(Reason.COMMON, aten.UpsampleNearest2dOp)
def upsample_nearest2d(b: Chain, op: aten.UpsampleNearest2dOp) -> SSAValue | None:
    if op.scales_h is not None or op.scales_w is not None:
        return None
    return b(aten.UpsampleNearest2dVecOp, op.self, op.output_size, None)


@decomposes(Reason.CHEAPER, aten.UpsampleNearest1dVecOp)
def upsample_nearest1d_vec(b: Chain, op: aten.UpsampleNearest1dVecOp) -> SSAValue | None:
    """An image of one row, unless torch goes by the sizes of images, as it does not for signals."""
    size = None if op.output_size is None else (1, *op.output_size)
    scales = None if op.scale_factors is None else (1.0, *op.scale_factors)
    for factor in op.scale_factors or ():
        extent, count = meta(op.input).shape[-1], meta(op.results[0]).shape[-1]
        if count in (extent, 2 * extent) and factor not in (1, 2):
            return None
        if count < 0 and 1 < factor < 3 and factor != 2:
            return None
    (y,) = _on_two_dims(b, op.input, lambda v: b.results(aten.UpsampleNearest2dVecOp, v, size, scales))
    return y


@decomposes(Reason.FEWER, aten.UpsampleBilinear2dOp)
def upsample_bilinear2d(b: Chain, op: aten.UpsampleBilinear2dOp) -> SSAValue | None:
    if op.scales_h is not None or op.scales_w is not None:
        return None
    return b(aten.UpsampleBilinear2dVecOp, op.self, op.output_size, op.align_corners, None)


@decomposes(Reason.COMMON, aten.GridSamplerOp)
def grid_sampler(b: Chain, op: aten.GridSamplerOp) -> SSAValue | None:
    if meta(op.input).rank != 4:
        return None
    return b(aten.GridSampler2dOp, *op.args().values())
