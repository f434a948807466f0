"""Inverse functions of complex tensors on their parts, by Kahan's formulas ("Branch cuts for complex elementary
functions", 1987): products of square roots, so that nothing cancels.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from et_ir.dialects.edge import ops as edge
from et_ir.passes.to_executorch.fit_kernels.complex_arithmetic import product, root
from et_ir.passes.to_executorch.fit_kernels.complex_parts import Pair, Parts, on_parts


def _plus(b: Parts, x: Pair, number: float) -> Pair:
    return Pair(b(edge.AddScalarOp, x.real, number), x.imag)


def _conjugate(b: Parts, x: Pair) -> Pair:
    return Pair(x.real, b.neg(x.imag))


def _roots(b: Parts, x: Pair) -> tuple[Pair, Pair]:
    """The roots of 1 - x and 1 + x."""
    return root(b, _plus(b, Pair(b.neg(x.real), b.neg(x.imag)), 1)), root(b, _plus(b, x, 1))


def _angle(b: Parts, y: SSAValue, x: SSAValue) -> SSAValue:
    return b(edge.Atan2Op, y, x)


def arcsine(b: Parts, x: Pair) -> Pair:
    """asin(x)."""
    less, more = _roots(b, x)
    imag = product(b, _conjugate(b, less), more).imag
    return Pair(_angle(b, x.real, product(b, less, more).real), b(edge.AsinhOp, imag))


def area_tangent(b: Parts, x: Pair) -> Pair:
    """atanh(x)."""
    less, more = b(edge.RsubScalarOp, x.real, 1), b(edge.AddScalarOp, x.real, 1)
    square = b.mul(x.imag, x.imag)
    ratio = b.div(b.mul(x.real, 4), b.add(b.mul(less, less), square))
    angle = _angle(b, b.mul(x.imag, 2), b.sub(b.mul(less, more), square))
    return Pair(b.mul(b(edge.Log1pOp, ratio), 0.25), b.mul(angle, 0.5))


@on_parts(edge.AsinOp)
def asin(b: Parts, op: edge.AsinOp) -> Pair:
    return arcsine(b, b.of(op.operands[0]))


@on_parts(edge.AsinhOp)
def asinh(b: Parts, op: edge.AsinhOp) -> Pair:
    """i asin(-i x)."""
    x = b.of(op.operands[0])
    found = arcsine(b, Pair(x.imag, b.neg(x.real)))
    return Pair(b.neg(found.imag), found.real)


@on_parts(edge.AcosOp)
def acos(b: Parts, op: edge.AcosOp) -> Pair:
    less, more = _roots(b, b.of(op.operands[0]))
    imag = product(b, _conjugate(b, more), less).imag
    return Pair(b.mul(_angle(b, less.real, more.real), 2), b(edge.AsinhOp, imag))


@on_parts(edge.AcoshOp)
def acosh(b: Parts, op: edge.AcoshOp) -> Pair:
    x = b.of(op.operands[0])
    less, more = root(b, _plus(b, x, -1)), root(b, _plus(b, x, 1))
    real = product(b, _conjugate(b, less), more).real
    return Pair(b(edge.AsinhOp, real), b.mul(_angle(b, less.imag, more.real), 2))


@on_parts(edge.AtanhOp)
def atanh(b: Parts, op: edge.AtanhOp) -> Pair:
    return area_tangent(b, b.of(op.operands[0]))


@on_parts(edge.AtanOp)
def atan(b: Parts, op: edge.AtanOp) -> Pair:
    """-i atanh(i x)."""
    x = b.of(op.operands[0])
    found = area_tangent(b, Pair(b.neg(x.imag), x.real))
    return Pair(found.imag, b.neg(found.real))
