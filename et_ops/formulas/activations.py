"""Formulas of activation functions."""

from __future__ import annotations

from math import inf, isfinite, pi, sqrt

from et_ops.formulas.builder import Builder, LacksFunction, Value
from et_ops.formulas.registry import formula


@formula("relu")
def relu(b: Builder[Value], x: Value) -> Value:
    return b.clamp(x, 0.0, None)


@formula("sigmoid")
def sigmoid(b: Builder[Value], x: Value) -> Value:
    """`1 / (1 + exp(-x))`, where an exponential that overflows gives the zero that it should."""
    return b.reciprocal(b.add(b.exp(b.neg(x)), 1.0))


@formula("silu")
def silu(b: Builder[Value], x: Value) -> Value:
    return b.mul(x, b.sigmoid(x))


@formula("gelu")
def gelu(b: Builder[Value], x: Value, approximate: str = "none") -> Value:
    """`x` times the normal distribution, or Hendrycks and Gimpel's approximation of it.

    The error is relative to `x`, not to the tail that the distribution has below zero.
    """
    half = b.mul(x, 0.5)
    if approximate == "none":
        curve = b.erf(b.mul(x, sqrt(0.5)))
    else:
        # sqrt(2 / pi) (x + 0.044715 x**3), as x (a + c x**2)
        factor = sqrt(2 / pi)
        inner = b.add(b.mul(b.square(x), 0.044715 * factor), factor)
        curve = b.tanh(b.mul(x, inner))
    return b.mul(half, b.add(curve, 1.0))


@formula("hardsigmoid")
def hardsigmoid(b: Builder[Value], x: Value) -> Value:
    return b.mul(b.clamp(b.add(x, 3.0), 0.0, 6.0), 1 / 6)


@formula("hardswish")
def hardswish(b: Builder[Value], x: Value) -> Value:
    """Finite where torch's product, `6 x` before it is divided, overflows."""
    return b.mul(x, b.operator("hardsigmoid", x))


@formula("leaky_relu")
def leaky_relu(b: Builder[Value], x: Value, negative_slope: float = 0.01) -> Value:
    scaled = b.mul(x, float(negative_slope))
    return b.select(b.gt(x, 0.0), x, scaled)


@formula("elu")
def elu(b: Builder[Value], x: Value, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Value:
    """`scale x` above zero, `scale alpha (exp(input_scale x) - 1)` below.

    A zero belongs to what is above, where an infinite factor does not make it a NaN.
    """
    above = x if scale == 1 else b.mul(x, float(scale))
    inner = x if input_scale == 1 else b.mul(x, float(input_scale))
    below = b.mul(b.expm1(inner), float(alpha) * float(scale))
    return b.select(b.lt(x, 0.0), below, above)


@formula("elu")
def elu_by_parts(
    b: Builder[Value], x: Value, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> Value:
    """As above, of the positive and the negative part, one of which is zero: without selection. -0.0 may become 0.0."""
    if not all(map(isfinite, (alpha, scale, input_scale))):
        raise LacksFunction("select")
    inner = b.minimum(x, 0.0)
    inner = inner if input_scale == 1 else b.mul(inner, float(input_scale))
    # The function of the builder's own, of which the scales are one.
    below = b.operator("elu", inner, 1.0, 1.0, 1.0)
    factor = float(alpha) * float(scale)
    below = below if factor == 1 else b.mul(below, factor)
    above = b.maximum(x, 0.0)
    above = above if scale == 1 else b.mul(above, float(scale))
    return b.add(above, below)


@formula("threshold")
def threshold(b: Builder[Value], x: Value, threshold: float, value: float) -> Value:
    return b.select(b.le(x, float(threshold)), b.number(float(value), x), x)


@formula("softplus")
def softplus(b: Builder[Value], x: Value, beta: float = 1, threshold: float = 20) -> Value:
    """`log(1 + exp(beta x)) / beta`, and `x` where `beta x` is above a threshold.

    By `max(y, 0) + log1p(exp(-|y|))`, which neither overflows nor cancels.
    """
    scaled = x if beta == 1 else b.mul(x, float(beta))
    soft = b.log1p(b.exp(b.neg(b.abs(scaled))))
    soft = b.add(b.maximum(scaled, 0.0), soft)
    soft = soft if beta == 1 else b.div(soft, float(beta))
    return soft if threshold == inf else b.select(b.gt(scaled, float(threshold)), x, soft)


@formula("mish")
def mish(b: Builder[Value], x: Value) -> Value:
    return b.mul(x, b.tanh(b.operator("softplus", x, 1.0, 20.0)))
