"""Convolution, pooling, padding and resampling: operators that slide windows over trailing dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any, NamedTuple

from et_ops.dtypes import I64
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, Number, Rule, check_number, rule
from et_ops.inference.shapes import (
    Shape,
    below,
    differ,
    known,
    numbers,
    sized,
    spread,
    unlike,
    window,
)


def slid(
    arg: str,
    size: Shape,
    kernel: Shape,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool = False,
) -> Shape:
    """The numbers of places of a window that slides over an image of `size`, the argument `arg`. Without
    a stride, one begins where another ends.
    """
    rank = len(kernel)
    strides = numbers("stride", stride, rank, 1) if stride else kernel
    paddings, dilations = numbers("padding", padding, rank), numbers("dilation", dilation, rank, 1)
    lines = list(zip(size, kernel, strides, paddings, dilations, strict=True))
    try:
        return tuple(window(n, k, s, (p, p), d, ceil_mode) for n, k, s, p, d in lines)
    except ValueError:
        raise Mismatch(arg, f"an image that the kernel fits in, of size {list(kernel)}", list(size)) from None


def _check_image(image: Meta, rank: int, *, channels: bool = True) -> None:
    """`self` is an image of `rank` dimensions with channels and maybe in a batch; all but the batch have elements."""
    if image.rank not in (rank + 1, rank + 2):
        raise Mismatch("self", f"{rank + 1} or {rank + 2} dimensions", image)
    if any(below(size, 1) for size in image.shape[-rank - channels :]):
        raise Mismatch("self", "a non-empty image", image)


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
    if input.rank not in (3, 4, 5):
        raise Mismatch("input", "3, 4 or 5 dimensions", input)
    if weight.rank != input.rank:
        raise Mismatch("weight", f"{input.rank} dimensions", weight)
    return _convolved(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def _convolved(
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
    """A convolution of a batch, or of a single image."""
    rank = weight.rank - 2
    if rank < 1 or input.rank not in (rank + 1, rank + 2):
        raise Mismatch("weight", f"{input.rank} dimensions", weight)
    channels, kernel = input.shape[-rank - 1], weight.shape[2:]
    if groups < 1 or (known(channels) and channels % groups):
        raise Mismatch("groups", f"a positive divisor of {channels} channels", groups)
    features = weight.shape[0]
    if transposed:
        features = weight.shape[1] * groups if known(weight.shape[1]) else UNKNOWN
    if known(channels):
        expected = (channels,) if transposed else (features, channels // groups)
        if unlike(weight.shape[: len(expected)], expected):
            raise Mismatch("weight", f"a shape that begins with {list(expected)}", weight)
    if known(features) and features % groups:
        raise Mismatch("weight", f"a multiple of {groups} filters", weight)
    if any(below(taps, 1) for taps in kernel):
        raise Mismatch("weight", "a kernel with elements", weight)
    if bias is not None and unlike(bias.shape, (features,)):
        raise Mismatch("bias", f"shape {[features]}", bias)
    if transposed:
        sizes = _spread(input, kernel, stride, padding, dilation, output_padding)
    else:
        sizes = slid("input", input.shape[-rank:], kernel, stride, padding, dilation)
    return Meta((*input.shape[: -rank - 1], features, *sizes), input.dtype)


def _spread(
    input: Meta,
    kernel: Shape,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    output_padding: Sequence[int],
) -> Shape:
    rank = len(kernel)
    strides, dilations = numbers("stride", stride, rank, 1), numbers("dilation", dilation, rank, 1)
    paddings, extra = numbers("padding", padding, rank), numbers("output_padding", output_padding, rank)
    if not all(more < max(s, d) for more, s, d in zip(extra, strides, dilations, strict=True)):
        raise Mismatch("output_padding", "less than the stride or the dilation", list(output_padding))
    sizes = tuple(map(spread, input.shape[-rank:], kernel, strides, paddings, dilations, extra))
    if any(size < 1 and size != UNKNOWN for size in sizes):
        raise Mismatch("input", f"an image at least as large as the kernel, of size {list(kernel)}", input)
    return sizes


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
    return _convolved(input, weight, bias, stride, padding, dilation, False, (0,), groups)


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
        return _convolved(input, weight, bias, stride, (0,), dilation, False, (0,), groups)
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
    return _convolved(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


# -- pooling


def pooled(
    self: Meta,
    rank: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Shape:
    """The shape of a pooling over the last `rank` dimensions."""
    _check_image(self, rank)
    kernel = numbers("kernel_size", kernel_size, rank, 1)
    shape = (
        *self.shape[:-rank],
        *slid("self", self.shape[-rank:], kernel, stride, padding, dilation, ceil_mode),
    )
    lines = zip(numbers("padding", padding, rank), kernel, numbers("dilation", dilation, rank), strict=True)
    if any(UNKNOWN not in line and 2 * line[0] > (line[1] - 1) * line[2] + 1 for line in lines):
        raise Mismatch("padding", "at most half the kernel", list(padding))
    return shape


def _with_indices(out: Meta) -> tuple[Meta, Meta]:
    return out, Meta(out.shape, I64)


class Pooling(NamedTuple):
    """The rules of pooling over some dimensions."""

    average: Rule
    maximum: Rule
    adaptive_average: Rule
    adaptive_maximum: Rule


def _define_pooling(rank: int) -> Pooling:
    @rule(f"avg_pool{rank}d")
    def avg_pool(
        self: Meta,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None = None,
    ) -> Meta:
        if divisor_override == 0:
            raise Mismatch("divisor_override", "a divisor other than zero", 0)
        # The least integer has no quotient by -1.
        if divisor_override is not None and divisor_override < 0 and self.dtype.is_integral:
            raise Mismatch("divisor_override", "a positive divisor of integers", divisor_override)
        return Meta(pooled(self, rank, kernel_size, stride, padding, (1,), ceil_mode), self.dtype)

    @rule(f"max_pool{rank}d")
    def max_pool(
        self: Meta,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
    ) -> Meta:
        return Meta(pooled(self, rank, kernel_size, stride, padding, dilation, ceil_mode), self.dtype)

    @rule(f"max_pool{rank}d_with_indices")
    def max_pool_with_indices(
        self: Meta,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
    ) -> tuple[Meta, Meta]:
        return _with_indices(max_pool(self, kernel_size, stride, padding, dilation, ceil_mode))

    @rule(f"adaptive_avg_pool{rank}d", f"_adaptive_avg_pool{rank}d" if rank > 1 else "")
    def adaptive_avg_pool(self: Meta, output_size: Sequence[int]) -> Meta:
        _check_image(self, rank, channels=False)
        return Meta((*self.shape[:-rank], *numbers("output_size", output_size, rank)), self.dtype)

    @rule(f"adaptive_max_pool{rank}d")
    def adaptive_max_pool(self: Meta, output_size: Sequence[int]) -> tuple[Meta, Meta]:
        return _with_indices(adaptive_avg_pool(self, output_size))

    return Pooling(avg_pool, max_pool_with_indices, adaptive_avg_pool, adaptive_max_pool)


POOLING = {rank: _define_pooling(rank) for rank in (1, 2, 3)}


def _define_random_pooling(rank: int) -> Rule:
    @rule(f"fractional_max_pool{rank}d")
    def fractional(
        self: Meta, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Meta
    ) -> tuple[Meta, Meta]:
        _check_image(self, rank)
        taps = numbers("kernel_size", kernel_size, rank, 1)
        places = numbers("output_size", output_size, rank, 1)
        space = self.shape[-rank:]
        if any(below(size, n + k - 1) for size, n, k in zip(space, places, taps, strict=True)):
            raise Mismatch("output_size", f"sizes whose windows fit in {list(space)}", list(output_size))
        if random_samples.dtype is not self.dtype:
            raise Mismatch("random_samples", self.dtype.torch_name, random_samples.dtype.torch_name)
        batch = self.shape[0] if self.rank == rank + 2 else 1
        shape = (batch, self.shape[-rank - 1], rank)
        if (
            random_samples.rank != 3
            or unlike(random_samples.shape[1:], shape[1:])
            or below(random_samples.shape[0], batch)
        ):
            raise Mismatch("random_samples", f"shape {list(shape)}", random_samples)
        return _with_indices(Meta((*self.shape[:-rank], *places), self.dtype))

    return fractional


FRACTIONAL = {rank: _define_random_pooling(rank) for rank in (2, 3)}


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

_MOST_PLACES = 2**31 - 1


def _resampled(
    arg: str,
    image: Meta,
    rank: int,
    output_size: Sequence[int] | None,
    scales: Sequence[float] | None = None,
) -> Meta:
    if image.rank != rank + 2:
        raise Mismatch(arg, f"{rank + 2} dimensions", image)
    if (output_size is None) == (scales is None):
        raise ValueError("exactly one of 'output_size' and 'scale_factors' must be given")
    space = image.shape[2:]
    if output_size is not None:
        sizes = numbers("output_size", output_size, rank)
    else:
        scales = scales or ()
        if len(scales) != rank or not all(0 < scale < inf for scale in scales):
            raise Mismatch("scale_factors", f"{rank} positive numbers", list(scales))
        pairs = list(zip(space, scales, strict=True))
        if any(known(size) and size * scale > _MOST_PLACES for size, scale in pairs):
            raise Mismatch("scale_factors", f"sizes of at most {_MOST_PLACES}", list(scales))
        sizes = tuple(int(size * scale) if known(size) else UNKNOWN for size, scale in pairs)
    if any(below(size, 1) for size in (*image.shape[1:], *sizes)):
        raise Mismatch("output_size", "a non-empty image and result", (list(image.shape), list(sizes)))
    return Meta((*image.shape[:2], *sizes), image.dtype)


class Resampling(NamedTuple):
    """The rules of one way of resampling: of the overload that takes a size, and of that which may take factors."""

    by_size: Rule
    by_vector: Rule


def _define_resampling(name: str) -> Resampling:
    rank = int(name.partition("d")[0][-1]) if name[-1] == "d" else 2
    # All but the nearest kinds have `align_corners` before the scales.
    scales = 0 if "nearest" in name else 1

    @rule(f"{name}.vec")
    def by_vector(input: Meta, output_size: Sequence[int] | None, *rest: Any) -> Meta:
        return _resampled("input", input, rank, output_size, rest[scales])

    @rule("" if "lanczos" in name else name)
    def by_size(self: Meta, output_size: Sequence[int], *rest: Any) -> Meta:
        made = _resampled("self", self, rank, output_size)
        for scale, size in zip(rest[scales:], made.shape[2:], strict=False):
            # Kernels compute places in the image with it, as integers.
            if scale is not None and scale > 0 and scale * _MOST_PLACES < size:
                raise Mismatch("scales", f"a scale of more than {size / _MOST_PLACES:.1e}", scale)
        return made

    return Resampling(by_size, by_vector)


_RESAMPLING = """
    upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d
    _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d
    _upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_lanczos2d_aa
