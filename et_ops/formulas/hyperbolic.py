"""Formulas of hyperbolic functions, their inverses, and the tangent."""

from __future__ import annotations

from math import log, nan

from et_ops.formulas.builder import Builder, Value
from et_ops.formulas.registry import formula

LARGE = 2.0**30
"""From here on what is added to a square does not matter, and before it squares are finite."""


@formula("tan")
def tan(b: Builder[Value], x: Value) -> Value:
    return b.div(b.sin(x), b.cos(x))


@formula("sinh")
def sinh(b: Builder[Value], x: Value) -> Value:
    """`2 sinh(x / 2) cosh(x / 2)` with `exp(y) - 1`: exact near zero, and finite where the result is."""
    half = b.mul(x, 0.5)
    up, down = b.expm1(half), b.expm1(b.neg(half))
    return b.mul(b.mul(b.sub(up, down), 0.5), b.add(b.add(up, down), 2.0))


@formula("cosh")
def cosh(b: Builder[Value], x: Value) -> Value:
    """`(p p + 1 / (p p)) / 2` with `p = exp(|x| / 2)`, in an order that is finite where the result is."""
    root = b.exp(b.mul(b.abs(x), 0.5))
    half = b.mul(root, 0.5)
    return b.add(b.mul(half, root), b.div(b.div(b.number(0.5, x), root), root))


@formula("asinh")
def asinh(b: Builder[Value], x: Value) -> Value:
    """`log(|x| + sqrt(x x + 1))`, with the sign of `x`."""
    size = b.abs(x)
    square = b.mul(size, size)
    root = b.sqrt(b.add(square, 1.0))
    near = b.log1p(b.add(size, b.div(square, b.add(root, 1.0))))
    far = b.add(b.log(size), log(2))
    return b.copysign(b.select(b.gt(size, LARGE), far, near), x)


@formula("acosh")
def acosh(b: Builder[Value], x: Value) -> Value:
    """`log(x + sqrt(x x - 1))`, with `t = x - 1`, which is exact near one."""
    t = b.sub(x, 1.0)
    root = b.sqrt(b.mul(t, b.add(t, 2.0)))
    near = b.select(b.lt(x, 1.0), b.number(nan, x), b.log1p(b.add(t, root)))
    far = b.add(b.log(x), log(2))
    return b.select(b.gt(x, LARGE), far, near)


@formula("atanh")
def atanh(b: Builder[Value], x: Value) -> Value:
    """`log((1 + |x|) / (1 - |x|)) / 2`, with the sign of `x`."""
    size = b.abs(x)
    ratio = b.div(b.add(size, size), b.sub(b.number(1.0, size), size))
    half = b.mul(b.log1p(ratio), 0.5)
    return b.copysign(b.select(b.gt(size, 1.0), b.number(nan, size), half), x)
