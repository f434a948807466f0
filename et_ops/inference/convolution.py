"""Convolution, pooling, padding and resampling: operators that slide windows over trailing dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from et_ops.dtypes import I64
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, Number, check_number, rule
from et_ops.inference.shapes import Shape, below, ceil_div, differ, known, spatial, spread, window


@rule("convolution")
def convolution(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Meta:
    rank = weight.rank - 2
    if rank < 1 or input.rank not in (rank + 1, rank + 2):
        raise ValueError(f"convolution of shape {input.shape} with a weight of shape {weight.shape}")
    batch = input.shape[: input.rank - rank - 1]
    channels, kernel = input.shape[-rank - 1], weight.shape[2:]
    inputs = weight.shape[0] if transposed else weight.shape[1] * groups
    if known(channels, inputs) and channels != inputs:
        raise ValueError(
            f"weight of shape {weight.shape} in {groups} groups takes {inputs} channels, got {channels}"
        )
    strides, dilations = spatial(stride, rank), spatial(dilation, rank)
    paddings, extra = spatial(padding, rank), spatial(output_padding, rank)
    sizes: list[int] = []
    for i, size in enumerate(input.shape[-rank:]):
        if not transposed:
            sizes.append(window(size, kernel[i], strides[i], (paddings[i], paddings[i]), dilations[i], False))
        else:
            sizes.append(spread(size, kernel[i], strides[i], paddings[i], dilations[i], extra[i]))
    outputs = weight.shape[1] * groups if transposed else weight.shape[0]
    return Meta((*batch, outputs, *sizes), input.dtype)


@rule("conv1d", "conv2d", "conv3d")
def conv(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Meta:
    return convolution(input, weight, bias, stride, padding, dilation, False, (0,), groups)


@rule("conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv_padded(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    stride: Sequence[int],
    padding: str,
    dilation: Sequence[int],
    groups: int,
) -> Meta:
    if padding == "valid":
        return convolution(input, weight, bias, stride, (0,), dilation, False, (0,), groups)
    rank = weight.rank - 2
    return Meta((*input.shape[: -rank - 1], weight.shape[0], *input.shape[-rank:]), input.dtype)


@rule("_convolution_mode")
def convolution_mode(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    stride: Sequence[int],
    padding: str,
    dilation: Sequence[int],
    groups: int,
) -> Meta:
    return conv_padded(input, weight, bias, stride, padding, dilation, groups)


@rule("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
    dilation: Sequence[int],
) -> Meta:
    return convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


# -- pooling


def _pooled(
    self: Meta,
    rank: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Shape:
    if self.rank not in (rank + 1, rank + 2):
        raise ValueError(f"pooling over {rank} dimensions of a tensor of shape {self.shape}")
    kernels = spatial(kernel_size, rank)
    strides = spatial(stride, rank) if stride else kernels
    paddings, dilations = spatial(padding, rank), spatial(dilation, rank)
    sizes = (
        window(size, kernels[i], strides[i], (paddings[i], paddings[i]), dilations[i], ceil_mode)
        for i, size in enumerate(self.shape[-rank:])
    )
    return (*self.shape[:-rank], *sizes)


def _define_pooling(rank: int) -> None:
    @rule(f"avg_pool{rank}d")
    def avg_pool(  # pyright: ignore[reportUnusedFunction]
        self: Meta,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        ceil_mode: bool,
        *_: object,
    ) -> Meta:
        return Meta(_pooled(self, rank, kernel_size, stride, padding, (1,), ceil_mode), self.dtype)

    @rule(f"max_pool{rank}d")
    def max_pool(
        self: Meta,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
    ) -> Meta:
        return Meta(_pooled(self, rank, kernel_size, stride, padding, dilation, ceil_mode), self.dtype)

    @rule(f"max_pool{rank}d_with_indices")
    def max_pool_with_indices(  # pyright: ignore[reportUnusedFunction]
        self: Meta,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
    ) -> tuple[Meta, Meta]:
        out = max_pool(self, kernel_size, stride, padding, dilation, ceil_mode)
        return out, Meta(out.shape, I64)

    @rule(f"adaptive_avg_pool{rank}d", f"_adaptive_avg_pool{rank}d" if rank > 1 else "")
    def adaptive_avg_pool(self: Meta, output_size: Sequence[int]) -> Meta:
        sizes = spatial(output_size, rank)
        return Meta((*self.shape[:-rank], *sizes), self.dtype)

    @rule(f"adaptive_max_pool{rank}d")
    def adaptive_max_pool(  # pyright: ignore[reportUnusedFunction]
        self: Meta, output_size: Sequence[int]
    ) -> tuple[Meta, Meta]:
        out = adaptive_avg_pool(self, output_size)
        return out, Meta(out.shape, I64)


for _rank in (1, 2, 3):
    _define_pooling(_rank)


# -- padding


def padded(shape: Shape, pad: Sequence[int], arg: str = "pad") -> Shape:
    """The shape after padding; `pad`, the argument `arg`, has a pair for each dimension, the last dimension first."""
    if len(pad) % 2 or len(pad) // 2 > len(shape):
        raise Mismatch(arg, f"up to {len(shape)} pairs", list(pad))
    sizes = list(shape)
    for i in range(len(pad) // 2):
        before, after = pad[2 * i], pad[2 * i + 1]
        size = sizes[-1 - i]
        if not known(size) or UNKNOWN in (before, after):
            sizes[-1 - i] = UNKNOWN
            continue
        sizes[-1 - i] = size + before + after
        if sizes[-1 - i] < 0:
            cut = f"padding that cuts off at most the {size} elements of dimension {len(shape) - 1 - i}"
            raise Mismatch(arg, cut, list(pad))
    return tuple(sizes)


@rule("pad", "_pad_circular", "_pad_enum")
def pad(self: Meta, pad: Sequence[int], *_: object) -> Meta:
    return Meta(padded(self.shape, pad), self.dtype)


@rule("constant_pad_nd")
def constant_pad(self: Meta, pad: Sequence[int], value: Number) -> Meta:
    check_number("value", value, self.dtype)
    return Meta(padded(self.shape, pad), self.dtype)


def _edges_padded(self: Meta, rank: int, padding: Sequence[int], reflect: bool) -> Meta:
    if self.rank not in (rank + 1, rank + 2):
        raise Mismatch("self", f"{rank + 1} or {rank + 2} dimensions", self)
    if len(padding) != 2 * rank:
        raise Mismatch("padding", f"{2 * rank} numbers", list(padding))
    shape = padded(self.shape, padding, "padding")
    for i in range(rank):
        size, most = self.shape[-1 - i], max(padding[2 * i : 2 * i + 2])
        if below(size, most + 1 if reflect else 1) or below(shape[-1 - i], 1):
            good = f"less than {size} on each side" if reflect else "padding that leaves elements"
            place = f"of dimension {self.rank - 1 - i} of size {size}"
            raise Mismatch("padding", f"{good} {place}", list(padding))
    return Meta(shape, self.dtype)


def _define_edge_padding(rank: int) -> None:
    @rule(f"reflection_pad{rank}d")
    def reflection(self: Meta, padding: Sequence[int]) -> Meta:  # pyright: ignore[reportUnusedFunction]
        return _edges_padded(self, rank, padding, True)

    @rule(f"replication_pad{rank}d")
    def replication(self: Meta, padding: Sequence[int]) -> Meta:  # pyright: ignore[reportUnusedFunction]
        return _edges_padded(self, rank, padding, False)


for _rank in (1, 2, 3):
    _define_edge_padding(_rank)


# -- resampling


def _resampled(
    input: Meta, rank: int, output_size: Sequence[int] | None, scales: Sequence[float] | None
) -> Meta:
    if output_size is not None:
        sizes = spatial(output_size, rank)
    elif scales is not None:
        pairs = zip(input.shape[-rank:], scales, strict=True)
        sizes = tuple(int(size * scale) if known(size) else UNKNOWN for size, scale in pairs)
    else:
        raise ValueError("resampling takes a size or scale factors")
    return Meta((*input.shape[:-rank], *sizes), input.dtype)


def _define_resampling(rank: int, kind: str) -> None:
    prefix = "_" if "exact" in kind else ""
    name = f"{prefix}upsample_{kind}{rank}d"
    # All but the nearest kinds have `align_corners` before the scales.
    scales = 0 if "nearest" in kind else 1

    @rule(f"{name}.vec")
    def by_vector(input: Meta, output_size: Sequence[int] | None, *rest: Any) -> Meta:  # pyright: ignore[reportUnusedFunction]
        return _resampled(input, rank, output_size, rest[scales])

    @rule(name)
    def by_size(self: Meta, output_size: Sequence[int], *_: object) -> Meta:  # pyright: ignore[reportUnusedFunction]
        return _resampled(self, rank, output_size, None)


for _rank, _kinds in ((1, "linear"), (2, "bilinear bicubic"), (3, "trilinear")):
    for _kind in ("nearest", "nearest_exact", *_kinds.split()):
        _define_resampling(_rank, _kind)


@rule("_upsample_bilinear2d_aa.vec", "_upsample_bicubic2d_aa.vec", "_upsample_lanczos2d_aa.vec")
def upsample_antialiased(
    input: Meta, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Meta:
    return _resampled(input, 2, output_size, scale_factors)


@rule("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(input: Meta, grid: Meta, *_: object) -> Meta:
    axes = input.rank - 2
    if grid.rank != input.rank or differ(grid.shape[0], input.shape[0]) or differ(grid.shape[-1], axes):
        raise Mismatch("grid", f"[{input.shape[0]}, ..., {axes}]", grid)
    return Meta((*input.shape[:2], *grid.shape[1:-1]), input.dtype)


@rule("affine_grid_generator")
def affine_grid_generator(theta: Meta, size: Sequence[int], align_corners: bool) -> Meta:
    spatial_sizes = (size[0], *size[2:])
    return Meta((*spatial_sizes, len(size) - 2), theta.dtype)


@rule("im2col")
def im2col(
    self: Meta,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Meta:
    kernels, strides = spatial(kernel_size, 2), spatial(stride, 2)
    paddings, dilations = spatial(padding, 2), spatial(dilation, 2)
    counts = [
        window(size, kernels[i], strides[i], (paddings[i], paddings[i]), dilations[i], False)
        for i, size in enumerate(self.shape[-2:])
    ]
    channels = self.shape[-3]
    batch = self.shape[:-3]
    rows = channels * kernels[0] * kernels[1] if known(channels) else UNKNOWN
    return Meta((*batch, rows, counts[0] * counts[1] if known(*counts) else UNKNOWN), self.dtype)


@rule("col2im")
def col2im(self: Meta, output_size: Sequence[int], kernel_size: Sequence[int], *_: object) -> Meta:
    kernels = spatial(kernel_size, 2)
    batch, rows = self.shape[:-2], self.shape[-2]
    channels = ceil_div(rows, kernels[0] * kernels[1]) if known(rows) else UNKNOWN
    return Meta((*batch, channels, *output_size), self.dtype)


@rule("max_unpool2d")
def max_unpool2d(self: Meta, indices: Meta, output_size: Sequence[int]) -> Meta:
    return Meta((*self.shape[:-2], *output_size), self.dtype)


@rule("max_unpool3d")
def max_unpool3d(self: Meta, indices: Meta, output_size: Sequence[int], *_: object) -> Meta:
    return Meta((*self.shape[:-3], *output_size), self.dtype)
