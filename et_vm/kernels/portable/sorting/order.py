"""Kernels of order statistics.

Medians, k-th values, modes, running extremes, and places in a sorted sequence.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from et_ops.inference import reductions as rules
from et_ops.inference.indexing import bucketize, searchsorted
from et_vm.kernels.portable.arguments import BOOL, COMPLEX, FLOAT, INTEGER
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.evaluate import evaluated, wide
from et_vm.kernels.portable.indexing.index import check_range
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.pointwise.pairwise import log_add
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor
from et_vm.work import CALL

_NUMBERS = (INTEGER, FLOAT)
_ORDERED = (BOOL, INTEGER, FLOAT)

Choose = Callable[[Array], Array]
"""From lines along the last axis to the index of one element of each."""


def _is_nan(array: Array) -> Array:
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, np.bool_)


def _choice(self: Tensor, dim: int, keepdim: bool, choose: Choose, values: Tensor, indices: Tensor) -> Step:
    """The step that stores one element of each line along `dim`, and its index. Allocates what sorting does."""
    compute = functools.partial(_chosen, dim, keepdim and bool(self.sizes), choose)
    return evaluated(compute, (self,), (values, indices))


def _chosen(axis: int, keepdim: bool, choose: Choose, array: Array) -> tuple[Array, Array]:
    if not array.ndim:
        return array, np.zeros((), np.int64)
    lines = np.moveaxis(array, axis, -1)
    places = choose(lines)
    values: Array = np.take_along_axis(lines, places[..., None], -1)[..., 0]
    return (np.expand_dims(values, axis), np.expand_dims(places, axis)) if keepdim else (values, places)


def _kth(k: int, lines: Array) -> Array:
    """NaN is greater than everything."""
    order: Array = np.argsort(lines, axis=-1, kind="stable")
    return order[..., k]


def _median(lines: Array) -> Array:
    """The lower one of two; the first NaN where there is one."""
    lost = _is_nan(lines)
    return np.where(lost.any(-1), lost.argmax(-1), _kth((lines.shape[-1] - 1) // 2, lines))


def _nanmedian(lines: Array) -> Array:
    """The lower one of two among the numbers."""
    numbers = lines.shape[-1] - _is_nan(lines).sum(-1)
    order: Array = np.argsort(lines, axis=-1, kind="stable")
    middle: Array = np.maximum(numbers - 1, 0) // 2
    return np.take_along_axis(order, middle[..., None], -1)[..., 0]


def _mode(lines: Array) -> Array:
    """The smallest of the most frequent, where it comes last."""
    order: Array = np.argsort(lines, axis=-1, kind="stable")
    ranked = np.take_along_axis(lines, order, -1)
    length = lines.shape[-1]
    new = np.ones(ranked.shape, np.bool_)
    new[..., 1:] = ranked[..., 1:] != ranked[..., :-1]
    places: Array = np.arange(length, dtype=np.int64)
    start: Array = np.maximum.accumulate(np.where(new, places, 0), axis=-1)
    run: Array = np.subtract(places, start)
    # The first of the longest runs: the element that made a run as long as the longest.
    last: Array = np.argmax(run, axis=-1)
    return np.take_along_axis(order, last[..., None], -1)[..., 0]


@kernel("aten::median.dim_values")
@inferred(rules.extremum_indexed, kinds=_NUMBERS, outs=2)
def median_dim_out(
    ctx: PrepareContext, self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor
) -> Step:
    """The median along `dim`, the lower one of two, and its index; NaN if there is one."""
    return _choice(self, dim, keepdim, _median, values, indices)


@kernel("aten::nanmedian.dim_values")
@inferred(rules.extremum_indexed, kinds=_NUMBERS, outs=2)
def nanmedian_dim_out(
    ctx: PrepareContext, self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor
) -> Step:
    """The median of the numbers along `dim`, the lower one of two, and its index."""
    return _choice(self, dim, keepdim, _nanmedian, values, indices)


def _chosen_of_all(choose: Choose, array: Array) -> Array:
    flat = array.reshape(-1)
    if not flat.size:
        # As torch has it: NaN, or of integers the least.
        return np.array(np.nan if array.dtype.kind == "f" else np.iinfo(array.dtype).min, array.dtype)
    return flat[choose(flat)]


@kernel("aten::median.out")
@inferred(rules.extremum_all, kinds=_NUMBERS)
def median_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The median of all elements, the lower one of two; NaN if there is one. Allocates what sorting does."""
    return evaluated(functools.partial(_chosen_of_all, _median), (self,), (out,))


