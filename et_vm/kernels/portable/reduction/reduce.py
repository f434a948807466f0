"""Reductions over dimensions, and running sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from et_ops.inference.shapes import reduced
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import (
    BOOL,
    COMPLEX,
    FLOAT,
    INTEGER,
    check_kinds,
    check_out_type,
    check_type,
    dimension,
    dimensions,
)
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.promotion import arithmetic, can_cast, floating, kind, real_of
from et_vm.kernels.portable.reduction import complex_reduce
from et_vm.kernels.portable.steps import NOTHING, call, cast, chain, copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, DType, Tensor


def _kept(out: Tensor, sizes: tuple[int, ...], axes: Sequence[int]) -> Array:
    """`out` seen with the reduced dimensions kept as ones: always a view."""
    return out.array.reshape(reduced(sizes, axes, True))


def _sizes(array: Array, out: Array) -> None:
    np.copyto(out, np.absolute(array), "unsafe")


def _accumulate(
    ctx: PrepareContext, out: Tensor, target: Array, dtype: DType, calls_into: Callable[[Array], list[Step]]
) -> Step:
    """The calls that compute into `target`, by way of scratch when its type is not the accumulating
    `dtype`.
    """
    if target.dtype == dtype:
        return chain(calls_into(target))
    wide = ctx.scratch(target.shape, dtype)
    return chain([*calls_into(wide), *cast(ctx, wide, target)])


def _explicit(
    ctx: PrepareContext, dtype: int | None, default: ScalarType, out: Tensor, *, anything: bool = True
) -> ScalarType:
    """The type to accumulate in: `dtype`, which `out` must have, or without one the type of `out`, as in torch.

    Unless `anything` goes, a result of type `default` must cast to `out`.
    """
    if dtype is not None:
        check_type(ctx, ScalarType(dtype), out, arg="out")
    elif not anything or default.is_complex or not can_cast(ScalarType.BOOL, out.scalar_type):
        check_out_type(ctx, default, out)
    return out.scalar_type


def _sum(
    ctx: PrepareContext,
    self: Tensor,
    dim: Sequence[int] | None,
    keepdim: bool,
    dtype: int | None,
    out: Tensor,
    *,
    mean: bool,
) -> Step:
    axes = dimensions(ctx, dim, len(self.sizes))
    if mean and dtype is None:
        check_kinds(ctx, self.scalar_type, (FLOAT, COMPLEX), arg="self")
    default = self.scalar_type if mean or kind(self.scalar_type) >= FLOAT else ScalarType.LONG
    result = _explicit(ctx, dtype, default, out, anything=not mean)
    if mean:
        check_kinds(ctx, result, (FLOAT, COMPLEX), arg="out" if dtype is None else "dtype")
    out.resize(reduced(self.sizes, axes, keepdim))
    if not out.array.size:
        return NOTHING
    compute = numpy_dtype(arithmetic(result))
    count = filled(compute, math.prod(self.sizes[axis] for axis in axes))

    def into(target: Array) -> list[Step]:
        calls: list[Step] = [(np.add.reduce, (self.array, axes, compute, target, True))]
        return [*calls, call(np.divide, target, count, target)] if mean else calls

    return _accumulate(ctx, out, _kept(out, self.sizes, axes), compute, into)


@kernel("aten::sum.IntList_out")
def sum_out(
    ctx: PrepareContext, self: Tensor, dim: list[int] | None, keepdim: bool, dtype: int | None, out: Tensor
) -> Step:
    """Sum over `dim` (all when empty); of integers and bools an int64. Scratch: the result when its type
    is 16-bit.
    """
    return _sum(ctx, self, dim, keepdim, dtype, out, mean=False)


@kernel("aten::sum.out")
def sum_all_out(ctx: PrepareContext, self: Tensor, dtype: int | None, out: Tensor) -> Step:
    """Sum of all elements; of integers and bools an int64."""
    return _sum(ctx, self, None, False, dtype, out, mean=False)


@kernel("aten::mean.out")
def mean_out(
    ctx: PrepareContext, self: Tensor, dim: list[int] | None, keepdim: bool, dtype: int | None, out: Tensor
) -> Step:
    """Mean over `dim` (all when empty), of floats. Scratch: the result when its type is 16-bit."""
    return _sum(ctx, self, dim, keepdim, dtype, out, mean=True)


@kernel("aten::mean.dtype_out")
def mean_all_out(ctx: PrepareContext, self: Tensor, dtype: int | None, out: Tensor) -> Step:
    """Mean of all elements, of floats."""
    return _sum(ctx, self, None, False, dtype, out, mean=True)


def _prod(
    ctx: PrepareContext,
    self: Tensor,
    axes: tuple[int, ...],
    keepdim: bool,
    dtype: int | None,
    out: Tensor,
    *,
    exact: bool = False,
) -> Step:
    default = self.scalar_type if kind(self.scalar_type) >= FLOAT else ScalarType.LONG
    if exact and dtype is None:
        check_type(ctx, default, out, arg="out")
    result = _explicit(ctx, dtype, default, out)
    out.resize(reduced(self.sizes, axes, keepdim))
    if not out.array.size:
        return NOTHING
    compute = numpy_dtype(arithmetic(result))
    return _accumulate(
        ctx,
        out,
        _kept(out, self.sizes, axes),
        compute,
        lambda target: [(np.multiply.reduce, (self.array, axes, compute, target, True))],
    )


@kernel("aten::prod.out")
def prod_out(ctx: PrepareContext, self: Tensor, dtype: int | None, out: Tensor) -> Step:
    """Product of all elements; of integers and bools an int64."""
    return _prod(ctx, self, tuple(range(len(self.sizes))), False, dtype, out, exact=True)


@kernel("aten::prod.int_out", any_layout=True)
def prod_int_out(
    ctx: PrepareContext, self: Tensor, dim: int, keepdim: bool, dtype: int | None, out: Tensor
) -> Step:
    """Product over `dim`; of integers and bools an int64."""
    return _prod(ctx, self, dimensions(ctx, [dim], len(self.sizes)), keepdim, dtype, out)


def _check_reducible(ctx: PrepareContext, self: Tensor, axes: Sequence[int]) -> None:
    if any(self.sizes[axis] == 0 for axis in axes):
        raise ctx.trap(arg="self", expected="elements in the reduced dimensions", got=list(self.sizes))


def _extreme(
    ctx: PrepareContext,
    ufunc: np.ufunc,
    self: Tensor,
    axes: tuple[int, ...],
    keepdim: bool,
    out: Tensor,
    *,
    converts: bool = False,
) -> Step:
    check_kinds(ctx, self.scalar_type, (BOOL, INTEGER, FLOAT), arg="self")
    _check_reducible(ctx, self, axes)
    check_result = check_out_type if converts else check_type
    check_result(ctx, self.scalar_type, out, arg="out")
    out.resize(reduced(self.sizes, axes, keepdim))
    if not out.array.size:
        return NOTHING
    compute = numpy_dtype(arithmetic(self.scalar_type))
    return _accumulate(
        ctx,
        out,
        _kept(out, self.sizes, axes),
        compute,
        lambda target: [(ufunc.reduce, (self.array, axes, compute, target, True))],
    )


def _declare_extreme(name: str, ufunc: np.ufunc) -> None:
    @kernel(f"aten::a{name}.out")
    def over_dims(ctx: PrepareContext, self: Tensor, dim: list[int], keepdim: bool, out: Tensor) -> Step:
        """The extreme over `dim` (all when empty); NaN if any is. Scratch: the result when its type is
        16-bit.
        """
        return _extreme(ctx, ufunc, self, dimensions(ctx, dim, len(self.sizes)), keepdim, out)

    @kernel(f"aten::{name}.unary_out")
    def of_all(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
        """The extreme of all elements, converted to the type of `out`; NaN if any is."""
        axes = tuple(range(len(self.sizes)))
        return _extreme(ctx, ufunc, self, axes, False, out, converts=True)


_declare_extreme("max", np.maximum)
_declare_extreme("min", np.minimum)


def _comparable(ctx: PrepareContext, self: Tensor) -> tuple[list[Step], Array]:
    """The elements in a type that numpy searches and sorts: 16-bit floats as float32 in scratch."""
    compute = numpy_dtype(arithmetic(self.scalar_type))
    if compute == self.dtype:
        return [], self.array
    wide = ctx.scratch(self.sizes, compute)
    return [copy(self.array, wide)], wide


def _search(
    ctx: PrepareContext, method: str, self: Tensor, dim: int | None, keepdim: bool, out: Tensor, *, arg: str
) -> list[Step]:
    """Calls that store into `out` the indices found by argmax or argmin."""
    check_kinds(ctx, self.scalar_type, (BOOL, INTEGER, FLOAT), arg="self")
    check_type(ctx, ScalarType.LONG, out, arg=arg)
    rank = len(self.sizes)
    axes = dimensions(ctx, None if dim is None else [dim], rank)
    _check_reducible(ctx, self, axes)
    out.resize(reduced(self.sizes, axes, keepdim))
    if not out.array.size:
        return []
    target = out.array.reshape(reduced(self.sizes, axes, False))
    if not rank:
        return [copy(filled(target.dtype, 0), target)]
    calls, array = _comparable(ctx, self)
    return [*calls, (getattr(array, method), (None if dim is None else axes[0], target))]


def _declare_search(name: str) -> None:
    @kernel(f"aten::{name}.out")
    def prepare(ctx: PrepareContext, self: Tensor, dim: int | None, keepdim: bool, out: Tensor) -> Step:
        """Index of the first extreme, or of the first NaN, along `dim` or of the flattened tensor.
        Scratch: a float32 copy of a 16-bit input.
        """
        calls = _search(ctx, name, self, dim, keepdim, out, arg="out")
        return chain(calls)


_declare_search("argmax")
_declare_search("argmin")


@kernel("aten::max.dim_max")
def max_dim_out(
    ctx: PrepareContext, self: Tensor, dim: int, keepdim: bool, max: Tensor, max_values: Tensor
) -> Step:
    """The largest along `dim` and its first index (`max_values`, as torch calls it); NaN is largest.
    Scratch: a float32 copy of a 16-bit input.
    """
    check_type(ctx, ScalarType.LONG, max_values, arg="max_values")
    step = _extreme(ctx, np.maximum, self, dimensions(ctx, [dim], len(self.sizes)), keepdim, max)
    return chain([step, *_search(ctx, "argmax", self, dim, keepdim, max_values, arg="max_values")])


@kernel("aten::min.dim_min")
def min_dim_out(
    ctx: PrepareContext, self: Tensor, dim: int, keepdim: bool, min: Tensor, min_indices: Tensor
) -> Step:
    """The smallest along `dim` and its first index; NaN is smallest. Scratch: a float32 copy of a 16-bit
    input.
    """
    check_type(ctx, ScalarType.LONG, min_indices, arg="min_indices")
    step = _extreme(ctx, np.minimum, self, dimensions(ctx, [dim], len(self.sizes)), keepdim, min)
    return chain([step, *_search(ctx, "argmin", self, dim, keepdim, min_indices, arg="min_indices")])


def _logical(
    ctx: PrepareContext, ufunc: np.ufunc, self: Tensor, axes: tuple[int, ...], keepdim: bool, out: Tensor
) -> Step:
    if out.scalar_type not in (ScalarType.BOOL, ScalarType.BYTE):
        raise ctx.trap(arg="out", expected="bool or uint8", got=out.scalar_type.torch_name)
    out.resize(reduced(self.sizes, axes, keepdim))
    if not out.array.size:
        return NOTHING
    truth = np.dtype(np.bool_)
    return _accumulate(
        ctx,
        out,
        _kept(out, self.sizes, axes),
        truth,
        lambda target: [(ufunc.reduce, (self.array, axes, truth, target, True))],
    )


def _declare_logical(name: str, ufunc: np.ufunc) -> None:
    @kernel(f"aten::{name}.all_out")
    def of_all(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
        """Over all elements; NaN counts as true."""
        return _logical(ctx, ufunc, self, tuple(range(len(self.sizes))), False, out)

    @kernel(f"aten::{name}.out")
    def over_dim(ctx: PrepareContext, self: Tensor, dim: int, keepdim: bool, out: Tensor) -> Step:
        """Over `dim`; NaN counts as true."""
        return _logical(ctx, ufunc, self, dimensions(ctx, [dim], len(self.sizes)), keepdim, out)

    @kernel(f"aten::{name}.dims_out")
    def over_dims(
        ctx: PrepareContext, self: Tensor, dim: list[int] | None, keepdim: bool, out: Tensor
    ) -> Step:
        """Over `dim`, all of them for None; of no dimension each element by itself. NaN counts as true."""
        axes = dimensions(ctx, dim, len(self.sizes), empty_is_all=False)
        return _logical(ctx, ufunc, self, axes, keepdim, out)


_declare_logical("any", np.logical_or)
_declare_logical("all", np.logical_and)


def _variance_calls(
    ctx: PrepareContext,
    self: Tensor,
    axes: tuple[int, ...],
    correction: float,
    variance: Array,
    mean: Array | None,
    *,
    root: bool,
) -> list[Step]:
    """Two passes in the arithmetic type: the mean, then the mean square of what remains."""
    compute = numpy_dtype(arithmetic(self.scalar_type))
    count = math.prod(self.sizes[axis] for axis in axes)
    kept = reduced(self.sizes, axes, True)
    centre = mean if mean is not None and mean.dtype == compute else ctx.scratch(kept, compute)
    spread = variance if variance.dtype == compute else ctx.scratch(kept, compute)
    rest = ctx.scratch(self.sizes, compute)
    calls: list[Step] = [
        (np.add.reduce, (self.array, axes, compute, centre, True)),
        call(np.divide, centre, filled(compute, count), centre),
        copy(self.array, rest),
        call(np.subtract, rest, centre, rest),
        call(np.multiply, rest, rest, rest),
        (np.add.reduce, (rest, axes, compute, spread, True)),
        call(np.divide, spread, filled(compute, max(count - correction, 0)), spread),
    ]
    if root:
        calls.append(call(np.sqrt, spread, spread))
    if spread is not variance:
        calls += cast(ctx, spread, variance)
    if mean is not None and centre is not mean:
        calls += cast(ctx, centre, mean)
    return calls


def _variance(
    ctx: PrepareContext,
    self: Tensor,
    dim: Sequence[int] | None,
    correction: float,
    keepdim: bool,
    out: Tensor,
    mean: Tensor | None = None,
    *,
    root: bool = False,
) -> Step:
    check_kinds(ctx, self.scalar_type, (FLOAT, COMPLEX), arg="self")
    axes = dimensions(ctx, dim, len(self.sizes))
    outs = [out] if mean is None else [out, mean]
    check_out_type(ctx, real_of(self.scalar_type), out)
    check_out_type(ctx, self.scalar_type, outs[-1] if mean is not None else self)
    for tensor in outs:
        tensor.resize(reduced(self.sizes, axes, keepdim))
    if not out.array.size:
        return NOTHING
    if self.scalar_type.is_complex:
        count = math.prod(self.sizes[axis] for axis in axes)
        return complex_reduce.variance(self, axes, max(count - correction, 0), root, outs)
    views = [_kept(tensor, self.sizes, axes) for tensor in outs]
    return chain(
        _variance_calls(
            ctx, self, axes, correction, views[0], views[1] if mean is not None else None, root=root
        )
    )


@kernel("aten::var.out", any_layout=True)
def var_out(
    ctx: PrepareContext, self: Tensor, dim: list[int] | None, unbiased: bool, keepdim: bool, out: Tensor
) -> Step:
    """Variance over `dim` (all when empty), divided by n - 1 if `unbiased`, else n. Scratch: a copy of
    the input.
    """
    return _variance(ctx, self, dim, 1.0 if unbiased else 0.0, keepdim, out)


@kernel("aten::var.correction_out", any_layout=True)
def var_correction_out(
    ctx: PrepareContext,
    self: Tensor,
    dim: list[int] | None,
    correction: Scalar | None,
    keepdim: bool,
    out: Tensor,
) -> Step:
    """Variance over `dim` (all when empty), divided by n - `correction` (1). Scratch: a copy of the
    input.
    """
    return _variance(ctx, self, dim, 1.0 if correction is None else correction, keepdim, out)


@kernel("aten::std.correction_out")
def std_correction_out(
    ctx: PrepareContext,
    self: Tensor,
    dim: list[int] | None,
    correction: Scalar | None,
    keepdim: bool,
    out: Tensor,
) -> Step:
    """Square root of the variance. Scratch: a copy of the input."""
    return _variance(ctx, self, dim, 1.0 if correction is None else correction, keepdim, out, root=True)


@kernel("aten::var_mean.correction_out", any_layout=True)
def var_mean_correction_out(
    ctx: PrepareContext,
    self: Tensor,
    dim: list[int] | None,
    correction: Scalar | None,
    keepdim: bool,
    out0: Tensor,
    out1: Tensor,
) -> Step:
    """Variance and mean over `dim` (all when empty). Scratch: a copy of the input."""
    return _variance(ctx, self, dim, 1.0 if correction is None else correction, keepdim, out0, out1)


def _declare_running(name: str, ufunc: np.ufunc) -> None:
    @kernel(f"aten::{name}.out")
    def prepare(ctx: PrepareContext, self: Tensor, dim: int, dtype: int | None, out: Tensor) -> Step:
        """Running total along `dim`; of integers and bools an int64. Scratch: the result when its type is
        16-bit.
        """
        axis = dimension(ctx, dim, len(self.sizes))
        default = self.scalar_type if kind(self.scalar_type) >= FLOAT else ScalarType.LONG
        result = _explicit(ctx, dtype, default, out)
        out.resize(self.sizes)
        if not out.array.size:
            return NOTHING
        if not self.sizes:
            return chain(cast(ctx, self.array, out.array))
        compute = numpy_dtype(arithmetic(result))
        return _accumulate(
            ctx,
            out,
            out.array,
            compute,
            lambda target: [(ufunc.accumulate, (self.array, axis, compute, target))],
        )


_declare_running("cumsum", np.add)
_declare_running("cumprod", np.multiply)


@kernel("aten::logsumexp.out")
def logsumexp_out(ctx: PrepareContext, self: Tensor, dim: list[int], keepdim: bool, out: Tensor) -> Step:
    """log(sum(exp(x))) over `dim`, relative to the maximum so that nothing overflows. Scratch: a float
    copy of the input.
    """
    axes = dimensions(ctx, dim, len(self.sizes))
    result = floating(self.scalar_type)
    check_kinds(ctx, result, (FLOAT, COMPLEX), arg="self")
    check_out_type(ctx, result, out)
    out.resize(reduced(self.sizes, axes, keepdim))
    if not out.array.size:
        return NOTHING
    if self.scalar_type.is_complex:
        return complex_reduce.logsumexp(self, axes, out)
    compute = numpy_dtype(arithmetic(result))
    kept = reduced(self.sizes, axes, True)
    rest, peak = ctx.scratch(self.sizes, compute), ctx.scratch(kept, compute)
    infinite, floor = ctx.scratch(kept, np.bool_), filled(compute, -np.inf)

    def into(target: Array) -> list[Step]:
        return [
            *cast(ctx, self.array, rest),
            (np.maximum.reduce, (rest, axes, compute, peak, True, floor)),
            # An infinite maximum would make NaN of infinity minus infinity.
            call(np.isinf, peak, infinite),
            (np.copyto, (peak, filled(compute, 0), "unsafe", infinite)),
            call(np.subtract, rest, peak, rest),
            call(np.exp, rest, rest),
            (np.add.reduce, (rest, axes, compute, target, True)),
            call(np.log, target, target),
            call(np.add, target, peak, target),
        ]

    return _accumulate(ctx, out, _kept(out, self.sizes, axes), compute, into)


@kernel("aten::linalg_vector_norm.out")
def linalg_vector_norm_out(
    ctx: PrepareContext,
    self: Tensor,
    ord: Scalar,
    dim: list[int] | None,
    keepdim: bool,
    dtype: int | None,
    out: Tensor,
) -> Step:
    """(sum |x|^ord)^(1/ord) over `dim` (all for None); the count of non-zeros for order 0, an extreme for
    an infinite one. Scratch: a copy of the input.
    """
    check_kinds(ctx, self.scalar_type, (FLOAT, COMPLEX), arg="self")
    axes = dimensions(ctx, dim, len(self.sizes))
    wanted = None if dtype is None else int(real_of(ScalarType(dtype)))
    result = _explicit(ctx, wanted, real_of(self.scalar_type), out)
    order = float(ord)
    if math.isinf(order) or order < 0:
        _check_reducible(ctx, self, axes)
    out.resize(reduced(self.sizes, axes, keepdim))
    if not out.array.size:
        return NOTHING
    compute = numpy_dtype(arithmetic(result))
    rest = ctx.scratch(self.sizes, compute)

    def into(target: Array) -> list[Step]:
        calls: list[Step] = [copy(self.array, rest), call(np.absolute, rest, rest)]
        if self.scalar_type.is_complex:
            calls = [(_sizes, (self.array, rest))]
        if math.isinf(order):
            ufunc = np.maximum if order > 0 else np.minimum
            return [*calls, (ufunc.reduce, (rest, axes, compute, target, True))]
        if order == 0:
            calls.append(call(np.not_equal, rest, filled(compute, 0), rest))
        elif order == 2:
            calls.append(call(np.multiply, rest, rest, rest))
        elif order != 1:
            calls.append(call(np.power, rest, filled(compute, order), rest))
        calls.append((np.add.reduce, (rest, axes, compute, target, True)))
        if order == 2:
            calls.append(call(np.sqrt, target, target))
        elif order not in (0, 1):
            calls.append(call(np.power, target, filled(compute, 1 / order), target))
        return calls

    return _accumulate(ctx, out, _kept(out, self.sizes, axes), compute, into)
