"""Formulas of arithmetic, powers and rounding."""

from __future__ import annotations

from math import isnan, nan

from et_ops.formulas.builder import Builder, LacksFunction, Value
from et_ops.formulas.registry import formula

# Operators of a tensor and a tensor or a number.


@formula("add.Tensor", "add.Scalar")
def add(b: Builder[Value], x: Value, other: Value | float, alpha: float = 1) -> Value:
    return b.add(x, _scaled(b, other, alpha))


@formula("sub.Tensor", "sub.Scalar")
def sub(b: Builder[Value], x: Value, other: Value | float, alpha: float = 1) -> Value:
    return b.sub(x, _scaled(b, other, alpha))


@formula("rsub.Scalar")
def rsub(b: Builder[Value], x: Value, other: float, alpha: float = 1) -> Value:
    number = b.number(float(other), x)
    return b.sub(number, _scaled(b, x, alpha))


def _scaled(b: Builder[Value], other: Value | float, alpha: float) -> Value | float:
    if isinstance(other, (int, float)):
        return float(other) * float(alpha)
    return other if alpha == 1 else b.mul(other, float(alpha))


@formula("mul.Tensor", "mul.Scalar")
def mul(b: Builder[Value], x: Value, other: Value | float) -> Value:
    return b.mul(x, other)


@formula("div.Tensor", "div.Scalar")
def div(b: Builder[Value], x: Value, other: Value | float) -> Value:
    return b.div(x, other)


@formula("div.Tensor_mode", "div.Scalar_mode")
def div_with_mode(b: Builder[Value], x: Value, other: Value | float, mode: str | None) -> Value:
    """Rounded toward zero; down, it would need exact remainders, which a quotient does not give."""
    if mode == "floor":
        raise LacksFunction("remainder")
    quotient = b.div(x, other)
    return b.trunc(quotient) if mode == "trunc" else quotient


@formula("neg")
def neg(b: Builder[Value], x: Value) -> Value:
    return b.mul(x, -1.0)


@formula("copysign")
def copysign(b: Builder[Value], size: Value, sign: Value) -> Value:
    """By the sum of `sign` and its reciprocal, which is infinite where `sign` is a zero, and has the sign of it."""
    is_negative = b.lt(b.add(sign, b.reciprocal(sign)), 0.0)
    return b.select(is_negative, b.neg(size), size)


@formula("reciprocal")
def reciprocal(b: Builder[Value], x: Value) -> Value:
    return b.div(b.number(1.0, x), x)


@formula("square")
def square(b: Builder[Value], x: Value) -> Value:
    return b.mul(x, x)


@formula("rsqrt")
def rsqrt(b: Builder[Value], x: Value) -> Value:
    return b.reciprocal(b.sqrt(x))


@formula("pow.Tensor_Scalar")
def power(b: Builder[Value], x: Value, exponent: float) -> Value:
    """Products, roots and reciprocals for the exponents of networks."""
    match float(exponent):
        case 1.0:
            return x
        case 2.0:
            return b.square(x)
        case 3.0:
            return b.mul(b.square(x), x)
        case 0.5:
            return b.sqrt(x)
        case -0.5:
            return b.rsqrt(x)
        case -1.0:
            return b.reciprocal(x)
        case other:
            return b.pow(x, other)


@formula("pow.Tensor_Tensor")
def power_of_tensor(b: Builder[Value], x: Value, exponent: Value) -> Value:
    return b.pow(x, exponent)


@formula("pow.Scalar")
def power_of_number(b: Builder[Value], base: float, exponent: Value) -> Value:
    return b.pow(b.number(float(base), exponent), exponent)


@formula("clamp")
def clamp(b: Builder[Value], x: Value, low: float | None, high: float | None = None) -> Value:
    """Between bounds, the upper one where they cross. A NaN stays one, and makes all NaN as a bound."""
    if any(bound is not None and isnan(bound) for bound in (low, high)):
        return b.add(x, nan)
    if low is not None:
        x = b.maximum(x, float(low))
    return x if high is None else b.minimum(x, float(high))


@formula("hardtanh")
def hardtanh(b: Builder[Value], x: Value, low: float = -1, high: float = 1) -> Value:
    return b.clamp(x, low, high)


@formula("clamp.Tensor")
def clamp_by_tensors(b: Builder[Value], x: Value, low: Value | None, high: Value | None = None) -> Value:
    if low is not None:
        x = b.maximum(x, low)
    return x if high is None else b.minimum(x, high)


@formula("sign")
def sign(b: Builder[Value], x: Value) -> Value:
    """0 for a NaN."""
    below = b.select(b.lt(x, 0.0), b.number(-1.0, x), b.number(0.0, x))
    return b.select(b.gt(x, 0.0), b.number(1.0, x), below)


@formula("trunc")
def trunc(b: Builder[Value], x: Value) -> Value:
    return b.select(b.lt(x, 0.0), b.ceil(x), b.floor(x))