"""
RESAMPLING = {name: _define_resampling(name) for name in _RESAMPLING.split()}


def _define_grid_sampling(name: str, ranks: Sequence[int]) -> Rule:
    @rule(name)
    def grid_sampler(
        input: Meta, grid: Meta, interpolation_mode: int, padding_mode: int, align_corners: bool
    ) -> Meta:
        axes = input.rank - 2
        if input.rank not in ranks:
            raise Mismatch("input", f"{' or '.join(map(str, ranks))} dimensions", input)
        if grid.rank != input.rank or differ(grid.shape[0], input.shape[0]) or differ(grid.shape[-1], axes):
            raise Mismatch("grid", f"[{input.shape[0]}, ..., {axes}]", grid)
        # Only images have a bicubic interpolation.
        modes = range(3 if axes == 2 else 2)
        if interpolation_mode not in modes:
            raise Mismatch("interpolation_mode", f"one of {list(modes)}", interpolation_mode)
        if padding_mode not in range(3):
            raise Mismatch("padding_mode", "0, 1 or 2", padding_mode)
        if any(below(size, 1) for size in input.shape[2:]):
            raise Mismatch("input", "a non-empty image", input)
        return Meta((*input.shape[:2], *grid.shape[1:-1]), input.dtype)

    return grid_sampler


_define_grid_sampling("grid_sampler", (4, 5))
GRID_SAMPLING = {rank: _define_grid_sampling(f"grid_sampler_{rank}d", (rank + 2,)) for rank in (2, 3)}


@rule("affine_grid_generator")
def affine_grid_generator(theta: Meta, size: Sequence[int], align_corners: bool) -> Meta:
    if len(size) not in (4, 5):
        raise Mismatch("size", "4 or 5 sizes", list(size))
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
    _check_image(self, 2)
    taps, places = _columns("self", self.shape[-2:], kernel_size, dilation, padding, stride)
    channels = self.shape[-3]
    return Meta((*self.shape[:-3], channels * taps if known(channels) else UNKNOWN, places), self.dtype)


def _columns(
    arg: str,
    size: Shape,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> tuple[int, int]:
    """The numbers of taps of a window over an image of `size`, and of its places."""
    kernel = numbers("kernel_size", kernel_size, 2, 1)
    places = slid(arg, size, kernel, numbers("stride", stride, 2, 1), padding, dilation)
    return prod(kernel), prod(places) if known(*places) else UNKNOWN


@rule("col2im")
def col2im(
    self: Meta,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Meta:
    if self.rank not in (2, 3):
        raise Mismatch("self", "2 or 3 dimensions", self)
    size = numbers("output_size", output_size, 2, 1)
    taps, places = _columns("output_size", size, kernel_size, dilation, padding, stride)
    *batch, rows, columns = self.shape
    if known(rows) and (rows == 0 or rows % taps):
        raise Mismatch("self", f"a multiple of {taps} rows", self)
    if differ(columns, places):
        raise Mismatch("self", f"{places} columns", self)
    return Meta((*batch, rows // taps if known(rows) else UNKNOWN, *size), self.dtype)


def _define_unpooling(rank: int) -> Rule:
    @rule(f"max_unpool{rank}d")
    def max_unpool(self: Meta, indices: Meta, output_size: Sequence[int], *_: object) -> Meta:
        if self.rank not in (rank + 1, rank + 2):
            raise Mismatch("self", f"{rank + 1} or {rank + 2} dimensions", self)
        if indices.dtype is not I64 or unlike(indices.shape, self.shape):
            raise Mismatch("indices", f"int64 {list(self.shape)}", indices)
        if len(output_size) != rank:
            raise Mismatch("output_size", f"{rank} sizes", list(output_size))
        return Meta((*self.shape[:-rank], *sized(output_size, "output_size")), self.dtype)

    return max_unpool


UNPOOLING = {rank: _define_unpooling(rank) for rank in (2, 3)}
