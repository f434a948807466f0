"""Losses: what is compared element by element, and reduced. Sizes may be known at run time only."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from et_ir.dialects.aten import AtenOp
from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Number, decomposes, meta
from et_ops.dtypes import promote

_MEAN, _SUM = 1, 2

Distance = aten.MseLossOp | aten.L1LossOp | aten.SmoothL1LossOp | aten.HuberLossOp


def _reduced(b: Chain, op: AtenOp, loss: SSAValue) -> SSAValue:
    """The mean, the sum, or all of the elements, in the type of the result."""
    reduction = op.arg("reduction")
    if reduction == _MEAN:
        loss = b(aten.MeanDimOp, loss, ())
    elif reduction == _SUM:
        loss = b(aten.SumDimIntListOp, loss, ())
    return b.to(loss, meta(op.result).dtype)


def _difference(b: Chain, op: Distance) -> SSAValue | None:
    """The difference of floats, in a type wide enough for what is done with it."""
    x, y = op.self, op.target
    if not promote(meta(x).dtype, meta(y).dtype).is_float:
        return None
    return b(aten.SubTensorOp, b.wide(x), b.wide(y))


@decomposes(aten.MseLossOp)
def mse_loss(b: Chain, op: aten.MseLossOp) -> SSAValue | None:
    difference = _difference(b, op)
    return None if difference is None else _reduced(b, op, b(aten.MulTensorOp, difference, difference))


@decomposes(aten.L1LossOp)
def l1_loss(b: Chain, op: aten.L1LossOp) -> SSAValue | None:
    difference = _difference(b, op)
    return None if difference is None else _reduced(b, op, b(aten.AbsOp, difference))


def _rounded(b: Chain, distance: SSAValue, edge: float, slope: float) -> SSAValue:
    """A parabola up to a distance of `edge`, where it has a slope, a line of that slope from there."""
    inner = b(aten.MulScalarOp, b(aten.MulTensorOp, distance, distance), 0.5 * slope / edge)
    outer = b(aten.MulScalarOp, b(aten.SubScalarOp, distance, 0.5 * edge), slope)
    return b(aten.WhereSelfOp, b(aten.LtScalarOp, distance, edge), inner, outer)


@decomposes(aten.SmoothL1LossOp)
def smooth_l1_loss(b: Chain, op: aten.SmoothL1LossOp) -> SSAValue | None:
    difference = _difference(b, op)
    if difference is None:
        return None
    distance = b(aten.AbsOp, difference)
    return _reduced(b, op, distance if op.beta == 0 else _rounded(b, distance, op.beta, 1.0))


@decomposes(aten.HuberLossOp)
def huber_loss(b: Chain, op: aten.HuberLossOp) -> SSAValue | None:
    difference = _difference(b, op)
    if difference is None:
        return None
    return _reduced(b, op, _rounded(b, b(aten.AbsOp, difference), op.delta, op.delta))


@decomposes(aten.KlDivOp)
def kl_div(b: Chain, op: aten.KlDivOp) -> SSAValue | None:
    """`target * (log(target) - self)`, 0 where the target is."""
    x, y = op.self, op.target
    dtype = meta(op.result).dtype
    if not (meta(x).dtype.is_float and meta(y).dtype.is_float and meta(x).dtype is meta(y).dtype):
        return None
    x, y = b.wide(x), b.wide(y)
    if op.log_target:
        loss = b(aten.MulTensorOp, b(aten.ExpOp, y), b(aten.SubTensorOp, y, x))
    else:
        loss = b(aten.SubTensorOp, b(aten.XlogyTensorOp, y, y), b(aten.MulTensorOp, y, x))
    return b.to(_reduced(b, op, loss), dtype)


@decomposes(aten.SoftMarginLossOp)
def soft_margin_loss(b: Chain, op: aten.SoftMarginLossOp) -> SSAValue | None:
    """`log(1 + exp(-target * self))`, which overflows as torch's does."""
    x, y = op.self, op.target
    if meta(x).dtype is not meta(y).dtype or not meta(x).dtype.is_float:
        return None
    power = b(aten.ExpOp, b(aten.MulTensorOp, b(aten.NegOp, x), y))
    return _reduced(b, op, b(aten.Log1pOp, power))


def _xlog1py(b: Chain, x: SSAValue | Number, y: SSAValue | Number) -> SSAValue:
    """`x * log(1 + y)`, 0 where `x` is, unless `y` is NaN."""
    if not isinstance(y, SSAValue):
        nan = math.isnan(y)
        log = b.number(math.nan if nan or y < -1 else -math.inf if y == -1 else math.log1p(y))
        assert isinstance(x, SSAValue)
        product = b(aten.MulTensorOp, x, log)
        if nan:
            return product
        return b(aten.WhereSelfOp, b(aten.EqScalarOp, x, 0), b.scalar(0, meta(product).dtype), product)
    log = b(aten.Log1pOp, y)
    product = b(aten.MulTensorOp, x if isinstance(x, SSAValue) else b.number(x), log)
    if not isinstance(x, SSAValue) and x != 0:
        return product
    zero = b.scalar(0, meta(product).dtype)
    there = b(aten.LogicalNotOp, b(aten.IsnanOp, y))
    if not isinstance(x, SSAValue):
        return b(aten.WhereSelfOp, there, zero, product)
    return b(aten.WhereSelfOp, b(aten.LogicalAndOp, b(aten.EqScalarOp, x, 0), there), zero, product)


@decomposes(aten.SpecialXlog1pyOp, aten.SpecialXlog1pyOtherScalarOp, aten.SpecialXlog1pySelfScalarOp)
def xlog1py(b: Chain, op: aten.SpecialXlog1pyOp) -> SSAValue | None:
    x: SSAValue | Number = op.arg("self")
    y: SSAValue | Number = op.arg("other")
    if not meta(op.result).dtype.is_float:
        return None
    return b.to(_xlog1py(b, x, y), meta(op.result).dtype)
