"""Operators of torchvision that sample images, in terms of torch's.

They compute what torchvision's kernels for the CPU compute. A sample at a place between pixels is the sum of the four
around it, with bilinear weights. Pixels are gathered as rows of a table, of all channels at a place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import embedding

__all__ = ["FORMULAS"]

_FEW: Final = 4
"""The most samples of a bin along an axis of which each is gathered: their number is the square of it."""


class _Pixels(NamedTuple):
    """A pixel for each place on an axis, and its weight."""

    place: Tensor
    weight: Tensor

    def unsqueeze(self, dim: int) -> _Pixels:
        return _Pixels(self.place.unsqueeze(dim), self.weight.unsqueeze(dim))


_Neighbours = list[_Pixels]
"""The pixels around places."""


def _gathered(table: Tensor, origin: Tensor, width: int, y: _Neighbours, x: _Neighbours) -> Tensor:
    """Samples (..., C) at the places `y` and `x`, which broadcast to each other and to `origin`, the row of `table`
    (rows, C) that has the first pixel of the image.
    """
    total = torch.zeros((), dtype=table.dtype)
    for row in y:
        for column in x:
            pixels = embedding(origin + row.place * width + column.place, table)
            total = total + pixels * (row.weight * column.weight).unsqueeze(-1)
    return total


# -- regions of interest


class _Bins(NamedTuple):
    """Bins of boxes along an axis of `size` pixels: where the first starts (K) and how long each is (K)."""

    start: Tensor
    length: Tensor
    bins: int
    size: int

    def starts(self) -> Tensor:
        """Where each bin starts, (K, bins)."""
        number = torch.arange(self.bins, dtype=self.start.dtype)
        return self.start.unsqueeze(1) + number * self.length.unsqueeze(1)

    def inside(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """The places moved into the image, and 1 for those no further than a pixel outside of it, 0 for others."""
        is_near = (places >= -1) & (places <= self.size)
        return places.clamp(0, self.size - 1), is_near.to(places.dtype)

    def neighbours(self, part: float) -> _Neighbours:
        """Of the places at `part` of each bin, (K, bins)."""
        places, factor = self.inside(self.starts() + part * self.length.unsqueeze(1))
        low = places.floor()
        weight = places - low
        high = (low.long() + 1).clamp(max=self.size - 1)
        return [_Pixels(low.long(), (1 - weight) * factor), _Pixels(high, weight * factor)]

    def weights(self, samples: int) -> Tensor:
        """The part of each pixel in the average over `samples` of a bin, (K, bins, size).

        Without a number of samples they are at most a pixel apart. Of those only the ones in the image are computed, of
        which there are two a pixel at most.
        """
        starts, length = self.starts().unsqueeze(-1), self.length.view(-1, 1, 1)
        dtype = length.dtype
        if samples > 0:
            most = torch.full_like(length, samples)
            number = torch.arange(samples, dtype=dtype)
            step = length / most
        else:
            most = length.ceil()
            step = length / most.clamp(min=1)
            before = ((-1 - starts) / step - 0.5).floor()
            number = torch.where(before > 0, before, 0.0) + torch.arange(2 * self.size + 4, dtype=dtype)
        places, factor = self.inside(starts + (number + 0.5) * step)
        factor = factor * (number < most)
        pixels = torch.arange(self.size, dtype=dtype)
        parts = (1 - (places.unsqueeze(-1) - pixels).abs()).clamp(min=0) * factor.unsqueeze(-1)
        return parts.sum(2) / most.clamp(min=1)


def _roi_align(
    target: Any,
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Averages of samples of `input` (N, C, H, W) in the bins of each box of `rois` (K, 5), which are image, left, top,
    right and bottom: (K, C, pooled_height, pooled_width). Bins have `sampling_ratio` samples along each axis; if that
    is not positive, as many as they have pixels, rounded up.
    """
    del target
    dtype = torch.float64 if input.dtype is torch.float64 else torch.float32
    image, boxes = rois[:, 0].long(), rois[:, 1:].to(dtype) * spatial_scale - (0.5 if aligned else 0.0)
    extents = boxes[:, 2:] - boxes[:, :2]
    if not aligned:
        extents = extents.clamp(min=1.0)
    x, y = (
        _Bins(boxes[:, axis], extents[:, axis] / count, count, input.size(3 - axis))
        for axis, count in enumerate((pooled_width, pooled_height))
    )
    pooled = _pooled_samples if 0 < sampling_ratio <= _FEW else _pooled_pixels
    return pooled(input.to(dtype), image, y, x, sampling_ratio).to(input.dtype)


