"""Complex numbers and their parts as copies of interleaved memory.

Products of numbers that are made of real parts, of which nothing but the parts is read, are computed in real numbers:
those of rotary embeddings. Runtimes and backends without complex numbers can execute them, whatever their sizes.
"""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.dialects.program import LiteralOp
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, decomposes, is_static, meta
from et_ops.dtypes import F16, as_float


@decomposes(Reason.NONE, aten.ViewAsRealOp)
def view_as_real(b: Chain, op: aten.ViewAsRealOp) -> SSAValue:
    parts = _interleaved(b, op.self)
    return b(aten.ViewAsRealCopyOp, op.self) if parts is None else parts


@decomposes(Reason.NONE, aten.ViewAsComplexOp)
def view_as_complex(b: Chain, op: aten.ViewAsComplexOp) -> SSAValue:
    return b(aten.ViewAsComplexCopyOp, op.self)


def _part(b: Chain, x: SSAValue, part: int) -> SSAValue:
    return b(aten.SelectIntOp, b(aten.ViewAsRealCopyOp, x), -1, part)


def _interleaved(b: Chain, x: SSAValue) -> SSAValue | None:
    """The parts side by side of numbers that were made of such; `None`, and nothing is built, for other numbers."""
    op = x.owner
    if isinstance(op, aten.ViewAsComplexCopyOp):
        return op.self
    if isinstance(op, aten.UnsqueezeOp):
        parts = _interleaved(b, op.self)
        return None if parts is None else b(aten.UnsqueezeOp, parts, op.dim % meta(x).rank)
    if isinstance(op, aten.MulTensorOp):
        return _product(b, op)
    return None


def _product(b: Chain, op: aten.MulTensorOp) -> SSAValue | None:
    """The parts side by side of a product by a Python number, or of two complex factors, one of them made of parts."""
    if any(isinstance(x.owner, LiteralOp) for x in (op.self, op.other)):
        number, factor = sorted((op.self, op.other), key=lambda x: not isinstance(x.owner, LiteralOp))
        parts = _interleaved(b, factor)
        return None if parts is None else b(aten.MulTensorOp, parts, number)
    if not op.result.has_one_use() or any(
        meta(x).dtype is not meta(op.result).dtype for x in (op.self, op.other)
    ):
        return None
    factors = [(x, _interleaved(b, x)) for x in (op.self, op.other)]
    if all(parts is None for _, parts in factors):
        return None
    (a, i), (c, j) = (
        [b(aten.SelectIntOp, parts, -1, part) for part in (0, 1)]
        for parts in (b(aten.ViewAsRealCopyOp, x) if known is None else known for x, known in factors)
    )
    real = b(aten.SubTensorOp, b(aten.MulTensorOp, a, c), b(aten.MulTensorOp, i, j))
    imaginary = b(aten.AddTensorOp, b(aten.MulTensorOp, a, j), b(aten.MulTensorOp, i, c))
    return b(aten.StackOp, (real, imaginary), -1)


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
