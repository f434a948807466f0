"""Histograms: how many elements, or how much of their weight, fall between neighbouring edges."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from et_ops.inference import reductions as rules
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.creation.create import spaced
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


@kernel("aten::histogram.bin_ct_out")
@inferred(rules.histogram, same_type=True, outs=2)
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
    given = (self,) if weight is None else (self, weight)
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
@inferred(rules.histogram_between, same_type=True, outs=2)
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
    given = (self, bins) if weight is None else (self, bins, weight)

    def compute(values: Array, edges: Array, weights: Array | None = None) -> tuple[Array, Array]:
        return counted(values, edges, weights, density), edges

    return evaluated(compute, given, (hist, bin_edges))


def counted(values: Array, edges: Array, weight: Array | None, density: bool) -> Array:
    """The histogram of `values` between `edges`; elements outside of them and NaNs do not count."""
    flat = values.reshape(-1)
    inside: Any = (flat >= edges[0]) & (flat <= edges[-1])
    places: Any = np.searchsorted(edges, flat[inside], "right") - 1
    last = len(edges) - 2
    weights = None if weight is None else weight.reshape(-1)[inside].astype(np.float64)
    found: Array = np.bincount(np.clip(places, 0, last), weights, last + 1).astype(np.float64)
    return found / found.sum() / np.diff(edges) if density else found
