"""Histograms, and the distinct elements of a tensor. Most results have shapes that depend on the data."""

from __future__ import annotations

import functools

import numpy as np

from et_ops.inference import reductions as rules
from et_ops.inference.creation import nonzero_static
from et_vm.kernels.portable.arguments import BOOL, FLOAT, INTEGER, check_memory, check_out_type, dimension
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.evaluate import evaluated, evaluated_to_size
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

_ORDERED = (BOOL, INTEGER, FLOAT)


@kernel("aten::histc.out")
@inferred(rules.histc, kinds=(FLOAT,))
def histc_out(ctx: PrepareContext, self: Tensor, bins: int, min: Scalar, max: Scalar, out: Tensor) -> Step:
    """Histogram over `bins` equal intervals of [`min`, `max`], by default of the range of the
    elements. In the arithmetic of the type, 16-bit ones too. Allocates the place of each.
    """
    return evaluated(
        functools.partial(_histogram, ctx, bins, float(min), float(max)), (self,), (out,), self.dtype
    )


def _histogram(ctx: PrepareContext, bins: int, low: float, high: float, array: Array) -> Array:
    flat = array.reshape(-1)
    kind = array.dtype.type
    least, most = kind(low), kind(high)
    if least == most and flat.size:
        least, most = flat.min(), flat.max()
    if least == most:
        least, most = least - kind(1), most + kind(1)
    if not (np.isfinite(least) and np.isfinite(most)):
        raise ctx.error(f"the range from {least} to {most} is not finite")
    inside = flat[(flat >= least) & (flat <= most)]
    places = ((inside - least) * kind(bins) / (most - least)).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins)


@kernel("aten::bincount.out")
@inferred(rules.bincount, check=check_out_type)
def bincount_out(
    ctx: PrepareContext, self: Tensor, weights: Tensor | None, minlength: int, out: Tensor
) -> Step:
    """The number of occurrences of each number in a vector, or the sum of its `weights`; long enough for the largest
    number, and at least `minlength`. Allocates the result.
    """
    given = (self,) if weights is None else (self, weights)
    return evaluated_to_size(functools.partial(_counts, ctx, minlength, out), given, (out,))


def _counts(
    ctx: PrepareContext, minlength: int, out: Tensor, numbers: Array, weights: Array | None = None
) -> Array:
    if numbers.size and int(numbers.min()) < 0:
        raise ctx.trap(arg="self", expected="non-negative numbers", got=int(numbers.min()))
    most = int(numbers.max()) + 1 if numbers.size else 0
    check_memory(ctx, (max(most, minlength),), 8, arg="minlength" if minlength > most else "self")
    # Before as much is allocated beside it: a single number tells how long it is.
    out.resize((max(most, minlength),))
    if not numbers.size:
        return np.zeros(minlength, np.int64)
    given = None if weights is None else weights.astype(np.float64)
    return np.bincount(numbers.astype(np.int64), given, minlength)


def _inverse(chosen: Array, wanted: bool, shape: tuple[int, ...]) -> Array:
    return chosen.reshape(shape) if wanted else np.empty(0, np.int64)


@kernel("aten::_unique2.out")
@inferred(rules.unique, kinds=_ORDERED, outs=3)
def unique2_out(
    ctx: PrepareContext,
    self: Tensor,
    sorted: bool,
    return_inverse: bool,
    return_counts: bool,
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
) -> Step:
    """The distinct elements, always sorted; where each element is among them; how often each occurs. What is not
    wanted is empty. A NaN differs from every other. Allocates the results.
    """
    compute = functools.partial(_distinct, return_inverse, return_counts)
    return evaluated_to_size(compute, (self,), (out0, out1, out2))


def _distinct(return_inverse: bool, return_counts: bool, array: Array) -> tuple[Array, Array, Array]:
    values, inverse, counts = np.unique(
        array.reshape(-1), return_inverse=True, return_counts=True, equal_nan=False
    )
    return values, _inverse(inverse, return_inverse, array.shape), counts if return_counts else counts[:0]


