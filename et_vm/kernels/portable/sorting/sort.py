"""Sorting, and the largest elements."""

from __future__ import annotations

import numpy as np

from et_ops.inference import reductions as rules
from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.arguments import BOOL, FLOAT, INTEGER, dimension
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.portable.steps import chain, copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


def _order(array: Array, descending: bool) -> Array:
    """Indices that sort the last axis, equal elements in their order; NaN is greater than everything."""
    if not descending:
        return np.argsort(array, axis=-1, kind="stable")
    # Sorting the reverse and reversing the result keeps equal elements in their order.
    found = np.argsort(array[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    return array.shape[-1] - 1 - found


def _largest(array: Array, count: int, descending: bool) -> Array:
    """Indices of the first `count` elements in order. Long rows are partitioned before the few are
    sorted.
    """
    length = array.shape[-1]
    if length < 1024 or count * 8 > length or array.dtype.kind not in "fiu":
        return _order(array, descending)[..., :count]
    keys = _ascending_keys(array) if descending else array
    few = np.argpartition(keys, count, axis=-1)[..., :count]
    few.sort(axis=-1)
    within = np.argsort(np.take_along_axis(keys, few, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(few, within, axis=-1)


def _ascending_keys(array: Array) -> Array:
    """Keys whose ascending order is the descending one of `array`, NaN first."""
    if array.dtype.kind == "f":
        return np.where(np.isnan(array), -np.inf, -array)
    return ~array


def _write(array: Array, axis: int, count: int, descending: bool, values: Array, indices: Array) -> None:
    """Allocates the order and the keys that numpy sorts."""
    lines = np.moveaxis(array, axis, -1)
    order = _largest(lines, count, descending) if count < lines.shape[-1] else _order(lines, descending)
    np.copyto(np.moveaxis(indices, axis, -1), order)
    np.copyto(np.moveaxis(values, axis, -1), np.take_along_axis(lines, order, axis=-1), "unsafe")


def _sorted(
    ctx: PrepareContext, self: Tensor, dim: int, descending: bool, values: Tensor, indices: Tensor
) -> Step:
    if not self.sizes:
        return chain([copy(self.array, values.array), copy(filled(indices.dtype, 0), indices.array)])
    array = self.array
    calls: list[Step] = []
    compute = numpy_dtype(arithmetic(self.scalar_type))
    if self.dtype != compute:
        array = ctx.scratch(self.sizes, compute)
        calls.append(copy(self.array, array))
    axis = dimension(ctx, dim, array.ndim)
    calls.append((_write, (array, axis, values.sizes[axis], descending, values.array, indices.array)))
    return chain(calls)


_ORDERED = (BOOL, INTEGER, FLOAT)


@kernel("aten::topk.values", any_layout=True)
@inferred(rules.topk, kinds=_ORDERED, outs=2)
def topk_out(
    ctx: PrepareContext,
    self: Tensor,
    k: int,
    dim: int,
    largest: bool,
    sorted: bool,
    values: Tensor,
    indices: Tensor,
) -> Step:
    """The `k` largest (or smallest) along `dim` in order, and their indices; NaN is largest. Scratch: a
    float32 copy of a 16-bit input; numpy allocates the order.
    """
    return _sorted(ctx, self, dim, largest, values, indices)


@kernel("aten::sort.values")
@inferred(rules.sort, kinds=_ORDERED, outs=2)
def sort_out(
    ctx: PrepareContext, self: Tensor, dim: int, descending: bool, values: Tensor, indices: Tensor
) -> Step:
    """Sorted along `dim`, and the indices; equal elements keep their order, NaN is largest. Scratch: as
    for topk.
    """
    return _sorted(ctx, self, dim, descending, values, indices)


@kernel("aten::sort.values_stable")
@inferred(rules.sort_stable, kinds=_ORDERED, outs=2)
def sort_stable_out(
    ctx: PrepareContext,
    self: Tensor,
    stable: bool | None,
    dim: int,
    descending: bool,
    values: Tensor,
    indices: Tensor,
) -> Step:
    """Sorted along `dim`, and the indices; equal elements keep their order, NaN is largest. Scratch: as
    for topk.
    """
    return _sorted(ctx, self, dim, descending, values, indices)
