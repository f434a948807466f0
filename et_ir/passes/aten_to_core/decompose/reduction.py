"""Reductions, in the overloads that Core ATen has."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.passes.aten_to_core.decompose.chain import Chain, Number, decomposes, meta
from et_ops.dtypes import BOOL, U8, as_float
from et_ops.inference.meta import UNKNOWN
from et_ops.inference.shapes import wrap_dims


@decomposes(aten.SumOp)
def sum_all(b: Chain, op: aten.SumOp) -> SSAValue:
    return b(aten.SumDimIntListOp, op.self, (), dtype=op.dtype)


@decomposes(aten.TraceOp)
def trace(b: Chain, op: aten.TraceOp) -> SSAValue:
    return b(aten.SumDimIntListOp, b(aten.DiagonalOp, op.self), ())


@decomposes(aten.NansumOp)
def nansum(b: Chain, op: aten.NansumOp) -> SSAValue:
    x = op.self
    if meta(x).dtype.is_float:
        x = b(aten.WhereSelfOp, b(aten.IsnanOp, x), b.scalar(0, meta(x).dtype), x)
    return b(aten.SumDimIntListOp, x, op.dim, op.keepdim, dtype=op.dtype)


@decomposes(aten.NanmeanOp)
def nanmean(b: Chain, op: aten.NanmeanOp) -> SSAValue | None:
    if not meta(op.self).dtype.is_float:
        return None
    there = b(aten.LogicalNotOp, b(aten.IsnanOp, op.self))
    count = b(aten.SumDimIntListOp, there, op.dim, op.keepdim)
    return b(aten.DivTensorOp, b(aten.NansumOp, op.self, op.dim, op.keepdim, dtype=op.dtype), count)


# -- extrema


@decomposes(aten.MaxOp)
def max_all(b: Chain, op: aten.MaxOp) -> SSAValue:
    return b(aten.AmaxOp, op.self, ())


@decomposes(aten.MinOp)
def min_all(b: Chain, op: aten.MinOp) -> SSAValue:
    return b(aten.AminOp, op.self, ())


@decomposes(aten.AminmaxOp)
def aminmax(b: Chain, op: aten.AminmaxOp) -> tuple[SSAValue, SSAValue]:
    dims = () if op.dim is None else (op.dim,)
    return b(aten.AminOp, op.self, dims, op.keepdim), b(aten.AmaxOp, op.self, dims, op.keepdim)


# -- truth


def _none_false(b: Chain, x: SSAValue, dims: Sequence[int] | None, keepdim: bool) -> SSAValue:
    """All are true where not any is not."""
    false = b(aten.LogicalNotOp, x)
    found = b(aten.AnyDimsOp, false, dims, keepdim) if dims is not None else b(aten.AnyOp, false)
    every = b(aten.LogicalNotOp, found)
    return b.to(every, U8) if meta(x).dtype is U8 else every


@decomposes(aten.AllOp)
def all_all(b: Chain, op: aten.AllOp) -> SSAValue:
    return _none_false(b, op.self, None, False)


@decomposes(aten.AllDimOp)
def all_dim(b: Chain, op: aten.AllDimOp) -> SSAValue:
    false = b(aten.LogicalNotOp, op.self)
    every = b(aten.LogicalNotOp, b(aten.AnyDimOp, false, op.dim, op.keepdim))
    return b.to(every, U8) if meta(op.self).dtype is U8 else every


@decomposes(aten.AllDimsOp)
def all_dims(b: Chain, op: aten.AllDimsOp) -> SSAValue:
    dims = wrap_dims(op.dim, meta(op.self).rank, empty_is_all=False)
    return _none_false(b, op.self, dims, op.keepdim)


def _count(b: Chain, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    true = x if meta(x).dtype is BOOL else b(aten.NeScalarOp, x, 0)
    return b(aten.SumDimIntListOp, true, dims)


@decomposes(aten.CountNonzeroOp)
def count_nonzero(b: Chain, op: aten.CountNonzeroOp) -> SSAValue:
    return _count(b, op.self, () if op.dim is None else (op.dim,))


@decomposes(aten.CountNonzeroDimIntListOp)
def count_nonzero_dims(b: Chain, op: aten.CountNonzeroDimIntListOp) -> SSAValue:
    return _count(b, op.self, op.dim)


# -- variance


@decomposes(aten.VarOp)
def var_all(b: Chain, op: aten.VarOp) -> SSAValue:
    return b(aten.VarCorrectionOp, op.self, None, correction=int(op.unbiased))


@decomposes(aten.StdOp)
def std_all(b: Chain, op: aten.StdOp) -> SSAValue:
    return b(aten.SqrtOp, b(aten.VarCorrectionOp, op.self, None, correction=int(op.unbiased)))


@decomposes(aten.StdDimOp)
def std_dims(b: Chain, op: aten.StdDimOp) -> SSAValue:
    correction = int(op.unbiased)
    return b(aten.SqrtOp, b(aten.VarCorrectionOp, op.self, op.dim, correction=correction, keepdim=op.keepdim))


@decomposes(aten.StdCorrectionOp)
def std_correction(b: Chain, op: aten.StdCorrectionOp) -> SSAValue:
    variance = b(aten.VarCorrectionOp, op.self, op.dim, correction=op.correction, keepdim=op.keepdim)
    return b(aten.SqrtOp, variance)


def _with_mean(
    b: Chain,
    x: SSAValue,
    dims: Sequence[int] | None,
    correction: Number | SSAValue | None,
    keepdim: bool,
    *,
    root: bool,
) -> tuple[SSAValue, SSAValue]:
    variance = b(aten.VarCorrectionOp, x, dims, correction=correction, keepdim=keepdim)
    return b(aten.SqrtOp, variance) if root else variance, b(aten.MeanDimOp, x, dims, keepdim)


@decomposes(aten.VarMeanOp, aten.StdMeanOp)
def var_mean_all(b: Chain, op: aten.VarMeanOp) -> tuple[SSAValue, SSAValue]:
    return _with_mean(b, op.self, None, int(op.unbiased), False, root=isinstance(op, aten.StdMeanOp))


@decomposes(aten.VarMeanDimOp, aten.StdMeanDimOp)
def var_mean_dims(b: Chain, op: aten.VarMeanDimOp) -> tuple[SSAValue, SSAValue]:
    root = isinstance(op, aten.StdMeanDimOp)
    return _with_mean(b, op.self, op.dim, int(op.unbiased), op.keepdim, root=root)


@decomposes(aten.VarMeanCorrectionOp, aten.StdMeanCorrectionOp)
def var_mean_correction(b: Chain, op: aten.VarMeanCorrectionOp) -> tuple[SSAValue, SSAValue]:
    root = isinstance(op, aten.StdMeanCorrectionOp)
    return _with_mean(b, op.self, op.dim, op.correction, op.keepdim, root=root)


# -- norms and sums of exponentials


def _norm(b: Chain, x: SSAValue, order: Number, dims: Sequence[int] | None, keepdim: bool) -> SSAValue:
    # What has no dimensions has none to reduce either, though torch lets programs name one.
    named = tuple(dims or ()) if meta(x).rank else ()
    return b.to(_wide_norm(b, b.wide(x), order, named, keepdim), meta(x).dtype)


def _wide_norm(b: Chain, x: SSAValue, order: Number, dims: Sequence[int], keepdim: bool) -> SSAValue:
    if order == 0:
        counted = b.to(b(aten.NeScalarOp, x, 0), meta(x).dtype)
        return b(aten.SumDimIntListOp, counted, dims, keepdim)
    if order == 2:
        return b(aten.SqrtOp, b(aten.SumDimIntListOp, b(aten.MulTensorOp, x, x), dims, keepdim))
    size = b(aten.AbsOp, x)
    if order == math.inf:
        return b(aten.AmaxOp, size, dims, keepdim)
    if order == -math.inf:
        return b(aten.AminOp, size, dims, keepdim)
    if order == 1:
        return b(aten.SumDimIntListOp, size, dims, keepdim)
    powers = b(aten.SumDimIntListOp, b(aten.PowTensorScalarOp, size, order), dims, keepdim)
    return b(aten.PowTensorScalarOp, powers, 1.0 / order)


@decomposes(aten.LinalgVectorNormOp)
def vector_norm(b: Chain, op: aten.LinalgVectorNormOp) -> SSAValue | None:
    dtype = meta(op.self).dtype if op.dtype is None else dtype_of(op.dtype)
    if isinstance(op.ord, SSAValue) or not dtype.is_float or not meta(op.self).dtype.is_float:
        return None
    return _norm(b, b.to(op.self, dtype), op.ord, op.dim, op.keepdim)


@decomposes(
    aten.NormScalarOp, aten.NormScalarOptDtypeOp, aten.NormScalarOptDimOp, aten.NormScalarOptDimDtypeOp
)
def norm(b: Chain, op: aten.NormScalarOptDimDtypeOp) -> SSAValue | None:
    arguments = op.args()
    order = arguments["p"]
    dtype = meta(op.result).dtype
    if isinstance(order, SSAValue) or not dtype.is_float or not meta(op.self).dtype.is_float:
        return None
    dims, keepdim = arguments.get("dim"), arguments.get("keepdim", False)
    return _norm(b, b.to(op.self, dtype), 2 if order is None else order, dims, keepdim)


@decomposes(aten.LogsumexpOp)
def logsumexp(b: Chain, op: aten.LogsumexpOp) -> SSAValue | None:
    """Relative to the largest element, unless that is infinite."""
    if meta(op.self).dtype.is_complex:
        return None
    x = b.to(op.self, as_float(meta(op.self).dtype))
    rank = meta(x).rank
    dims = wrap_dims(op.dim, rank)
    largest = b(aten.AmaxOp, x, dims, True)
    infinite = b(aten.EqScalarOp, b(aten.AbsOp, largest), math.inf)
    largest = b(aten.WhereSelfOp, infinite, b.scalar(0, meta(x).dtype), largest)
    total = b(aten.SumDimIntListOp, b(aten.ExpOp, b(aten.SubTensorOp, x, largest)), dims, op.keepdim)
    if not op.keepdim and rank:
        largest = b(aten.SqueezeDimsOp, largest, dims)
    return b(aten.AddTensorOp, b(aten.LogOp, total), largest)


@decomposes(aten.CosineSimilarityOp)
def cosine_similarity(b: Chain, op: aten.CosineSimilarityOp) -> SSAValue | None:
    x, y = op.x1, op.x2
    dtype = meta(x).dtype
    if not dtype.is_float or meta(y).dtype is not dtype:
        return None
    dims = (op.dim,)
    rank = meta(x).rank
    if rank != meta(y).rank:
        return None
    if rank:
        # An element that is compared with several counts as often in the norm.
        dim = op.dim % rank
        sizes = meta(x).shape[dim], meta(y).shape[dim]
        if sizes[0] != sizes[1]:
            if UNKNOWN in sizes:
                return None
            shape = [max(sizes) if at == dim else -1 for at in range(rank)]
            x, y = b.expand(x, shape), b.expand(y, shape)

    def unit(v: SSAValue) -> SSAValue:
        return b(aten.DivTensorOp, v, b(aten.ClampOp, _norm(b, v, 2, dims, True), op.eps, None))

    return b(aten.SumDimIntListOp, b(aten.MulTensorOp, unit(x), unit(y)), dims if rank else ())


@decomposes(aten.CumsumOp)
def cumsum(b: Chain, op: aten.CumsumOp) -> SSAValue | None:
    """Without dimensions there is nothing to sum."""
    return None if meta(op.self).rank else b.to(op.self, meta(op.result).dtype)


@decomposes(aten.SortOp)
def sort(b: Chain, op: aten.SortOp) -> Sequence[SSAValue] | None:
    """The largest or smallest of all elements: runtimes have a kernel for those, and none for `sort`.

    Equal elements may come in another order, which is undefined for `sort` as well.
    """
    x = meta(op.self)
    size = x.shape[op.dim] if x.rank else 1
    if size < 0 or x.dtype is BOOL:
        return None
    return b.results(aten.TopkOp, op.self, size, op.dim, op.descending, True)


@decomposes(aten.ArgsortOp)
def argsort(b: Chain, op: aten.ArgsortOp) -> SSAValue:
    return b.results(aten.SortOp, op.self, op.dim, op.descending)[1]


@decomposes(aten.MsortOp)
def msort(b: Chain, op: aten.MsortOp) -> SSAValue:
    return b(aten.SortOp, op.self, 0)


@decomposes(aten.SpecialEntrOp)
def entr(b: Chain, op: aten.SpecialEntrOp) -> SSAValue | None:
    """`-x log x`, 0 at 0 and minus infinity below."""
    x, dtype = op.self, meta(op.self).dtype
    if not dtype.is_float:
        return None
    inner = b(aten.NegOp, b(aten.MulTensorOp, x, b(aten.LogOp, x)))
    inner = b(aten.WhereSelfOp, b(aten.EqScalarOp, x, 0), b.scalar(0, dtype), inner)
    return b(aten.WhereSelfOp, b(aten.LtScalarOp, x, 0), b.scalar(-math.inf, dtype), inner)
