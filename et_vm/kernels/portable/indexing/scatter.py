"""Writes by index into copies of tensors. Operators whose name ends in an underscore write into the tensor itself."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from et_ops.inference import indexing as rules
from et_ops.inference import reshaping
from et_ops.inference.creation import masked_scatter
from et_vm.kernels.portable.arguments import FLOAT, INTEGER, check_type, constant, dimension
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.indexing.index import (
    check_indices,
    check_range,
    flat_positions,
    guarded,
    index_strides,
    numpy_index,
)
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.movement.move import move, moves
from et_vm.kernels.portable.movement.views import select_view, slice_view
from et_vm.kernels.portable.steps import call, chain, copy, filled, overlaps
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


def _apart(ctx: PrepareContext, array: Array, out: Array) -> tuple[list[Step], Array]:
    """`array`, saved to scratch when writing `out` could change it."""
    if not overlaps(array, out):
        return [], array
    saved = ctx.scratch(array.shape, array.dtype)
    return [copy(array, saved)], saved


def scatter(
    ctx: PrepareContext,
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor | Array,
    write: Callable[[Array, Array, Array], list[Step]],
    out: Tensor,
) -> Step:
    """Copy `self`, then let `write(flat, positions, values)` write into the flattened copy. Scratch:
    one int64 per index, sources in the memory of `out`, and a result that is not contiguous.
    """
    if not index.numel:
        return move(ctx, self.array, out.array)
    if isinstance(source, Tensor):
        extent = tuple(slice(size) for size in index.sizes or (1,))
        source = source.array.reshape(source.sizes or (1,))[extent].reshape(index.sizes)
    calls, values = _apart(ctx, source, out.array)
    target = out.array if out.array.flags.c_contiguous else ctx.scratch(out.sizes, out.dtype)
    shape = self.sizes or (1,)
    axis = dimension(ctx, dim, len(shape))
    if index.sizes:
        positions_calls, positions = flat_positions(ctx, index, axis, shape, index_strides(shape), "index")
    else:
        positions = ctx.scratch((), np.intp)
        check = (check_range, (ctx, index.array, 0, shape[axis], "index"))
        positions_calls = [check, copy(index.array, positions)]
    # The index may share memory with the output: it is read before anything is written.
    calls += [*positions_calls, *moves(ctx, self.array, target)]
    calls += write(target.reshape(-1), positions, values)
    if target is not out.array:
        calls.append(copy(target, out.array))
    return chain(calls)


def _put(flat: Array, positions: Array, values: Array) -> list[Step]:
    return [(flat.put, (positions, values, "wrap"))]


@kernel("aten::scatter.src_out", any_layout=True, any_type=True)
@inferred(rules.scatter)
def scatter_src_out(
    ctx: PrepareContext, self: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor
) -> Step:
    """`out[index[i][j]][j] = src[i][j]` for `dim` 0, and so on. The step traps on an index out of
    range.
    """
    return scatter(ctx, self, dim, index, src, _put, out)


@kernel("aten::scatter.value_out", any_layout=True, any_type=True)
@inferred(rules.scatter_value)
def scatter_value_out(
    ctx: PrepareContext, self: Tensor, dim: int, index: Tensor, value: Scalar, out: Tensor
) -> Step:
    """`out[index[i][j]][j] = value` for `dim` 0, and so on. The step traps on an index out of range."""
    number = constant(value, self.scalar_type)
    return scatter(ctx, self, dim, index, number, _put, out)


@kernel("aten::scatter_add.out")
@inferred(rules.scatter)
def scatter_add_out(
    ctx: PrepareContext, self: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor
) -> Step:
    """`out[index[i][j]][j] += src[i][j]` for `dim` 0, and so on. The step traps on an index out of
    range.
    """

    def add(flat: Array, positions: Array, values: Array) -> list[Step]:
        return [(np.add.at, (flat, positions, values))]

    return scatter(ctx, self, dim, index, src, add, out)


_REDUCTIONS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


@kernel("aten::scatter_reduce.two_out")
@inferred(rules.scatter_reduce)
def scatter_reduce_out(
    ctx: PrepareContext,
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    out: Tensor,
) -> Step:
    """Elements of `src` that go to one place are combined by `reduce` (sum, prod, mean, amax, amin),
    with what is there already if `include_self`. Scratch: as for scatter, and the counts for a mean.
    """
    ufunc = _REDUCTIONS[reduce]

    def combine(flat: Array, positions: Array, values: Array) -> list[Step]:
        calls: list[Step] = []
        if not include_self:
            calls.append((flat.put, (positions, identity(ufunc, flat), "wrap")))
        calls.append((ufunc.at, (flat, positions, values)))
        if reduce == "mean":
            counts = ctx.scratch(flat.shape, np.int64)
            one = filled(counts.dtype, 1)
            calls.append(copy(filled(counts.dtype, 1 if include_self else 0), counts))
            calls.append((np.add.at, (counts, positions, one)))
            calls.append(call(np.maximum, counts, one, counts))
            calls.append((divide_counts, (flat, counts)))
        return calls

    return scatter(ctx, self, dim, index, src, combine, out)


def divide_counts(flat: Array, counts: Array) -> None:
    """Sums to means in place; of integers rounded down."""
    if flat.dtype.kind in "iu":
        np.floor_divide(flat, counts.astype(flat.dtype), flat)
    else:
        np.divide(flat, counts.astype(flat.dtype), flat)


def identity(ufunc: np.ufunc, flat: Array) -> Array:
    """The neutral element of `ufunc`."""
    if ufunc is np.add:
        return filled(flat.dtype, 0)
    if ufunc is np.multiply:
        return filled(flat.dtype, 1)
    if flat.dtype.kind in "iu":
        info = np.iinfo(flat.dtype)
        return filled(flat.dtype, info.min if ufunc is np.maximum else info.max)
    if flat.dtype.kind == "b":
        return filled(flat.dtype, ufunc is np.minimum)
    return filled(flat.dtype, -math.inf if ufunc is np.maximum else math.inf)


def _store_into(
    ctx: PrepareContext, self: Tensor, src: Tensor, view_of: Callable[[Array], Array], out: Tensor
) -> Step:
    """Copy `self`, then `src` over a view of the copy. Scratch: `src` when it lies in the memory of
    `out`.
    """
    calls, values = _apart(ctx, src.array, out.array)
    calls += [*moves(ctx, self.array, out.array), *moves(ctx, values, view_of(out.array))]
    return chain(calls)


@kernel("aten::select_scatter.out", any_type=True)
@inferred(reshaping.select_scatter, same_type=True)
def select_scatter_out(
    ctx: PrepareContext, self: Tensor, src: Tensor, dim: int, index: int, out: Tensor
) -> Step:
    """`self` with `src` in place of its slice `index` along `dim`."""
    return _store_into(ctx, self, src, lambda array: select_view(array, dim, index), out)


@kernel("aten::slice_scatter.out", any_type=True)
@inferred(reshaping.slice_scatter, same_type=True)
def slice_scatter_out(
    ctx: PrepareContext,
    self: Tensor,
    src: Tensor,
    dim: int,
    start: int | None,
    end: int | None,
    step: int,
    out: Tensor,
) -> Step:
    """`self` with `src` in place of its elements `start:end:step` along `dim`."""
    return _store_into(ctx, self, src, lambda array: slice_view(array, dim, start, end, step), out)


def _index_put(
    ctx: PrepareContext,
    self: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool,
    target: Array,
) -> Step:
    calls, source = _apart(ctx, values.array, target)
    taken: list[Tensor | None] = []
    for index in indices:
        if index is not None and overlaps(index.array, target):
            raise ctx.trap(
                arg="indices", expected="a tensor apart from the output", got="one that overlaps it"
            )
        taken.append(index)
    put = _accumulate if accumulate else _assign
    calls += moves(ctx, self.array, target)
    calls.append(guarded(ctx, "indices", put, target, taken, source))
    return chain(calls)


def _assign(target: Array, indices: Sequence[Tensor | None], values: Array) -> None:
    target[numpy_index(indices)] = values


def _accumulate(target: Array, indices: Sequence[Tensor | None], values: Array) -> None:
    np.add.at(target, numpy_index(indices), values)


@kernel("aten::index_put.out")
def index_put_out(
    ctx: PrepareContext,
    self: Tensor,
    indices: list[Tensor | None],
    values: Tensor,
    accumulate: bool,
    out: Tensor,
) -> Step:
    """`self` with `values`, broadcast, at `indices` (read as by index), or added there. The step
    traps on an index out of range. Scratch: `values` when they lie in the memory of `out`.
    """
    for arg, tensor in (("values", values), ("out", out)):
        check_type(ctx, self.scalar_type, tensor, arg=arg)
    check_indices(ctx, self, indices)
    out.resize(self.sizes)
    return _index_put(ctx, self, indices, values, accumulate, out.array)


@kernel("aten::index_put_")
def index_put_(
    ctx: PrepareContext, self: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool
) -> Step:
    """Write `values`, broadcast, into `self` at `indices`, or add them there. The step traps on an
    index out of range.
    """
    ctx.check(not self.constant, arg="self", expected="a mutable tensor", got="a constant")
    check_type(ctx, self.scalar_type, values, arg="values")
    check_indices(ctx, self, indices)
    return _index_put(ctx, self, indices, values, accumulate, self.array)


@kernel("aten::masked_scatter.out", any_type=True)
@inferred(masked_scatter)
def masked_scatter_out(ctx: PrepareContext, self: Tensor, mask: Tensor, source: Tensor, out: Tensor) -> Step:
    """`self` with the elements at which `mask` is true replaced by those of `source` in order. The
    step traps when there are not enough. Scratch: `source` when it lies in the memory of `out`.
    """
    shape = out.sizes
    calls, values = _apart(ctx, source.array, out.array)
    more, chosen = _apart(ctx, np.broadcast_to(mask.array, shape), out.array)
    calls += [
        *more,
        *moves(ctx, np.broadcast_to(self.array, shape), out.array),
        (functools.partial(_fill_masked, ctx), (out.array, chosen, values)),
    ]
    return chain(calls)


def _fill_masked(ctx: PrepareContext, target: Array, mask: Array, source: Array) -> None:
    count = int(np.count_nonzero(mask))
    if count > source.size:
        raise ctx.trap(arg="source", expected=f"at least {count} elements", got=source.size)
    target[mask] = source.reshape(-1)[:count]


_OPERATIONS = {"add": np.add, "multiply": np.multiply}


def _combined(
    ctx: PrepareContext,
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor | Array,
    reduce: str,
    out: Tensor,
) -> Step:
    ufunc = _OPERATIONS[reduce]

    def combine(flat: Array, positions: Array, values: Array) -> list[Step]:
        return [(ufunc.at, (flat, positions, values))]

    return scatter(ctx, self, dim, index, source, combine, out)


@kernel("aten::scatter.reduce_out")
@inferred(rules.scatter_combined)
def scatter_reduce_src_out(
    ctx: PrepareContext, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, out: Tensor
) -> Step:
    """`out[index[i][j]][j]` plus or times `src[i][j]` for `dim` 0, and so on. Scratch: as for scatter."""
    return _combined(ctx, self, dim, index, src, reduce, out)


@kernel("aten::scatter.value_reduce_out")
@inferred(rules.scatter_value_combined)
def scatter_reduce_value_out(
    ctx: PrepareContext, self: Tensor, dim: int, index: Tensor, value: Scalar, reduce: str, out: Tensor
) -> Step:
    """`out[index[i][j]][j]` plus or times `value` for `dim` 0, and so on. Scratch: as for scatter."""
    number = constant(value, self.scalar_type)
    return _combined(ctx, self, dim, index, number, reduce, out)


@kernel("aten::index_reduce.out")
@inferred(rules.index_reduce, kinds=(INTEGER, FLOAT))
def index_reduce_out(
    ctx: PrepareContext,
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    include_self: bool,
    out: Tensor,
) -> Step:
    """Slices of `source` that go to one index along `dim` are combined by `reduce` (mean, prod, amax, amin),
    with what is there already if `include_self`. Allocates the result.
    """
    axis = dimension(ctx, dim, len(self.sizes))
    return evaluated(
        functools.partial(_reduced, ctx, axis, reduce, include_self), (self, index, source), (out,)
    )


def _reduced(
    ctx: PrepareContext, axis: int, reduce: str, include_self: bool, array: Array, index: Array, source: Array
) -> Array:
    ufunc = _REDUCTIONS[reduce]
    result = np.atleast_1d(array).copy()
    lines, given, places = (
        np.moveaxis(result, axis, 0),
        np.moveaxis(np.atleast_1d(source), axis, 0),
        index.reshape(-1),
    )
    check_range(ctx, places, 0, len(lines), "index")
    if not include_self:
        lines[places] = identity(ufunc, lines)
    ufunc.at(lines, places, given)
    if reduce == "mean":
        counts = np.full(len(lines), int(include_self)) + np.bincount(places, minlength=len(lines))
        whole = np.maximum(counts, 1).reshape((-1,) + (1,) * (lines.ndim - 1))
        divide_counts(lines, np.broadcast_to(whole, lines.shape))
    return result.reshape(array.shape)


@kernel("aten::put.out")
@inferred(rules.put)
def put_out(
    ctx: PrepareContext, self: Tensor, index: Tensor, source: Tensor, accumulate: bool, out: Tensor
) -> Step:
    """`self` with the elements of `source` at the places `index`, negative ones from the end; of several for one
    place the last, or with `accumulate` their sum and that of what was there. Allocates the result.
    """
    count = self.numel

    def compute(array: Array, places: Array, values: Array) -> Array:
        check_range(ctx, places, -count, count, "index")
        made: Array = array.reshape(-1).copy()
        at = np.where(places < 0, places + count, places).reshape(-1)
        if accumulate:
            np.add.at(made, at, values.reshape(-1))
        else:
            made[at] = values.reshape(-1)
        return made.reshape(array.shape)

    return evaluated(compute, (self, index, source), (out,))
