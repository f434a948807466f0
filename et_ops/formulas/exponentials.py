"""Formulas of exponentials and logarithms."""

from __future__ import annotations

from math import log

from et_ops.formulas.builder import Builder, Value
from et_ops.formulas.registry import formula


@formula("exp2")
def exp2(b: Builder[Value], x: Value) -> Value:
    """A power: the exponential of `x log 2` would have the error of this product, times `x`."""
    return b.pow(b.number(2.0, x), x)


@formula("expm1")
def expm1(b: Builder[Value], x: Value) -> Value:
    """`tanh(x / 2) (exp(x) + 1)`, whose first factor is exact near zero, and the second where that is one."""
    return b.mul(b.tanh(b.mul(x, 0.5)), b.add(b.exp(x), 1.0))


@formula("log1p")
def log1p(b: Builder[Value], x: Value) -> Value:
    """`log(u) x / (u - 1)` of `u = 1 + x`: the quotient makes good what is lost in rounding the sum.

    Source: Hewlett-Packard, HP-15C Advanced Functions Handbook. Near zero it is `x`, and infinite as `x` is.
    """
    # No sum of one: OpenVINO takes `log(exp(y) + 1)` for a node of its own, of which the quotient is not the error.
    sum_ = b.sub(x, -1.0)
    rounded = b.sub(sum_, 1.0)
    logarithm = b.log(sum_)
    exact = b.mul(logarithm, b.div(x, rounded))
    exact = b.select(b.eq(rounded, x), logarithm, exact)
    return b.select(b.eq(rounded, 0.0), x, exact)


@formula("log2")
def log2(b: Builder[Value], x: Value) -> Value:
    return b.mul(b.log(x), 1 / log(2))


@formula("log10")
def log10(b: Builder[Value], x: Value) -> Value:
    return b.mul(b.log(x), 1 / log(10))


@formula("logit")
def logit(b: Builder[Value], x: Value, eps: float | None = None) -> Value:
    """The error is that of the quotient, relative to one where the result is near zero."""
    if eps is not None and eps >= 0:
        x = b.clamp(x, float(eps), 1 - float(eps))
    return b.log(b.div(x, b.sub(b.number(1.0, x), x)))
