"""Activation functions that Core ATen does not have."""

from __future__ import annotations

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Number, Reason, decomposes, meta
from et_ops.dtypes import BOOL, U8


@decomposes(Reason.COMMON, aten.SiluOp)
def silu(b: Chain, op: aten.SiluOp) -> SSAValue | None:
    if not meta(op.self).dtype.is_float:
        return None
    x = b.wide(op.self)
    return b.to(b(aten.MulTensorOp, x, b(aten.SigmoidOp, x)), meta(op.self).dtype)


def _hard_gate(b: Chain, x: SSAValue) -> SSAValue:
    """`clamp(x + 3, 0, 6)`."""
    return b(aten.HardtanhOp, b(aten.AddScalarOp, x, 3), 0, 6)


@decomposes(Reason.FEWER, aten.HardsigmoidOp)
def hardsigmoid(b: Chain, op: aten.HardsigmoidOp) -> SSAValue:
    x = b.wide(op.self)
    return b.to(b(aten.DivScalarOp, _hard_gate(b, x), 6), meta(op.self).dtype)


@decomposes(Reason.FEWER, aten.HardswishOp)
def hardswish(b: Chain, op: aten.HardswishOp) -> SSAValue:
    x = b.wide(op.self)
    y = b(aten.DivScalarOp, b(aten.MulTensorOp, x, _hard_gate(b, x)), 6)
    return b.to(y, meta(op.self).dtype)


@decomposes(Reason.KERNEL, aten.HardtanhOp)
def hardtanh(b: Chain, op: aten.HardtanhOp) -> SSAValue | None:
    """Kernels of `hardtanh` take no unsigned integers."""
    if meta(op.self).dtype is not U8:
        return None
    return b(aten.ClampOp, op.self, int(op.arg("min_val")), int(op.arg("max_val")))


@decomposes(Reason.COMMON, aten.Relu6Op)
def relu6(b: Chain, op: aten.Relu6Op) -> SSAValue:
    return b(aten.HardtanhOp, op.self, 0, 6)


def _softplus(b: Chain, x: SSAValue, beta: Number, threshold: Number) -> SSAValue:
    scaled = x if beta == 1 else b(aten.MulScalarOp, x, beta)
    soft = b(aten.Log1pOp, b(aten.ExpOp, scaled))
    soft = soft if beta == 1 else b(aten.DivScalarOp, soft, beta)
    return b(aten.WhereSelfOp, b(aten.GtScalarOp, scaled, threshold), x, soft)


@decomposes(Reason.COMMON, aten.SoftplusOp)
def softplus(b: Chain, op: aten.SoftplusOp) -> SSAValue | None:
    if isinstance(op.beta, SSAValue) or isinstance(op.threshold, SSAValue):
        return None
    return b.to(_softplus(b, b.wide(op.self), op.beta, op.threshold), meta(op.self).dtype)


@decomposes(Reason.COMMON, aten.MishOp)
def mish(b: Chain, op: aten.MishOp) -> SSAValue:
    x = b.wide(op.self)
    return b.to(b(aten.MulTensorOp, x, b(aten.TanhOp, _softplus(b, x, 1, 20))), meta(op.self).dtype)


@decomposes(Reason.COMMON, aten.SeluOp)
def selu(b: Chain, op: aten.SeluOp) -> SSAValue:
    return b(aten.EluOp, op.self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@decomposes(Reason.FEWER, aten.CeluOp)
def celu(b: Chain, op: aten.CeluOp) -> SSAValue | None:
    if isinstance(op.alpha, SSAValue):
        return None
    return b(aten.EluOp, op.self, op.alpha, 1, 1 / op.alpha)


@decomposes(Reason.COMMON, aten.PreluOp)
def prelu(b: Chain, op: aten.PreluOp) -> SSAValue:
    """A weight for each channel, dimension 1, or for all."""
    x, weight = op.self, op.weight
    rank = meta(x).rank
    if meta(weight).shape not in ((), (1,)) and rank > 1:
        weight = b.view(weight, (1, b.size(weight, 0), *(1,) * (rank - 2)))
    elif rank == 0:
        weight = b.view(weight, ())
    return _leaky(b, x, weight)


def _leaky(b: Chain, x: SSAValue, slope: SSAValue) -> SSAValue:
    return b(aten.WhereSelfOp, b(aten.GtScalarOp, x, 0), x, b(aten.MulTensorOp, x, slope))


@decomposes(Reason.FEWER, aten.SoftshrinkOp)
def softshrink(b: Chain, op: aten.SoftshrinkOp) -> SSAValue | None:
    """Clamp of `x` that keeps NaN, as torch does."""
    if isinstance(op.lambd, SSAValue):
        return None
    x = op.self
    return b(aten.SubTensorOp, x, b(aten.HardtanhOp, x, -op.lambd, op.lambd))


@decomposes(Reason.FEWER, aten.GluOp)
def glu(b: Chain, op: aten.GluOp) -> SSAValue | None:
    size = meta(op.self).shape[op.dim]
    if size < 0:
        return None
    x, gate = b.results(aten.SplitWithSizesOp, op.self, (size // 2, size // 2), op.dim)
    return b(aten.MulTensorOp, x, b(aten.SigmoidOp, gate))


@decomposes(Reason.COMMON, aten.NativeDropoutOp)
def native_dropout(b: Chain, op: aten.NativeDropoutOp) -> tuple[SSAValue, SSAValue] | None:
    """Outside of training, `native_dropout` too is the identity, and its mask is all ones."""
    if op.train is not False:
        return None
    return op.input, b.full(b.sizes(op.input), True, BOOL)
