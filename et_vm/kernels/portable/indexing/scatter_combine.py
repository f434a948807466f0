"""Scattering that combines what goes to one place with what is there."""

from __future__ import annotations

import functools

import numpy as np

from et_vm.kernels.portable.arguments import BOOL, check_rank, check_type, checked_constant, dimension
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.indexing.index import check_index, check_range
from et_vm.kernels.portable.indexing.scatter import divide_counts, identity, scatter
from et_vm.kernels.portable.promotion import kind
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor

_OPERATIONS = {"add": np.add, "multiply": np.multiply}
_REDUCTIONS = {"mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _combined(
    ctx: PrepareContext,
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor | Array,
    reduce: str,
    out: Tensor,
) -> Step:
    ufunc = _OPERATIONS.get(reduce)
    if ufunc is None:
        raise ctx.trap(arg="reduce", expected="'add' or 'multiply'", got=repr(reduce))

    def combine(flat: Array, positions: Array, values: Array) -> list[Step]:
        return [(ufunc.at, (flat, positions, values))]

    return scatter(ctx, self, dim, index, source, combine, out)


@kernel("aten::scatter.reduce_out")
def scatter_reduce_src_out(
    ctx: PrepareContext, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, out: Tensor
) -> Step:
    """``out[index[i][j]][j]`` plus or times ``src[i][j]`` for ``dim`` 0, and so on. Scratch: as for scatter."""
    return _combined(ctx, self, dim, index, src, reduce, out)


@kernel("aten::scatter.value_reduce_out")
def scatter_reduce_value_out(
    ctx: PrepareContext, self: Tensor, dim: int, index: Tensor, value: Scalar, reduce: str, out: Tensor
) -> Step:
    """``out[index[i][j]][j]`` plus or times ``value`` for ``dim`` 0, and so on. Scratch: as for scatter."""
    number = checked_constant(ctx, value, self.scalar_type, arg="value")
    return _combined(ctx, self, dim, index, number, reduce, out)


@kernel("aten::index_reduce.out")
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
    """Slices of ``source`` that go to one index along ``dim`` are combined by ``reduce`` (mean, prod, amax, amin),
    with what is there already if ``include_self``. Allocates the result.
    """
    ctx.check(reduce in _REDUCTIONS, arg="reduce", expected=", ".join(_REDUCTIONS), got=repr(reduce))
    good = kind(self.scalar_type) != BOOL and not self.scalar_type.is_complex
    ctx.check(good, arg="self", expected="a tensor of integer or float type", got=self.scalar_type.torch_name)
    check_type(ctx, self.scalar_type, source, arg="source")
    check_type(ctx, self.scalar_type, out, arg="out")
    check_index(ctx, index, arg="index")
    check_rank(ctx, index, 0, 1, arg="index")
    axis = dimension(ctx, dim, len(self.sizes))
    wanted = [*self.sizes] if self.sizes else [1]
    wanted[axis] = index.numel
    good = list(source.sizes or (1,)) == wanted
    ctx.check(good, arg="source", expected=f"shape {wanted}", got=list(source.sizes))
    out.resize(self.sizes)
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
