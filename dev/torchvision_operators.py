"""Operators of torchvision, registered for torch where torchvision is not installed: with its schemas and semantics."""

from __future__ import annotations

import itertools
import math
from importlib.util import find_spec
from typing import Any, Final, cast

import torch
from torch.library import Library

__all__ = ["LIBRARY", "deform_conv2d", "nms", "roi_align"]

library: Any = torch.library


def nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """Non-maximum suppression of boxes `dets` (n, 4) by `scores` (n): the numbers of the boxes that are kept, by
    decreasing score. Written from its definition, a pair of boxes at a time.

    Raises `TypeError` and `ValueError` for what torchvision does not take.
    """
    if dets.dtype not in (torch.float32, torch.float64) or scores.dtype is not dets.dtype:
        raise TypeError(f"boxes of {dets.dtype}, scores of {scores.dtype}")
    if dets.shape[1:] != (4,) or scores.shape != dets.shape[:1]:
        raise ValueError(f"boxes of {list(dets.shape)}, scores of {list(scores.shape)}")
    order: list[int] = cast(Any, torch.sort(scores, stable=True, descending=True).indices).tolist()
    kept: list[int] = []
    for place in order:
        box = dets[place]
        if all(_overlap(dets[other], box) <= iou_threshold for other in kept):
            kept.append(place)
    return torch.tensor(kept, dtype=torch.int64)


def _overlap(one: torch.Tensor, other: torch.Tensor) -> float:
    """Intersection over union, in the type of the boxes; 0 where it is undefined, as that suppresses nothing."""
    zero = one.new_zeros(())
    least, most = torch.maximum(one[:2], other[:2]), torch.minimum(one[2:], other[2:])
    width, height = torch.maximum(most - least, zero)
    shared = width * height
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    found = float(shared / (areas[0] + areas[1] - shared))
    return 0.0 if math.isnan(found) else found


def _nms_shape(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    context: Any = library.get_ctx()
    size: Any = context.new_dynamic_size()
    return dets.new_empty((size,), dtype=torch.int64)


def _sample(pixels: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """The values of all channels of `pixels` (C, H, W) at a place, 0 outside of the image."""
    top, left = math.floor(y), math.floor(x)
    total = pixels.new_zeros(pixels.size(0))
    for row, down in ((top, 1 - (y - top)), (top + 1, y - top)):
        for column, right in ((left, 1 - (x - left)), (left + 1, x - left)):
            if 0 <= row < pixels.size(1) and 0 <= column < pixels.size(2):
                total += down * right * pixels[:, row, column]
    return total


def roi_align(
    input: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    """Averages of samples in the bins of each box (K, 5), as image, left, top, right and bottom:
    (K, C, pooled_height, pooled_width). Written from its definition, a sample at a time.
    """
    result = _roi_align_shape(input, rois, spatial_scale, pooled_height, pooled_width).zero_()
    height, width = input.shape[2:]
    for box, (image, *edges) in enumerate(cast("list[list[float]]", cast(Any, rois).tolist())):
        left, top, right, bottom = (edge * spatial_scale - (0.5 if aligned else 0) for edge in edges)
        least = -math.inf if aligned else 1.0
        bin_height, bin_width = (
            max(bottom - top, least) / pooled_height,
            max(right - left, least) / pooled_width,
        )
        rows, columns = (
            sampling_ratio if sampling_ratio > 0 else math.ceil(size) for size in (bin_height, bin_width)
        )
        for bin_row, bin_column, row, column in itertools.product(
            *(range(count) for count in (pooled_height, pooled_width, rows, columns))
        ):
            y = top + (bin_row + (row + 0.5) / rows) * bin_height
            x = left + (bin_column + (column + 0.5) / columns) * bin_width
            if -1 <= y <= height and -1 <= x <= width:
                y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
                part = _sample(input[int(image)], y, x) / (rows * columns)
                result[box, :, bin_row, bin_column] += part
    return result


def _roi_align_shape(
    input: torch.Tensor, rois: torch.Tensor, spatial_scale: float, height: int, width: int, *_: Any
) -> torch.Tensor:
    return input.new_empty((rois.size(0), input.size(1), height, width))


def deform_conv2d(
    input: torch.Tensor,
    weight: torch.Tensor,
    offset: torch.Tensor,
    mask: torch.Tensor,
    bias: torch.Tensor,
    *sizes: int,
) -> torch.Tensor:
    """A convolution whose taps are moved by `offset` and weighted by `mask`; `sizes` are the other arguments. Written
    from its definition, a tap at a time.
    """
    stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask = sizes
    result = _deform_conv2d_shape(input, weight, offset).copy_(bias.view(-1, 1, 1))
    taps = weight.size(2) * weight.size(3)
    filters, channels = weight.size(0) // groups, input.size(1) // offset_groups
    for image, y, x, part in itertools.product(
        *(range(count) for count in (*result.shape[:1], *result.shape[2:], offset_groups))
    ):
        pixels = input[image, part * channels : (part + 1) * channels]
        for tap, (row, column) in enumerate(itertools.product(*(range(size) for size in weight.shape[2:]))):
            place = part * taps + tap
            down, right = (float(offset[image, 2 * place + axis, y, x]) for axis in (0, 1))
            found = _sample(
                pixels,
                y * stride_h - pad_h + row * dilation_h + down,
                x * stride_w - pad_w + column * dilation_w + right,
            )
            if use_mask:
                found *= mask[image, place, y, x]
            for channel in range(channels):
                group, within = divmod(part * channels + channel, weight.size(1))
                chosen = slice(group * filters, (group + 1) * filters)
                result[image, chosen, y, x] += found[channel] * weight[chosen, within, row, column]
    return result


def _deform_conv2d_shape(
    input: torch.Tensor, weight: torch.Tensor, offset: torch.Tensor, *_: Any
) -> torch.Tensor:
    return input.new_empty((input.size(0), weight.size(0), *offset.shape[2:]))


_SCHEMAS: Final = (
    ("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", nms, _nms_shape),
    (
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
        "int sampling_ratio, bool aligned) -> Tensor",
        roi_align,
        _roi_align_shape,
    ),
    (
        "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, "
        "SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
        "SymInt offset_groups, bool use_mask) -> Tensor",
        deform_conv2d,
        _deform_conv2d_shape,
    ),
)
"""Operators, their kernels, and their kernels without data."""


def _registered() -> Library | None:
    if find_spec("torchvision") is not None:
        return None
    made: Any = Library("torchvision", "FRAGMENT")
    for schema, kernel, shape in _SCHEMAS:
        name = schema.partition("(")[0]
        made.define(schema)
        made.impl(name, kernel, "CPU")
        library.register_fake(f"torchvision::{name}", shape, lib=made)
    return made


LIBRARY = _registered()
"""Held here, as the operators go with it; None where torchvision has them."""
