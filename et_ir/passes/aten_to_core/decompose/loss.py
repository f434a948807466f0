"""Losses that overflow where torch's kernels do."""

from __future__ import annotations

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, decomposes, meta

_MEAN, _SUM = 1, 2


@decomposes(Reason.EXACT, aten.SoftMarginLossOp)
def soft_margin_loss(b: Chain, op: aten.SoftMarginLossOp) -> SSAValue | None:
    """`log(1 + exp(-target * self))` in the type of the operands; torch's decomposition widens it."""
    x, y = op.self, op.target
    if meta(x).dtype is not meta(y).dtype or not meta(x).dtype.is_float:
        return None
    loss = b(aten.Log1pOp, b(aten.ExpOp, b(aten.MulTensorOp, b(aten.NegOp, x), y)))
    if op.reduction == _MEAN:
        return b(aten.MeanDimOp, loss, ())
    return b(aten.SumDimIntListOp, loss, ()) if op.reduction == _SUM else loss
