"""Images and volumes read at the points of a grid.

Torch computes positions, weights and sums in the type of the image, and so do these kernels, each operation in torch's
order: of 16-bit types with a rounding after each.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from et_ops.inference.convolution import GRID_SAMPLING
from et_vm.kernels.portable.arguments import FLOAT, INTEGER
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.promotion import kind
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
PLANES = 4
"""Dimensions of images."""


def _prepared(input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool, out: Tensor) -> Step:
    sample = _cubic if mode == BICUBIC else _nearest if mode == NEAREST else _linear
    if kind(input.scalar_type) == INTEGER:
        # Between whole positions there is nothing to interpolate.
        sample = _nearest
    return sample, (input.array, grid.array, padding, align_corners, out.array)


@kernel("aten::grid_sampler_2d.out", any_layout=True)
@inferred(GRID_SAMPLING[2], kinds=(INTEGER, FLOAT), same_type=True)
def grid_sampler_2d_out(
    ctx: PrepareContext,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    out: Tensor,
) -> Step:
    """`input` (N, C, H, W) at the points of `grid` (N, h, w, 2), x before y, in [-1, 1]. Interpolation 0 bilinear,
    1 nearest, 2 bicubic; outside 0 zeros, 1 the border, 2 reflection. Numpy allocates the positions and weights.
    """
    return _prepared(input, grid, interpolation_mode, padding_mode, align_corners, out)


@kernel("aten::grid_sampler_3d.out")
@inferred(GRID_SAMPLING[3], kinds=(INTEGER, FLOAT), same_type=True)
def grid_sampler_3d_out(
    ctx: PrepareContext,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    out: Tensor,
) -> Step:
    """`input` (N, C, D, H, W) at the points of `grid` (N, d, h, w, 3), x before y before z, in [-1, 1].
    Interpolation 0 linear, 1 nearest; outside 0 zeros, 1 the border, 2 reflection. Numpy allocates the positions and
    weights.
    """
    return _prepared(input, grid, interpolation_mode, padding_mode, align_corners, out)


def _positions(image: Array, grid: Array, align_corners: bool) -> list[Array]:
    """Coordinates of the points along each axis of the image, in elements."""
    found: list[Array] = []
    for at, size in enumerate(image.shape[2:], 1):
        unit: Array = grid[..., -at]
        if grid.dtype.kind in "iu":
            found.append(_whole_position(unit.astype(np.int64), size, align_corners))
        elif align_corners:
            found.append((unit + 1) / 2 * (size - 1))
        elif _is_fused(image, grid):
            found.append(_multiplied(unit + 1, size / 2, -0.5))
        else:
            found.append(((unit + 1) * size - 1) / 2)
    return found


def _is_fused(image: Array, grid: Array) -> bool:
    """Whether torch computes positions in vectors, by instructions that round a product and a sum once."""
    return image.ndim == PLANES and grid.dtype == np.float32


def _multiplied(x: Any, factor: float, plus: Any) -> Array:
    """x * factor + plus, of float32, rounded once: the product is exact in float64."""
    return (np.float64(factor) * x + plus).astype(np.float32)


def _whole_position(unit: Array, size: int, align_corners: bool) -> Array:
    """Coordinates of integer points, by upstream's integer arithmetic, which truncates. (Torch has none.)"""
    doubled = unit + 1 if align_corners else (unit + 1) * size - 1
    halved: Array = np.where(doubled < 0, -(-doubled // 2), doubled // 2)
    return halved * (size - 1) if align_corners else halved


def _reflect(position: Any, low: float, high: float, *, fused: bool) -> Array:
    """`position` folded back and forth between `low` and `high`.

    Far outside, where floats are wider apart than the image, it is anywhere: where vectors of torch's have it, if
    `fused`.
    """
    if low == high:
        return np.zeros_like(position)
    # Numbers of the type: a Python float would make a float32 of a bfloat16.
    least, span = position.dtype.type(low), position.dtype.type(high - low)
    inside: Any = np.abs(position - least)
    if fused:
        both = span + span
        rest = _multiplied(np.trunc(inside / both), -float(both), inside)
        nearer: Array = np.minimum(rest, both - rest)
        return nearer + least
    extra: Any = np.fmod(inside, span)
    even: Any = np.floor(inside / span) % 2 == 0
    folded: Array = span - extra
    np.copyto(folded, extra, where=even)
    return folded + least


def _placed(position: Array, size: int, padding: int, align_corners: bool, *, fused: bool) -> Array:
    """Positions outside of the image brought where `padding` says."""
    if padding == ZEROS:
        return position
    if padding == REFLECTION:
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        position = _reflect(position, low, high, fused=fused)
    # A NaN goes to the first element, as in torch.
    kind = position.dtype.type
    return np.fmin(np.fmax(position, kind(0)), kind(size - 1))


def _at(position: Array, size: int) -> Array:
    """Whole positions as indices; what no index can be is outside, and so is its successor."""
    inside: Any = (position >= -1) & (position <= size)
    return np.where(inside, position, -2).astype(np.intp)


def _fetch(image: Array, indices: Sequence[Array]) -> Array:
    """The elements at `indices` along each axis, (N, C, ...); zero outside of the image."""
    inside: Any = np.ones(indices[0].shape, np.bool_)
    for index, size in zip(indices, image.shape[2:], strict=True):
        inside &= (index >= 0) & (index < size)
    places = [np.where(inside, index, 0) for index in indices]
    sample = np.arange(len(image)).reshape(-1, *[1] * (indices[0].ndim - 1))
    found: Array = np.moveaxis(image[(sample, slice(None), *places)], -1, 1)
    return np.where(inside[:, None], found, np.zeros((), image.dtype))


def _nearest(image: Array, grid: Array, padding: int, align_corners: bool, out: Array) -> None:
    indices: list[Array] = []
    for position, size in zip(_positions(image, grid, align_corners), image.shape[2:], strict=True):
        placed = _placed(position, size, padding, align_corners, fused=_is_fused(image, grid))
        indices.append(_at(np.rint(placed), size))
    np.copyto(out, _fetch(image, indices))


def _linear(image: Array, grid: Array, padding: int, align_corners: bool, out: Array) -> None:
    sides: list[list[tuple[Array, Array]]] = []
    for position, size in zip(_positions(image, grid, align_corners), image.shape[2:], strict=True):
        placed = _placed(position, size, padding, align_corners, fused=_is_fused(image, grid))
        low = np.floor(placed)
        first = _at(low, size)
        # The next element of a wide image may be no number of a 16-bit type.
        rest = (low.astype(np.float64) + 1 - placed.astype(np.float64)).astype(placed.dtype)
        sides.append([(first, rest), (first + 1, placed - low)])
    out[...] = 0
    for corner in itertools.product(*sides):
        weight = corner[-1][1]
        for _, share in corner[-2::-1]:
            weight = weight * share
        np.add(out, _fetch(image, [index for index, _ in corner]) * weight[:, None], out=out)


def _cubic(image: Array, grid: Array, padding: int, align_corners: bool, out: Array) -> None:
    (y, x), (height, width) = _positions(image, grid, align_corners), image.shape[2:]
    top, left = np.floor(y), np.floor(x)
    down, across = _cubic_weights(y - top), _cubic_weights(x - left)

    def index(position: Array, size: int) -> Array:
        return _at(_placed(position, size, padding, align_corners, fused=_is_fused(image, grid)), size)

    columns = [index(left + offset, width) for offset in range(-1, 3)]
    rows: list[Array] = []
    for offset in range(-1, 3):
        row = index(top + offset, height)
        rows.append(_weighted([_fetch(image, (row, column)) for column in columns], across))
    np.copyto(out, _weighted(rows, down))


def _weighted(terms: Sequence[Array], weights: Sequence[Array]) -> Array:
    total = terms[0] * weights[0][:, None]
    for term, weight in zip(terms[1:], weights[1:], strict=True):
        total = total + term * weight[:, None]
    return total


def _cubic_weights(share: Array) -> list[Array]:
    """Keys's cubic convolution with a = -0.75, for the element two before, before, behind and two behind."""
    # Numbers of the type: a Python float would make a float32 of a bfloat16.
    two, three, five, six = (share.dtype.type(number) for number in (1.25, 2.25, 3.75, 6.0))
    least, whole = share.dtype.type(0.75), share.dtype.type(3.0)

    def near(d: Array) -> Array:
        return (two * d - three) * d * d + 1

    def far(d: Array) -> Array:
        return ((five - least * d) * d - six) * d + whole

    rest = 1 - share
    return [far(share + 1), near(share), near(rest), far(rest + 1)]