@kernel("aten::nanmedian.out")
@inferred(rules.extremum_all, kinds=_NUMBERS)
def nanmedian_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The median of all numbers, the lower one of two. Allocates what sorting does."""
    return evaluated(functools.partial(_chosen_of_all, _nanmedian), (self,), (out,))


@kernel("aten::mode.values")
@inferred(rules.extremum_indexed, kinds=_ORDERED, outs=2)
def mode_out(
    ctx: PrepareContext, self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor
) -> Step:
    """The most frequent element along `dim`, of several the smallest, and its last index. NaNs, which torch leaves
    open, differ from each other.
    """
    return _choice(self, dim, keepdim, _mode, values, indices)


@kernel("aten::kthvalue.values")
@inferred(rules.kthvalue, kinds=_NUMBERS, outs=2)
def kthvalue_out(
    ctx: PrepareContext, self: Tensor, k: int, dim: int, keepdim: bool, values: Tensor, indices: Tensor
) -> Step:
    """The `k`-th smallest element along `dim`, counted from 1, and its index; NaN is the largest."""
    return _choice(self, dim, keepdim, functools.partial(_kth, k - 1), values, indices)


def _declare_running(name: str, ufunc: np.ufunc, summary: str) -> None:
    @kernel(f"aten::{name}.out")
    @inferred(rules.cummax, kinds=_ORDERED, outs=2)
    def prepare(ctx: PrepareContext, self: Tensor, dim: int, values: Tensor, indices: Tensor) -> Step:
        return evaluated(functools.partial(_running, ufunc, dim), (self,), (values, indices))

    prepare.__doc__ = (
        f"{summary} along ``dim``, NaN from the first NaN on, and the last index of each. Allocates both."
    )


def _running(ufunc: np.ufunc, axis: int, array: Array) -> tuple[Array, Array]:
    if not array.ndim:
        return array, np.zeros((), np.int64)
    values: Array = ufunc.accumulate(array, axis)
    shape = [1] * array.ndim
    shape[axis] = array.shape[axis]
    places: Array = np.arange(array.shape[axis], dtype=np.int64).reshape(shape)
    hit = (array == values) | _is_nan(array)
    return values, np.maximum.accumulate(np.where(hit, places, 0), axis)


_declare_running("cummax", np.maximum, "The largest element so far")
_declare_running("cummin", np.minimum, "The smallest element so far")


@kernel("aten::logcumsumexp.out", "aten::_logcumsumexp.out")
@inferred(rules.logcumsumexp, kinds=(FLOAT, COMPLEX))
def logcumsumexp_out(ctx: PrepareContext, self: Tensor, dim: int, out: Tensor) -> Step:
    """The logarithm of the running sum of exponentials along `dim`. Allocates the result."""
    if self.sizes and self.scalar_type.is_complex:
        ctx.work(8 * CALL * self.sizes[dim])
    return evaluated(functools.partial(_log_sums, dim), (self,), (out,))


def _log_sums(axis: int, array: Array) -> Array:
    if not array.ndim:
        return array
    if array.dtype.kind != "c":
        return np.logaddexp.accumulate(array, axis)
    # One element after the other, as torch: the imaginary part goes on beyond pi.
    lines = np.moveaxis(array, axis, 0)
    result = np.empty_like(lines)
    result[0] = lines[0]
    for at in range(1, len(lines)):
        result[at] = log_add(lines[at], result[at - 1])
    return np.moveaxis(result, 0, axis)


def _search(
    ctx: PrepareContext,
    sequence: Tensor,
    values: Tensor | Scalar,
    right: bool,
    sorter: Tensor | None,
    out: Tensor,
) -> Step:
    given = [tensor for tensor in (sequence, values, sorter) if isinstance(tensor, Tensor)]
    number = None if isinstance(values, Tensor) else np.array(values).astype(wide(sequence))
    compute = functools.partial(_places, ctx, "right" if right else "left", number, sorter is not None)
    return evaluated(compute, given, (out,))


def _places(
    ctx: PrepareContext,
    side: Literal["left", "right"],
    number: Array | None,
    has_sorter: bool,
    *arrays: Array,
) -> Array:
    sequence = arrays[0]
    values = arrays[1] if number is None else number
    if has_sorter:
        check_range(ctx, arrays[-1], 0, sequence.shape[-1], "sorter")
        sequence = np.take_along_axis(sequence, arrays[-1], -1)
    if sequence.ndim == 1:
        found: Array = np.asarray(np.searchsorted(sequence, values, side))
        rows: Array = sequence[None]
    else:
        rows = sequence.reshape(math.prod(sequence.shape[:-1]), sequence.shape[-1])
        lines = values.reshape(len(rows), -1)
        pairs = zip(rows, lines, strict=True)
        found = np.array([np.searchsorted(row, line, side) for row, line in pairs], np.int64).reshape(
            values.shape
        )
    # To torch a NaN is above everything, other NaNs too.
    return np.where(_is_nan(values), rows.shape[-1], found) if values.dtype.kind == "f" else found


@kernel("aten::searchsorted.Tensor_out")
@inferred(searchsorted, kinds=_NUMBERS)
def searchsorted_out(
    ctx: PrepareContext,
    sorted_sequence: Tensor,
    self: Tensor,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Tensor | None,
    out: Tensor,
) -> Step:
    """Insertion points of the elements of `self` in the sorted last dimension of `sorted_sequence`, before or after
    their equals. Allocates the result.
    """
    return _search(ctx, sorted_sequence, self, right or side == "right", sorter, out)


@kernel("aten::searchsorted.Scalar_out")
@inferred(searchsorted, kinds=_NUMBERS)
def searchsorted_scalar_out(
    ctx: PrepareContext,
    sorted_sequence: Tensor,
    self: Scalar,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Tensor | None,
    out: Tensor,
) -> Step:
    """Insertion point of the number `self` in the sorted vector, before or after its equals."""
    return _search(ctx, sorted_sequence, self, right or side == "right", sorter, out)


@kernel("aten::bucketize.Tensor_out")
@inferred(bucketize, kinds=_NUMBERS)
def bucketize_out(
    ctx: PrepareContext, self: Tensor, boundaries: Tensor, out_int32: bool, right: bool, out: Tensor
) -> Step:
    """The bucket between sorted `boundaries` of each element. Allocates the result."""
    return _search(ctx, boundaries, self, right, None, out)


@kernel("aten::bucketize.Scalar_out")
@inferred(bucketize, kinds=_NUMBERS)
def bucketize_scalar_out(
    ctx: PrepareContext, self: Scalar, boundaries: Tensor, out_int32: bool, right: bool, out: Tensor
) -> Step:
    """The bucket between sorted `boundaries` of a number."""
    return _search(ctx, boundaries, self, right, None, out)
