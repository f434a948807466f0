"""Resizing images with a filter as wide as the image shrinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from et_ops.inference.convolution import RESAMPLING
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import FLOAT, check_kinds
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.image.resample import dense, resample_bytes
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.linalg.matmul import in_arithmetic_type
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.portable.steps import call, chain, copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


def _triangle(distance: Array) -> Array:
    return np.maximum(0.0, 1.0 - distance)


def _cubic(distance: Array) -> Array:
    """Keys's cubic convolution with a = -0.5."""
    near = (1.5 * distance - 2.5) * distance * distance + 1
    far = ((-0.5 * distance + 2.5) * distance - 4) * distance + 2
    return np.where(distance < 1, near, np.where(distance < 2, far, 0.0))


_FILTERS: dict[str, tuple[Callable[[Array], Array], float]] = {
    "linear": (_triangle, 1.0),
    "cubic": (_cubic, 2.0),
}
"""Of the distance, and how far they reach."""


def _weights(
    filter: str, extent: int, count: int, align_corners: bool, scale: float | None
) -> list[tuple[int, Array]]:
    """For each of `count` results the first element it draws on and the weights, of a filter widened when the image
    shrinks. A size that is kept is left alone, as in torch, whatever the scale is.
    """
    if count == extent:
        return [(at, np.ones(1)) for at in range(count)]
    function, reach = _FILTERS[filter]
    if align_corners:
        step = (extent - 1) / (count - 1) if count > 1 else 0.0
    else:
        step = 1.0 / scale if scale is not None and scale > 0 else extent / count
    wide = max(step, 1.0)
    support = reach * wide
    found: list[tuple[int, Array]] = []
    for at in range(count):
        centre = step * (at + 0.5)
        first = max(int(centre - support + 0.5), 0)
        last = min(int(centre + support + 0.5), extent)
        distance: Any = np.abs((np.arange(first, last) - centre + 0.5) / wide)
        weights = function(distance)
        total = float(weights.sum())
        found.append((first, weights / total if total else weights))
    return found


def _resampled(
    ctx: PrepareContext,
    filter: str,
    self: Tensor,
    align_corners: bool,
    scales: tuple[float | None, float | None],
    out: Tensor,
) -> Step:
    if self.scalar_type != ScalarType.BYTE:
        check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    size = out.sizes[2:]
    extents = zip(self.sizes[2:], size, scales, strict=True)
    rows, columns = (_weights(filter, n, m, align_corners, scale) for n, m, scale in extents)
    if self.scalar_type == ScalarType.BYTE:
        return resample_bytes, (
            self.array,
            dense(rows, self.sizes[2]),
            dense(columns, self.sizes[3]),
            out.array,
        )
    dtype = numpy_dtype(arithmetic(self.scalar_type))
    calls, array = in_arithmetic_type(ctx, self, dtype, "self")
    batch, channels, height, _ = self.sizes
    wide = ctx.scratch((batch, channels, height, size[1]), dtype)
    work = ctx.scratch((batch, channels, height), dtype)
    for at, (first, weights) in enumerate(columns):
        calls += _weighted(array[..., first : first + len(weights)], weights, work, wide[..., at], 3)
    target = out.array if out.dtype == dtype else ctx.scratch(out.sizes, dtype)
    work = ctx.scratch((batch, channels, size[1]), dtype)
    for at, (first, weights) in enumerate(rows):
        calls += _weighted(wide[:, :, first : first + len(weights)], weights, work, target[:, :, at], 2)
    if target is not out.array:
        calls.append(copy(target, out.array))
    return chain(calls)


def _weighted(part: Array, weights: Array, work: Array, out: Array, axis: int) -> list[Step]:
    """Calls for the weighted sum of `part` along `axis`, one element after the other so that only NaNs
    with a weight count.
    """
    before = (slice(None),) * axis
    calls: list[Step] = []
    for at, weight in enumerate(weights):
        term = part[(*before, at)]
        factor = filled(work.dtype, weight)
        calls.append(call(np.multiply, term, factor, work if at else out))
        if at:
            calls.append(call(np.add, out, work, out))
    return calls


@kernel("aten::_upsample_bilinear2d_aa.out", any_layout=True)
@inferred(RESAMPLING["_upsample_bilinear2d_aa"].by_size)
def upsample_bilinear2d_aa_out(
    ctx: PrepareContext,
    self: Tensor,
    output_size: list[int],
    align_corners: bool,
    scales_h: float | None,
    scales_w: float | None,
    out: Tensor,
) -> Step:
    """Weighted means with a triangle filter as wide as the image shrinks, of columns, then of rows. Scratch: the image
    with its width changed, float32 copies of 16-bit types, and one product.
    """
    return _resampled(ctx, "linear", self, align_corners, (scales_h, scales_w), out)


@kernel("aten::_upsample_bicubic2d_aa.out")
@inferred(RESAMPLING["_upsample_bicubic2d_aa"].by_size)
def upsample_bicubic2d_aa_out(
    ctx: PrepareContext,
    self: Tensor,
    output_size: list[int],
    align_corners: bool,
    scales_h: float | None,
    scales_w: float | None,
    out: Tensor,
) -> Step:
    """Weighted means with a cubic filter as wide as the image shrinks, of columns, then of rows. Scratch: as for the
    bilinear one.
    """
    return _resampled(ctx, "cubic", self, align_corners, (scales_h, scales_w), out)