def _pooled_samples(input: Tensor, image: Tensor, y: _Bins, x: _Bins, samples: int) -> Tensor:
    table = input.permute(0, 2, 3, 1).reshape(-1, input.size(1))
    origin = (image * (y.size * x.size)).view(-1, 1, 1)
    total = torch.zeros((), dtype=input.dtype)
    for row in range(samples):
        rows = [one.unsqueeze(2) for one in y.neighbours((row + 0.5) / samples)]
        for column in range(samples):
            columns = [one.unsqueeze(1) for one in x.neighbours((column + 0.5) / samples)]
            total = total + _gathered(table, origin, x.size, rows, columns)
    return (total / samples**2).permute(0, 3, 1, 2)


def _pooled_pixels(input: Tensor, image: Tensor, y: _Bins, x: _Bins, samples: int) -> Tensor:
    """Products with the weights of rows, and of columns, an image at a time."""
    rows, columns = y.weights(samples), x.weights(samples)
    channels = input.size(1)
    total = torch.zeros((), dtype=input.dtype)
    for number in range(input.size(0)):
        of_image = rows * (image == number).view(-1, 1, 1)
        lines = of_image.reshape(-1, y.size) @ input[number].transpose(0, 1).reshape(y.size, -1)
        total = total + lines.view(-1, y.bins * channels, x.size) @ columns.transpose(1, 2)
    return total.view(-1, y.bins, channels, x.bins).transpose(1, 2)


# -- deformable convolution


def _deform_conv2d(
    target: Any,
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Tensor:
    """A convolution of `input` (N, C, H, W) whose taps are moved at each place by `offset`
    (N, 2 * offset_groups * taps, out_h, out_w), down and to the right, and weighted by `mask`
    (N, offset_groups * taps, out_h, out_w). Pixels outside of the image are 0.
    """
    del target
    batch, channels, height, width = input.shape
    taps = weight.size(2) * weight.size(3)
    spatial = offset.shape[2:]
    shifts = offset.view(batch, offset_groups, taps, 2, *spatial)
    down = torch.arange(weight.size(2)).mul(dilation_h).view(-1, 1).expand(weight.shape[2:])
    right = torch.arange(weight.size(3)).mul(dilation_w).expand(weight.shape[2:])
    y = down.reshape(-1, 1, 1) + (torch.arange(spatial[0]) * stride_h - pad_h).view(-1, 1)
    x = right.reshape(-1, 1, 1) + (torch.arange(spatial[1]) * stride_w - pad_w)
    rows = _inside(y + shifts[:, :, :, 0], height)
    columns = _inside(x + shifts[:, :, :, 1], width)
    table = input.reshape(batch * offset_groups, -1, height * width).transpose(1, 2)
    origin = (torch.arange(batch * offset_groups) * (height * width)).view(batch, offset_groups, 1, 1, 1)
    samples = _gathered(table.reshape(-1, channels // offset_groups), origin, width, rows, columns)
    if use_mask:
        samples = samples * mask.view(batch, offset_groups, taps, *spatial, 1)
    patches = samples.permute(0, 1, 5, 2, 3, 4).reshape(batch, groups, -1, spatial[0] * spatial[1])
    product = weight.reshape(groups, weight.size(0) // groups, -1) @ patches
    return product.view(batch, -1, *spatial) + bias.view(-1, 1, 1)


def _inside(places: Tensor, size: int) -> _Neighbours:
    """Of places on an axis of `size` pixels; those outside have no weight."""
    low = places.floor()
    part = places - low
    return [
        _Pixels(place.clamp(0, size - 1).long(), weight * ((place >= 0) & (place < size)))
        for place, weight in ((low, 1 - part), (low + 1, part))
    ]


FORMULAS: Final[Mapping[str, Callable[..., Any]]] = {
    "torchvision::deform_conv2d": _deform_conv2d,
    "torchvision::roi_align": _roi_align,
}
"""By name: they are there once torchvision is imported."""
