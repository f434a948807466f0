"""Resampling of images: the pixels under each pixel of the result and their weights, for each dimension.

Source indices are computed as torch does it for the CPU, in f32 where it does (`aten/src/ATen/native/UpSample.h`), so
that they are rounded as there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from et_backends.codegen.kernels.images import image_sizes, spatial_rank
from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_ir.dialects.edge.resampling import factors_of
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = [
    "RESAMPLING",
    "RESIZES",
    "Axis",
    "Indices",
    "axes_of",
    "takes_maximum",
    "takes_pixels",
]

Integers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]

Indices: TypeAlias = Callable[[SSAValue], Integers]
"""The elements of an operand that is a constant."""

RESAMPLING: Final = frozenset(
    {
        "_adaptive_avg_pool2d",
        "_adaptive_avg_pool3d",
        "_upsample_bicubic2d_aa",
        "_upsample_bilinear2d_aa",
        "adaptive_max_pool2d",
        "adaptive_max_pool3d",
        "avg_pool3d",
        "max_pool3d_with_indices",
        "reflection_pad1d",
        "reflection_pad2d",
        "reflection_pad3d",
        "replication_pad1d",
        "replication_pad2d",
        "replication_pad3d",
        "upsample_bilinear2d",
        "upsample_bilinear2d.vec",
        "upsample_nearest2d",
        "upsample_nearest2d.vec",
    }
)
"""Operators whose result is a separable combination of pixels: with tables for each dimension."""

RESIZES: Final = frozenset({"upsample_bilinear2d.vec", "upsample_nearest2d.vec"})
"""Resizes with a kernel for images of any size."""


@dataclass(frozen=True, eq=False)
class Axis:
    """Source places of one dimension, for each place of the result.

    Without `counts`, as many places for each, `[out][tap]`. With them, neighbors: the first, `[out][1]`, and their
    number, `[out]`, which lie `apart` of each other.
    """

    places: Integers
    weights: Floats | None = None
    """Factors of the pixels, `[out][tap]`; 1 where there are none."""
    counts: Integers | None = None
    divisors: Floats | None = None
    """Divisors of the sums, `[out]`: the factor of this dimension."""
    apart: int = 1


def takes_maximum(op: SchemaOp) -> bool:
    """Whether pixels are combined by their maximum, not by their sum."""
    return "max_pool" in operator_name(op)


def takes_pixels(op: SchemaOp) -> bool:
    """Whether an op takes elements at constant places of the last dimensions, of each of them apart.

    It has a tensor of indices for each, which has the size of that dimension of the result and no other.
    """
    if operator_name(op) != "index.Tensor":
        return False
    given: Sequence[SSAValue | None] = op.arg("indices")
    count = next((number for number, one in enumerate(given) if one is not None), 0)
    indices = [one for one in given[count:] if one is not None]
    if (
        not count
        or len(given) != tensor_type(op.operands[0]).get_num_dims()
        or len(indices) < len(given) - count
    ):
        return False
    return all(
        isinstance(one.owner, GetOp)
        and tensor_type(one).element_type == i64
        and _only_dim(tensor_type(one).get_shape(), len(indices) - number)
        for number, one in enumerate(indices)
    )


def _only_dim(shape: Sequence[int], place: int) -> bool:
    """Whether all sizes but the one at a place from the end are 1, and the first is no other."""
    return len(shape) == place and all(size == 1 for size in shape[1:])


def axes_of(op: SchemaOp, indices: Indices) -> list[Axis]:
    """The tables of an op of `RESAMPLING`, or one that `takes_pixels`, from its first spatial dimension to the last."""
    name = operator_name(op)
    if name == "index.Tensor":
        sizes = image_sizes(op, op.operands[0])[1:-1]
        return [
            Axis(np.where(places < 0, places + size, places)[:, None])
            for size, places in zip(sizes, (indices(one) for one in op.operands[1:]), strict=True)
        ]
    sources = image_sizes(op, op.operands[0])[1:-1]
    targets = image_sizes(op, op.results[0])[1:-1]
    if "adaptive" in name:
        average = "avg" in name
        return [_adaptive(source, target, average) for source, target in zip(sources, targets, strict=True)]
    if name in ("avg_pool3d", "max_pool3d_with_indices"):
        return _pools(op, sources, targets)
    if "_pad" in name:
        before = [int(one) for one in op.arg("padding")][-2::-2]
        border = _reflected if name.startswith("reflection") else _clamped
        return [
            Axis(border(np.arange(target) - start, source)[:, None])
            for source, target, start in zip(sources, targets, before, strict=True)
        ]
    scales = factors_of(op)
    make = _UPSAMPLING[re.sub(r"\..*", "", name)]
    corners = bool(op.arg("align_corners")) if "nearest" not in name else False
    return [
        make(source, target, corners, scale)
        for source, target, scale in zip(sources, targets, scales, strict=True)
    ]


# -- pads


def _reflected(places: Integers, size: int) -> Integers:
    inside = np.abs(places)
    return np.where(inside >= size, 2 * (size - 1) - inside, inside)


def _clamped(places: Integers, size: int) -> Integers:
    return np.clip(places, 0, size - 1)


# -- pools


def _adaptive(source: int, target: int, average: bool) -> Axis:
    """Windows whose bounds are multiples of `source / target`, rounded to the outside."""
    place = np.arange(target)
    starts = place * source // target
    counts = -(-(place + 1) * source // target) - starts
    return Axis(starts[:, None], counts=counts, divisors=counts.astype(np.float32) if average else None)


def _pools(op: SchemaOp, sources: Sequence[int], targets: Sequence[int]) -> list[Axis]:
    """Windows of one size, cut to the image; an average counts what is cut off if it is within the border."""
    rank = spatial_rank(op)
    sizes = _of_all(op.arg("kernel_size"), rank)
    steps = _of_all(op.arg("stride"), rank) if op.arg("stride") else sizes
    borders = _of_all(op.arg("padding"), rank)
    maximum = takes_maximum(op)
    aparts = _of_all(op.arg("dilation"), rank) if maximum else [1] * rank
    override: int | None = None if maximum else op.arg("divisor_override")
    axes: list[Axis] = []
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        size, border, apart = sizes[number], borders[number], aparts[number]
        starts = np.arange(target) * steps[number] - border
        ends = np.minimum(starts + (size - 1) * apart + 1, source)
        first = starts + -(np.minimum(starts, 0) // apart) * apart
        counts = np.maximum(-(-(ends - first) // apart), 0)
        divisors = None
        if not maximum:
            if override is not None:
                whole = np.full(target, override if number == 0 else 1)
            elif op.arg("count_include_pad"):
                whole = np.minimum(starts + size, source + border) - starts
            else:
                whole = counts
            divisors = whole.astype(np.float32)
        axes.append(Axis(first[:, None], counts=counts, divisors=divisors, apart=apart))
    return axes


def _of_all(values: Sequence[Any], rank: int) -> list[int]:
    """A number for each dimension, of a list in which one may stand for all."""
    return [int(values[min(number, len(values) - 1)]) for number in range(rank)]


# -- resizes


def _step(source: int, target: int, corners: bool, scale: float | None) -> np.float32:
    """The distance in the source of neighbors of the result."""
    if corners:
        return np.float32(source - 1) / np.float32(target - 1) if target > 1 else np.float32(0)
    if scale is not None and scale > 0:
        return np.float32(1.0 / scale)
    return np.float32(source) / np.float32(target)


def _nearest(source: int, target: int, corners: bool, scale: float | None) -> Axis:
    exact = np.floor(np.arange(target).astype(np.float32) * _step(source, target, corners, scale))
    return Axis(np.minimum(exact.astype(np.int64), source - 1)[:, None])


def _linear(source: int, target: int, corners: bool, scale: float | None) -> Axis:
    place = np.arange(target)
    if source == target:
        # Torch multiplies the second pixel by 0, which makes NaN of an infinity.
        both = np.stack([place, place], 1)
        return Axis(both, np.tile(np.array([1, 0], np.float32), (target, 1)))
    step = _step(source, target, corners, scale)
    at = place.astype(np.float32)
    exact = (
        step * at if corners else np.maximum(step * (at + np.float32(0.5)) - np.float32(0.5), np.float32(0))
    )
    first = np.minimum(np.floor(exact).astype(np.int64), source - 1)
    second = np.minimum(first + 1, source - 1)
    weight = np.clip(exact - first.astype(np.float32), np.float32(0), np.float32(1)).astype(np.float32)
    return Axis(np.stack([first, second], 1), np.stack([np.float32(1) - weight, weight], 1))


def _antialiased(width: int, kernel: Callable[[Floats], Floats]) -> Callable[..., Axis]:
    """Weights of all pixels under a kernel that is `width` wide, and wider where the image gets smaller."""

    def make(source: int, target: int, corners: bool, scale: float | None) -> Axis:
        step = _step(source, target, corners, scale)
        half = np.float32(width * 0.5)
        support = half * step if step >= 1 else half
        inverse = np.float32(1) / step if step >= 1 else np.float32(1)
        center = step * (np.arange(target).astype(np.float32) + np.float32(0.5))
        starts = np.maximum((center - support + np.float32(0.5)).astype(np.int64), 0)
        ends = np.minimum((center + support + np.float32(0.5)).astype(np.int64), source)
        counts = np.clip(ends - starts, 0, int(np.ceil(support)) * 2 + 1)
        tap = np.arange(max(int(counts.max()), 1))
        distance = (tap + starts[:, None] - center[:, None] + np.float32(0.5)) * inverse
        weights = kernel(distance.astype(np.float32)) * (tap < counts[:, None])
        total = weights.sum(1, keepdims=True, dtype=np.float32)
        weights = np.divide(weights, total, out=weights, where=total != 0)
        return Axis(starts[:, None], weights.astype(np.float32), counts)

    return make


def _triangle(x: Floats) -> Floats:
    return np.maximum(np.float32(1) - np.abs(x), np.float32(0))


def _cubic(x: Floats) -> Floats:
    """Keys's cubic convolution with a = -1/2, as it is in antialiased resizes."""
    a, x = np.float32(-0.5), np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, np.float32(0)))


_UPSAMPLING: Final[dict[str, Callable[[int, int, bool, float | None], Axis]]] = {
    "upsample_nearest2d": _nearest,
    "upsample_bilinear2d": _linear,
    "_upsample_bilinear2d_aa": _antialiased(2, _triangle),
    "_upsample_bicubic2d_aa": _antialiased(4, _cubic),
}
