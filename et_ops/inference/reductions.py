"""Reductions, scans and sorting."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from et_ops.dtypes import BOOL, F32, F64, I32, I64, U8, DType, as_float, real_of
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, Number, rule
from et_ops.inference.shapes import below, broadcast, known, reduced, unlike, with_size, wrap_dim, wrap_dims


def _over(self: Meta, dim: Sequence[int] | int | None, keepdim: bool, dtype: DType) -> Meta:
    """Reduced over dimensions; none and an empty list stand for all."""
    dims = wrap_dims((dim,) if isinstance(dim, int) else dim, self.rank)
    return Meta(reduced(self.shape, dims, keepdim), dtype)


def _accumulator(self: Meta, dtype: DType | None) -> DType:
    """The type of a sum or product: integers and booleans in i64."""
    return dtype or (I64 if self.dtype.is_integral else self.dtype)


@rule("sum", "prod")
def sum_all(self: Meta, dtype: DType | None) -> Meta:
    return Meta((), _accumulator(self, dtype))


@rule("sum.dim_IntList", "prod.dim_int", "nansum")
def sum_dims(self: Meta, dim: Sequence[int] | int | None, keepdim: bool, dtype: DType | None) -> Meta:
    return _over(self, dim, keepdim, _accumulator(self, dtype))


@rule("mean")
def mean_all(self: Meta, dtype: DType | None) -> Meta:
    return Meta((), dtype or self.dtype)


@rule("mean.dim", "nanmean")
def mean_dims(self: Meta, dim: Sequence[int] | None, keepdim: bool, dtype: DType | None) -> Meta:
    return _over(self, dim, keepdim, dtype or self.dtype)


@rule("amax", "amin")
def extremum(self: Meta, dim: Sequence[int], keepdim: bool) -> Meta:
    return _over(self, dim, keepdim, self.dtype)


@rule("max", "min", "median", "nanmedian")
def extremum_all(self: Meta) -> Meta:
    return Meta((), self.dtype)


@rule("max.dim", "min.dim", "median.dim", "nanmedian.dim", "mode")
def extremum_indexed(self: Meta, dim: int, keepdim: bool) -> tuple[Meta, Meta]:
    _extent(self, dim)
    values = _over(self, dim, keepdim, self.dtype)
    return values, Meta(values.shape, I64)


def _extent(self: Meta, dim: int) -> int:
    """The number of elements along a dimension in which there must be some."""
    axis = wrap_dim(dim, self.rank)
    size = self.shape[axis] if self.shape else 1
    if below(size, 1):
        raise Mismatch("self", f"elements along dimension {axis}", self)
    return size


@rule("kthvalue")
def kthvalue(self: Meta, k: int, dim: int, keepdim: bool) -> tuple[Meta, Meta]:
    size = _extent(self, dim)
    if k != UNKNOWN and (k < 1 or below(size, k)):
        raise Mismatch("k", f"a number in [1, {size}]", k)
    return extremum_indexed(self, dim, keepdim)


@rule("aminmax")
def aminmax(self: Meta, dim: int | None, keepdim: bool) -> tuple[Meta, Meta]:
    found = _over(self, dim, keepdim, self.dtype)
    return found, found


@rule("argmax", "argmin")
def argmax(self: Meta, dim: int | None, keepdim: bool) -> Meta:
    return _over(self, dim, keepdim, I64)


@rule("all", "any")
def truth_all(self: Meta) -> Meta:
    return Meta((), U8 if self.dtype is U8 else BOOL)


@rule("all.dim", "any.dim")
def truth_dim(self: Meta, dim: int, keepdim: bool) -> Meta:
    return _over(self, dim, keepdim, truth_all(self).dtype)


@rule("all.dims", "any.dims")
def truth_dims(self: Meta, dim: Sequence[int] | None, keepdim: bool) -> Meta:
    dims = wrap_dims(dim, self.rank, empty_is_all=False)
    return Meta(reduced(self.shape, dims, keepdim), truth_all(self).dtype)


@rule("count_nonzero")
def count_nonzero(self: Meta, dim: int | None) -> Meta:
    return _over(self, dim, False, I64)


@rule("count_nonzero.dim_IntList")
def count_nonzero_dims(self: Meta, dim: Sequence[int]) -> Meta:
    return _over(self, dim, False, I64)


@rule("var", "std")
def var_all(self: Meta, unbiased: bool) -> Meta:
    return Meta((), real_of(self.dtype))


@rule("var.dim", "std.dim")
def var_dims(self: Meta, dim: Sequence[int] | None, unbiased: bool, keepdim: bool) -> Meta:
    return _over(self, dim, keepdim, real_of(self.dtype))


@rule("var.correction", "std.correction")
def var_correction(self: Meta, dim: Sequence[int] | None, correction: Number | None, keepdim: bool) -> Meta:
    return _over(self, dim, keepdim, real_of(self.dtype))


@rule("var_mean", "std_mean")
def var_mean(self: Meta, unbiased: bool) -> tuple[Meta, Meta]:
    return Meta((), real_of(self.dtype)), Meta((), self.dtype)


@rule("var_mean.dim", "std_mean.dim")
def var_mean_dims(self: Meta, dim: Sequence[int] | None, unbiased: bool, keepdim: bool) -> tuple[Meta, Meta]:
    return _over(self, dim, keepdim, real_of(self.dtype)), _over(self, dim, keepdim, self.dtype)


@rule("var_mean.correction", "std_mean.correction")
def var_mean_correction(
    self: Meta, dim: Sequence[int] | None, correction: Number | None, keepdim: bool
) -> tuple[Meta, Meta]:
    return _over(self, dim, keepdim, real_of(self.dtype)), _over(self, dim, keepdim, self.dtype)


@rule("logsumexp", "special_logsumexp")
def logsumexp(self: Meta, dim: Sequence[int], keepdim: bool) -> Meta:
    return _over(self, dim, keepdim, as_float(self.dtype))


@rule("linalg_vector_norm")
def vector_norm(
    self: Meta, ord: Number, dim: Sequence[int] | None, keepdim: bool, dtype: DType | None
) -> Meta:
    return _over(self, dim, keepdim, real_of(dtype or self.dtype))


@rule("norm.Scalar")
def norm_all(self: Meta, p: Number) -> Meta:
    return Meta((), real_of(self.dtype))


@rule("norm.ScalarOpt_dim")
def norm_dims(self: Meta, p: Number | None, dim: Sequence[int], keepdim: bool) -> Meta:
    return _over(self, dim, keepdim, real_of(self.dtype))


@rule("norm.ScalarOpt_dtype")
def norm_dtype(self: Meta, p: Number | None, dtype: DType) -> Meta:
    return Meta((), real_of(dtype))


@rule("norm.ScalarOpt_dim_dtype")
def norm_dims_dtype(self: Meta, p: Number | None, dim: Sequence[int], keepdim: bool, dtype: DType) -> Meta:
    return _over(self, dim, keepdim, real_of(dtype))


@rule("cosine_similarity")
def cosine_similarity(x1: Meta, x2: Meta, dim: int, eps: float) -> Meta | None:
    if x1.dtype is not x2.dtype:
        return None
    return _over(Meta(broadcast(x1.shape, x2.shape), x1.dtype), dim, False, x1.dtype)


@rule("sum_to_size")
def sum_to_size(self: Meta, size: Sequence[int]) -> Meta | None:
    """Integers and truth values are counted in i64, where there is anything to add."""
    kept = tuple(size)
    if not self.dtype.is_integral or self.dtype is I64:
        return Meta(kept, self.dtype)
    if UNKNOWN in self.shape or UNKNOWN in kept:
        return None  # whether there is anything to add is known at run time only
    lead = len(self.shape) - len(kept)
    summed = (
        not kept or lead > 0 or any(new == 1 != old for old, new in zip(self.shape[lead:], kept, strict=True))
    )
    return Meta(kept, I64 if summed else self.dtype)


@rule("trace")
def trace(self: Meta) -> Meta:
    return Meta((), _accumulator(self, None))


# -- scans and sorting


@rule("cumsum", "cumprod")
def cumsum(self: Meta, dim: int, dtype: DType | None) -> Meta:
    return Meta(self.shape, _accumulator(self, dtype))


@rule("cummax", "cummin")
def cummax(self: Meta, dim: int) -> tuple[Meta, Meta]:
    wrap_dim(dim, self.rank)
    return Meta(self.shape, self.dtype), Meta(self.shape, I64)


@rule("logcumsumexp")
def logcumsumexp(self: Meta, dim: int) -> Meta:
    wrap_dim(dim, self.rank)
    return Meta(self.shape, self.dtype)


@rule("sort")
def sort(self: Meta, dim: int, descending: bool) -> tuple[Meta, Meta]:
    return cummax(self, dim)


@rule("sort.stable")
def sort_stable(self: Meta, stable: bool | None, dim: int, descending: bool) -> tuple[Meta, Meta]:
    return cummax(self, dim)


@rule("argsort", "argsort.stable")
def argsort(self: Meta, *_: object) -> Meta:
    return Meta(self.shape, I64)


@rule("msort")
def msort(self: Meta) -> Meta:
    return Meta(self.shape, self.dtype)


@rule("topk")
def topk(self: Meta, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Meta, Meta]:
    axis = wrap_dim(dim, self.rank)
    size = self.shape[axis] if self.shape else 1
    if k != UNKNOWN and (k < 0 or below(size, k)):
        raise Mismatch("k", f"a number in [0, {size}]", k)
    shape = with_size(self.shape, axis, k) if self.shape else ()
    return Meta(shape, self.dtype), Meta(shape, I64)


@rule("diff")
def diff(self: Meta, n: int, dim: int, prepend: Meta | None, append: Meta | None) -> Meta:
    dim = wrap_dim(dim, self.rank)
    if not self.shape:
        raise Mismatch("self", "at least one dimension", self)
    if n < 0 and n != UNKNOWN:
        raise Mismatch("n", "a non-negative order", n)
    for arg, part in (("prepend", prepend), ("append", append)):
        if part is not None and part.rank != self.rank:
            raise Mismatch(arg, f"{self.rank} dimensions", part)
    sizes = [self.shape[dim], *(0 if m is None else m.shape[dim] for m in (prepend, append))]
    size = max(0, sum(sizes) - n) if known(*sizes) else UNKNOWN
    return Meta(with_size(self.shape, dim, size), self.dtype)


# -- counting


@rule("histc")
def histc(self: Meta, bins: int, min: Number, max: Number) -> Meta:
    _positive("bins", bins)
    if not isinstance(min, Meta) and not isinstance(max, Meta) and not min <= max:
        raise Mismatch("max", f"a number of at least {min}", max)
    return Meta((bins,), self.dtype)


def _positive(arg: str, number: int) -> None:
    if number <= 0:
        raise Mismatch(arg, "a positive number", number)


def _weighted(self: Meta, weight: Meta | None, arg: str) -> None:
    if weight is not None and unlike(weight.shape, self.shape):
        raise Mismatch(arg, f"shape {list(self.shape)}", weight)


def _precise(self: Meta) -> None:
    if self.dtype not in (F32, F64):
        raise Mismatch("self", "float32 or float64", self.dtype.torch_name)


@rule("histogram.bin_ct")
def histogram(
    self: Meta, bins: int, range: Sequence[float] | None, weight: Meta | None, density: bool
) -> tuple[Meta, Meta]:
    _precise(self)
    _positive("bins", bins)
    if range is not None and not (len(range) == 2 and -inf < range[0] <= range[1] < inf):
        raise Mismatch("range", "two finite numbers in ascending order", list(range))
    _weighted(self, weight, "weight")
    return Meta((bins,), self.dtype), Meta((bins + 1,), self.dtype)


@rule("histogram.bins_tensor")
def histogram_between(self: Meta, bins: Meta, weight: Meta | None, density: bool) -> tuple[Meta, Meta]:
    _precise(self)
    if bins.rank != 1 or below(bins.shape[0], 2):
        raise Mismatch("bins", "a vector of at least two edges", bins)
    _weighted(self, weight, "weight")
    (edges,) = bins.shape
    return Meta((edges - 1 if known(edges) else UNKNOWN,), self.dtype), Meta((edges,), self.dtype)


@rule("bincount")
def bincount(self: Meta, weights: Meta | None, minlength: int) -> Meta:
    if self.rank != 1 or self.dtype is BOOL or not self.dtype.is_integral:
        raise Mismatch("self", "a vector of integers", self)
    if minlength < 0 and minlength != UNKNOWN:
        raise Mismatch("minlength", "a non-negative number", minlength)
    _weighted(self, weights, "weights")
    return Meta((UNKNOWN,), I64 if weights is None else F32 if weights.dtype is F32 else F64)


@rule("_unique2")
def unique(self: Meta, sorted: bool, return_inverse: bool, return_counts: bool) -> tuple[Meta, Meta, Meta]:
    return (
        Meta((UNKNOWN,), self.dtype),
        Meta(self.shape if return_inverse else (0,), I64),
        Meta((UNKNOWN if return_counts else 0,), I64),
    )


@rule("unique_consecutive")
def unique_consecutive(
    self: Meta, return_inverse: bool, return_counts: bool, dim: int | None
) -> tuple[Meta, Meta, Meta]:
    """Along a dimension all is given, but along dimension 0 of a vector, which torch takes for no dimension."""
    if dim is None or (dim == 0 and self.rank == 1):
        return unique(self, True, return_inverse, return_counts)
    return unique_slices(self, dim)


@rule("unique_dim", "unique_dim_consecutive")
def unique_slices(self: Meta, dim: int, *_: object) -> tuple[Meta, Meta, Meta]:
    axis = wrap_dim(dim, self.rank)
    slices = with_size(self.shape, axis, UNKNOWN) if self.shape else ()
    return (
        Meta(slices, self.dtype),
        Meta((self.shape[axis] if self.shape else 1,), I64),
        Meta((UNKNOWN,), I64),
    )


@rule("segment_reduce")
def segment_reduce(
    data: Meta,
    reduce: str,
    lengths: Meta | None,
    indices: Meta | None,
    offsets: Meta | None,
    axis: int,
    *_: object,
) -> Meta:
    if reduce not in ("max", "mean", "min", "prod", "sum"):
        raise Mismatch("reduce", "max or mean or min or prod or sum", reduce)
    if indices is not None:
        raise Mismatch("indices", "None", "a tensor")
    if (lengths is None) == (offsets is None):
        raise ValueError("exactly one of 'lengths' and 'offsets' must be given")
    if not data.shape:
        raise Mismatch("data", "at least one dimension", data)
    arg, segments = ("offsets", offsets) if lengths is None else ("lengths", lengths)
    assert segments is not None
    if segments.dtype not in (I32, I64):
        raise Mismatch(arg, "int32 or int64", segments.dtype.torch_name)
    at = wrap_dim(axis, data.rank)
    outer = data.shape[:at]
    # Offsets have the end of the last segment, too.
    least = int(lengths is None)
    if not segments.shape or unlike(segments.shape[:-1], outer) or below(segments.shape[-1], least):
        raise Mismatch(arg, f"segments for each of {list(outer)}", segments)
    last = segments.shape[-1]
    return Meta(with_size(data.shape, at, last - least if known(last) else UNKNOWN), data.dtype)
