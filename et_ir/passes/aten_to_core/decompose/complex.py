"""Complex numbers and their parts as copies of interleaved memory."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, decomposes, is_static, meta
from et_ops.dtypes import F16, as_float


@decomposes(Reason.NONE, aten.ViewAsRealOp)
def view_as_real(b: Chain, op: aten.ViewAsRealOp) -> SSAValue:
    return b(aten.ViewAsRealCopyOp, op.self)


@decomposes(Reason.NONE, aten.ViewAsComplexOp)
def view_as_complex(b: Chain, op: aten.ViewAsComplexOp) -> SSAValue:
    return b(aten.ViewAsComplexCopyOp, op.self)


def _part(b: Chain, x: SSAValue, part: int) -> SSAValue:
    return b(aten.SelectIntOp, b(aten.ViewAsRealCopyOp, x), -1, part)


def _of_parts(b: Chain, real: SSAValue, imaginary: SSAValue) -> SSAValue:
    return b(aten.ViewAsComplexCopyOp, b(aten.StackOp, (real, imaginary), -1))


@decomposes(Reason.FEWER, aten.ComplexOp)
def complex_of(b: Chain, op: aten.ComplexOp) -> SSAValue | None:
    if meta(op.real).dtype is F16:
        return None
    if meta(op.real).shape != meta(op.imag).shape and not is_static(op.result):
        return None
    size = meta(op.result).shape
    return _of_parts(b, b.expand(op.real, size), b.expand(op.imag, size))


@decomposes(Reason.FEWER, aten.PolarOp)
def polar(b: Chain, op: aten.PolarOp) -> SSAValue | None:
    if meta(op.angle).dtype is F16:
        return None
    size, angle = op.arg("abs"), op.angle
    return _of_parts(
        b,
        b(aten.MulTensorOp, size, b(aten.CosOp, angle)),
        b(aten.MulTensorOp, size, b(aten.SinOp, angle)),
    )


@decomposes(Reason.NONE, aten.AngleOp)
def angle(b: Chain, op: aten.AngleOp) -> SSAValue:
    """Of real numbers: pi where they are negative, 0 else, and NaN for NaN."""
    x, dtype = op.self, as_float(meta(op.self).dtype)
    if dtype.is_complex:
        return b(aten.Atan2Op, _part(b, x, 1), _part(b, x, 0))
    negative = b(aten.LtScalarOp, x, 0)
    found = b(aten.WhereSelfOp, negative, b.scalar(math.pi, dtype), b.scalar(0, dtype))
    return b(aten.WhereSelfOp, b(aten.IsnanOp, x), x, found) if meta(x).dtype.is_float else found
