"""Reductions, in the overloads that Core ATen has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Number, Reason, decomposes


@decomposes(Reason.COMMON, aten.SumOp)
def sum_all(b: Chain, op: aten.SumOp) -> SSAValue:
    return b(aten.SumDimIntListOp, op.self, (), dtype=op.dtype)


@decomposes(Reason.NONE, aten.SymNumelOp)
def sym_numel(b: Chain, op: aten.SymNumelOp) -> SSAValue:
    return b.value(reduce(partial(b.compute, "mul"), b.sizes(op.self) or (1,)))


# -- extrema


@decomposes(Reason.NONE, aten.MaxOp)
def max_all(b: Chain, op: aten.MaxOp) -> SSAValue:
    return b(aten.AmaxOp, op.self, ())


@decomposes(Reason.NONE, aten.MinOp)
def min_all(b: Chain, op: aten.MinOp) -> SSAValue:
    return b(aten.AminOp, op.self, ())


# -- variance


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


@decomposes(Reason.FEWER, aten.VarMeanOp, aten.StdMeanOp)
def var_mean_all(b: Chain, op: aten.VarMeanOp) -> tuple[SSAValue, SSAValue]:
    return _with_mean(b, op.self, None, int(op.unbiased), False, root=isinstance(op, aten.StdMeanOp))


@decomposes(Reason.FEWER, aten.VarMeanDimOp, aten.StdMeanDimOp)
def var_mean_dims(b: Chain, op: aten.VarMeanDimOp) -> tuple[SSAValue, SSAValue]:
    root = isinstance(op, aten.StdMeanDimOp)
    return _with_mean(b, op.self, op.dim, int(op.unbiased), op.keepdim, root=root)


@decomposes(Reason.FEWER, aten.VarMeanCorrectionOp, aten.StdMeanCorrectionOp)
def var_mean_correction(b: Chain, op: aten.VarMeanCorrectionOp) -> tuple[SSAValue, SSAValue]:
    root = isinstance(op, aten.StdMeanCorrectionOp)
    return _with_mean(b, op.self, op.dim, op.correction, op.keepdim, root=root)
