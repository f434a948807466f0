"""Order statistics, by sorting, and searches in sorted sequences, by counting."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import (
    Chain,
    Reason,
    Size,
    decomposes,
    is_static,
    meta,
    numel,
)
from et_ops.dtypes import I32, I64

_COMPARISONS = 1 << 20
"""As many comparisons at once are worth a search without a kernel for it."""


@decomposes(Reason.FEWER, aten.SortStableOp)
def sort_stable(b: Chain, op: aten.SortStableOp) -> Sequence[SSAValue] | None:
    """A sort, unless equal elements have to keep their order."""
    if op.stable:
        return None
    return b.results(aten.SortOp, op.self, op.dim, op.descending)


Pair = tuple[SSAValue, SSAValue]


def _at(b: Chain, pair: Sequence[SSAValue], dim: int, index: Size, keepdim: bool) -> Pair:
    """Values and indices at one place of a dimension."""
    value, place = (b(aten.SelectIntOp, x, dim, index) for x in pair)
    return _kept(b, (value, place), dim) if keepdim else (value, place)


def _kept(b: Chain, pair: Pair, dim: int) -> Pair:
    return b(aten.UnsqueezeOp, pair[0], dim), b(aten.UnsqueezeOp, pair[1], dim)


def _only(b: Chain, x: SSAValue) -> Pair:
    """Search in a rank-0 tensor."""
    return x, b.scalar(0, I64)


@decomposes(Reason.NONE, aten.KthvalueOp)
def kthvalue(b: Chain, op: aten.KthvalueOp) -> Pair | None:
    x, k = op.self, op.k
    if not meta(x).rank:
        return _only(b, x)
    dim = op.dim % meta(x).rank
    if meta(x).shape[dim] == 0:
        return None
    return _at(b, b.results(aten.SortOp, x, dim), dim, b.compute("sub", k, 1), op.keepdim)


@decomposes(Reason.NONE, aten.MedianDimOp)
def median_dim(b: Chain, op: aten.MedianDimOp) -> Pair | None:
    return _median(b, op.self, op.dim, op.keepdim)


@decomposes(Reason.NONE, aten.NanmedianDimOp)
def nanmedian_dim(b: Chain, op: aten.NanmedianDimOp) -> Pair | None:
    return _nanmedian(b, op.self, op.dim, op.keepdim)


@decomposes(Reason.NONE, aten.MedianOp, aten.NanmedianOp)
def median(b: Chain, op: aten.MedianOp | aten.NanmedianOp) -> SSAValue | None:
    """Where sizes are known at run time only, there have to be elements: of none, a kernel cannot select one."""
    x = op.self
    if is_static(x) and not numel(x):
        return b.scalar(math.nan, meta(x).dtype) if meta(x).dtype.is_float else None
    of = _median if isinstance(op, aten.MedianOp) else _nanmedian
    found = of(b, b.flat(x), 0, False)
    return None if found is None else found[0]


def _median(b: Chain, x: SSAValue, dim: int, keepdim: bool) -> Pair | None:
    """The lower one of two in the middle; NaN if there is one."""
    if not meta(x).rank:
        return _only(b, x)
    dim %= meta(x).rank
    if meta(x).shape[dim] == 0:
        return None
    middle = b.compute("floordiv", b.compute("sub", b.size(x, dim), 1), 2)
    value, place = _at(b, b.results(aten.SortOp, x, dim), dim, middle, keepdim)
    if not meta(x).dtype.is_float:
        return value, place
    # The largest is NaN if any is.
    last, where = b.results(aten.MaxDimOp, x, dim, keepdim)
    nan = b(aten.IsnanOp, last)
    return b(aten.WhereSelfOp, nan, last, value), b(aten.WhereSelfOp, nan, where, place)


def _nanmedian(b: Chain, x: SSAValue, dim: int, keepdim: bool) -> Pair | None:
    """The median of what is a number; NaN is sorted behind it."""
    if not meta(x).rank or not meta(x).dtype.is_float:
        return _median(b, x, dim, keepdim)
    dim %= meta(x).rank
    if meta(x).shape[dim] == 0:
        return None
    found = b.results(aten.SortOp, x, dim)
    there = b(aten.SumDimIntListOp, b(aten.LogicalNotOp, b(aten.IsnanOp, x)), (dim,), True)
    middle = b(aten.DivScalarModeOp, b(aten.SubScalarOp, there, 1), 2, rounding_mode="trunc")
    value, place = (b(aten.GatherOp, y, dim, middle) for y in found)
    if keepdim:
        return value, place
    return b(aten.SqueezeDimsOp, value, (dim,)), b(aten.SqueezeDimsOp, place, (dim,))


# -- searches


def _count(b: Chain, sequence: SSAValue, x: SSAValue, *, right: bool, narrow: bool) -> SSAValue:
    """The number of elements of sequences, along their last dimension, before each of `x` along its last."""
    places = b(aten.UnsqueezeOp, sequence, -2) if meta(sequence).rank > 1 else sequence
    # A NaN lies behind everything, so what is asked is which elements do not lie behind.
    behind = b(aten.GtTensorOp if right else aten.GeTensorOp, places, b(aten.UnsqueezeOp, x, -1))
    found = b(aten.SumDimIntListOp, b(aten.LogicalNotOp, behind), (-1,))
    return b.to(found, I32) if narrow else found


def _countable(sequence: SSAValue, x: SSAValue) -> bool:
    rank = meta(sequence).rank
    return (
        rank > 0
        and is_static(sequence, x)
        and (rank == 1 or meta(x).rank == rank)
        and numel(x) * meta(sequence).shape[-1] <= _COMPARISONS
    )


@decomposes(Reason.NONE, aten.BucketizeTensorOp)
def bucketize(b: Chain, op: aten.BucketizeTensorOp) -> SSAValue | None:
    """By comparisons, however many there are, where a size is known at run time only: nothing else takes that."""
    if is_static(op.boundaries, op.self) and not _countable(op.boundaries, op.self):
        return None
    return _count(b, op.boundaries, op.self, right=op.right, narrow=op.out_int32)


@decomposes(Reason.KERNEL, aten.SearchsortedTensorOp)
def searchsorted(b: Chain, op: aten.SearchsortedTensorOp) -> SSAValue | None:
    sequence = op.sorted_sequence
    if not _countable(sequence, op.self):
        return None
    if op.sorter is not None:
        sequence = b(aten.GatherOp, sequence, -1, op.sorter)
    right = op.right or op.side == "right"
    return _count(b, sequence, op.self, right=right, narrow=op.out_int32)


@decomposes(Reason.KERNEL, aten.SearchsortedScalarOp)
def searchsorted_scalar(b: Chain, op: aten.SearchsortedScalarOp) -> SSAValue | None:
    x, sequence = op.arg("self"), op.sorted_sequence
    if isinstance(x, SSAValue) or meta(sequence).rank != 1 or not is_static(sequence):
        return None
    if op.sorter is not None:
        sequence = b(aten.GatherOp, sequence, -1, op.sorter)
    right = op.right or op.side == "right"
    behind = b(aten.GtScalarOp if right else aten.GeScalarOp, sequence, x)
    found = b(aten.SumDimIntListOp, b(aten.LogicalNotOp, behind), ())
    return b.to(found, I32) if op.out_int32 else found


@decomposes(Reason.NONE, aten.BucketizeScalarOp)
def bucketize_scalar(b: Chain, op: aten.BucketizeScalarOp) -> SSAValue | None:
    x = op.arg("self")
    if isinstance(x, SSAValue) or meta(op.boundaries).rank != 1:
        return None
    behind = b(aten.GtScalarOp if op.right else aten.GeScalarOp, op.boundaries, x)
    found = b(aten.SumDimIntListOp, b(aten.LogicalNotOp, behind), ())
    return b.to(found, I32) if op.out_int32 else found
