"""Histograms: how many elements, or how much of their weight, fall between neighbouring edges."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import check_rank, check_same_type, check_shape
from et_vm.kernels.portable.creation.create import spaced
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor


def _check(
    ctx: PrepareContext, self: Tensor, weight: Tensor | None, bins: int, hist: Tensor, bin_edges: Tensor
) -> list[Tensor]:
    """The tensors that are counted. Resizes the results."""
    good = self.scalar_type in (ScalarType.FLOAT, ScalarType.DOUBLE)
    ctx.check(good, arg="self", expected="float32 or float64", got=self.scalar_type.torch_name)
    check_same_type(ctx, self, ("weight", weight), ("hist", hist), ("bin_edges", bin_edges))
    if weight is not None:
        check_shape(ctx, weight, self.sizes, arg="weight")
    hist.resize((bins,))
    bin_edges.resize((bins + 1,))
    return [self] if weight is None else [self, weight]


@kernel("aten::histogram.bin_ct_out")
def histogram_bin_ct_out(
    ctx: PrepareContext,
    self: Tensor,
    bins: int,
    range: list[float] | None,
    weight: Tensor | None,
    density: bool,
    hist: Tensor,
    bin_edges: Tensor,
) -> Step:
    """Of `bins` equal parts of `range`, by default that of the elements; the last has its end. With `density` the
    sum over the parts times their lengths is 1. Allocates the place of each element.
    """
    ctx.check(bins > 0, arg="bins", expected="a positive number", got=bins)
    if range is not None:
        ctx.check(len(range) == 2, arg="range", expected="two numbers", got=range)
        good = math.isfinite(range[0]) and math.isfinite(range[1]) and range[0] <= range[1]
        ctx.check(good, arg="range", expected="finite numbers in order", got=range)
    given = _check(ctx, self, weight, bins, hist, bin_edges)
    compute = functools.partial(_of_count, ctx, bins, range, density, self.scalar_type)
    return evaluated(compute, given, (hist, bin_edges))


def _of_count(
    ctx: PrepareContext,
    bins: int,
    range: Sequence[float] | None,
    density: bool,
    scalar_type: ScalarType,
    values: Array,
    weight: Array | None = None,
) -> tuple[Array, Array]:
    if range is not None:
        low, high = range
    elif values.size:
        low, high = float(values.min()), float(values.max())
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ctx.trap(arg="self", expected="a finite range of elements", got=f"[{low}, {high}]")
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = spaced(low, high, bins + 1, scalar_type)
    return counted(values, edges, weight, density), edges


@kernel("aten::histogram.bins_tensor_out")
def histogram_bins_tensor_out(
    ctx: PrepareContext,
    self: Tensor,
    bins: Tensor,
    weight: Tensor | None,
    density: bool,
    hist: Tensor,
    bin_edges: Tensor,
) -> Step:
    """Between the edges `bins`, which rise; the last part has its end. With `density` the sum over the parts times
    their lengths is 1. Allocates the place of each element.
    """
    check_rank(ctx, bins, 1, arg="bins")
    ctx.check(bins.numel > 1, arg="bins", expected="at least two edges", got=list(bins.sizes))
    check_same_type(ctx, self, ("bins", bins))
    given = _check(ctx, self, weight, bins.numel - 1, hist, bin_edges)

    def compute(values: Array, edges: Array, weights: Array | None = None) -> tuple[Array, Array]:
        return counted(values, edges, weights, density), edges

    return evaluated(compute, [given[0], bins, *given[1:]], (hist, bin_edges))


def counted(values: Array, edges: Array, weight: Array | None, density: bool) -> Array:
    """The histogram of `values` between `edges`; elements outside of them and NaNs do not count."""
    flat = values.reshape(-1)
    inside: Any = (flat >= edges[0]) & (flat <= edges[-1])
    places: Any = np.searchsorted(edges, flat[inside], "right") - 1
    last = len(edges) - 2
    weights = None if weight is None else weight.reshape(-1)[inside].astype(np.float64)
    found: Array = np.bincount(np.clip(places, 0, last), weights, last + 1).astype(np.float64)
    return found / found.sum() / np.diff(edges) if density else found