def _runs(differs: Array) -> tuple[Array, Array, Array]:
    """Of elements that differ from the one before or not: the first of each run, the run of each, the lengths."""
    new = np.concatenate([np.ones(1, np.bool_), differs])
    firsts = np.flatnonzero(new)
    return firsts, np.cumsum(new) - 1, np.diff(np.append(firsts, len(new)))


@kernel("aten::unique_consecutive.out")
@inferred(rules.unique_consecutive, kinds=_ORDERED, outs=3)
def unique_consecutive_out(
    ctx: PrepareContext,
    self: Tensor,
    return_inverse: bool,
    return_counts: bool,
    dim: int | None,
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
) -> Step:
    """The first of each run of equal elements, or of equal slices along `dim`; the run of each; the lengths of
    the runs. What is not wanted is empty; along a dimension all is given, but along dimension 0 of a vector, which
    torch takes for no dimension. Allocates the results.
    """
    axis = None if dim is None else dimension(ctx, dim, len(self.sizes))
    if dim == 0 and len(self.sizes) == 1:
        axis = None
    compute = functools.partial(_consecutive, axis, return_inverse, return_counts)
    return evaluated_to_size(compute, (self,), (out0, out1, out2))


def _consecutive(
    axis: int | None, return_inverse: bool, return_counts: bool, array: Array
) -> tuple[Array, Array, Array]:
    lines = array.reshape(-1, 1) if axis is None or not array.ndim else np.moveaxis(array, axis, 0)
    if not len(lines):
        none = np.empty(0, np.int64)
        inverse = np.empty(array.shape, np.int64) if axis is None and return_inverse else none
        return array.reshape(-1) if axis is None else array, inverse, none
    flat = lines.reshape(len(lines), -1)
    firsts, runs, lengths = _runs((flat[1:] != flat[:-1]).any(1))
    values: Array = lines[firsts]
    values = values.reshape(-1) if axis is None or not array.ndim else np.moveaxis(values, 0, axis)
    shape = array.shape if axis is None else runs.shape
    wanted = return_inverse or axis is not None
    return (
        values,
        _inverse(runs, wanted, shape),
        lengths if return_counts or axis is not None else lengths[:0],
    )


@kernel("aten::unique_dim.out")
@inferred(rules.unique_slices, kinds=_ORDERED, outs=3)
def unique_dim_out(
    ctx: PrepareContext,
    self: Tensor,
    dim: int,
    sorted: bool,
    return_inverse: bool,
    return_counts: bool,
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
) -> Step:
    """The distinct slices along `dim` in the order of their elements; where each slice is among them; how often
    each occurs. Allocates the results.
    """
    return evaluated_to_size(functools.partial(_distinct_slices, dim), (self,), (out0, out1, out2))


def _distinct_slices(axis: int, array: Array) -> tuple[Array, Array, Array]:
    lines = np.moveaxis(array, axis, 0) if array.ndim else array.reshape(1)
    if not len(lines):
        none = np.empty(0, np.int64)
        return array, none, none
    flat = lines.reshape(len(lines), -1)
    order = np.lexsort(flat.T[::-1]) if flat.shape[1] else np.arange(len(lines))
    ranked = flat[order]
    firsts, runs, lengths = _runs((ranked[1:] != ranked[:-1]).any(1))
    inverse = np.empty(len(lines), np.int64)
    inverse[order] = runs
    values: Array = lines[order[firsts]]
    return np.moveaxis(values, 0, axis) if array.ndim else values, inverse, lengths


@kernel("aten::nonzero_static.out")
@inferred(nonzero_static)
def nonzero_static_out(ctx: PrepareContext, self: Tensor, size: int, fill_value: int, out: Tensor) -> Step:
    """The coordinates of the first `size` elements that are not zero, [`size`, dimensions], filled up with
    `fill_value`. Allocates the coordinates of all.
    """
    return evaluated(functools.partial(_first_places, size, fill_value), (self,), (out,))


def _first_places(size: int, fill: int, array: Array) -> Array:
    result = np.full((size, array.ndim), fill, np.int64)
    if array.ndim:
        found = np.argwhere(array)[:size]
        result[: len(found)] = found
    return result
