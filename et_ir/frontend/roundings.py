"""Roundings of floats that sizes are computed to, as divisions of integers.

    math.ceil(s77 / 3)                    ->    -(-s77 // 3)
    math.ceil((s77 // 16 - 0.5) / 1.0)    ->    s77 // 16
    math.trunc(s77 * 1.3)                 ->    13 * s77 // 10

They give the same numbers where floats hold what is rounded: sums and products of integers with fractions whose
denominators are powers of two are exact, and a quotient of integers is on the side of each integer, and of each half,
on which the fraction is. A product with a factor that is no such fraction is on the side of each integer on which the
product with a decimal is, but where this is an integer itself: there it may be on the side on which the factor is of
the decimal. Sizes are taken to be below 2**36.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any, Final, cast

import sympy
from torch.utils._sympy import functions

__all__ = ["ROUNDINGS", "whole_number"]

# Sympy has no types that a checker could follow.
_Integer: Any = cast(Any, sympy).Integer
_functions: Any = functions

ROUNDINGS: Final = {
    "CeilToInt": "ceil",
    "ceiling": "ceil",
    "FloorToInt": "floor",
    "floor": "floor",
    "TruncToInt": "trunc",
    "RoundToInt": "round",
}
"""Names of roundings by their classes in sympy and torch."""

_LARGEST: Final = 2**16
"""The largest numerator and denominator of a constant."""


_LARGEST_DECIMAL: Final = 1000
"""The largest denominator of a fraction that a factor stands for."""
_HALF_ULP: Final = Fraction(1, 2**53)
"""Half of the distance of neighboring floats, to the larger of the two at most."""


def whole_number(name: str, number: Any) -> Any:
    """`ceil`, `floor`, `trunc` or `round` of an expression of sympy, without floats; `None` where that is not exact."""
    found = _fraction(number) or _decimal(name, number)
    if found is None:
        return None
    numerator, denominator = found
    if denominator == 1:
        return numerator
    below, above = _functions.FloorDiv(numerator, denominator), -_functions.FloorDiv(-numerator, denominator)
    match name:
        case "ceil":
            return above
        case "floor":
            return below
        case "trunc":
            return below if numerator.is_nonnegative else _functions.Max(below, 0) + _functions.Min(above, 0)
        case _:
            # The nearest, of two that are equally near the even one.
            doubled = 2 * numerator + denominator
            nearest = _functions.FloorDiv(doubled, 2 * denominator)
            if denominator % 2:
                return nearest
            between = 1 - _functions.Min(_functions.PythonMod(doubled, 2 * denominator), 1)
            return nearest - between * _functions.PythonMod(nearest, 2)


def _fraction(number: Any) -> tuple[Any, int] | None:
    """What is rounded as an integer expression and a positive denominator. The last quotient may be any, as nothing
    else is computed from it.
    """
    if type(number).__name__ in ("IntTrueDiv", "FloatTrueDiv"):
        dividend, divisor = _exact(number.args[0]), _exact(number.args[1])
        if dividend is None or divisor is None or not divisor[0].is_Integer or divisor[0] == 0:
            return None
        ratio = Fraction(divisor[1], int(divisor[0])) / dividend[1]
        return dividend[0] * ratio.numerator, ratio.denominator
    return _exact(number)


def _decimal(name: str, number: Any) -> tuple[Any, int] | None:
    """What is rounded down or up, in the stead of a product of a size and a float that is near a decimal."""
    if not (number.is_Mul and len(number.args) == 2 and number.args[0].is_Float):
        return None
    size = _exact(number.args[1])
    factor = float(number.args[0])
    ratio = Fraction(factor).limit_denominator(_LARGEST_DECIMAL)
    if size is None or size[1] != 1 or not size[0].is_nonnegative or not 0 < ratio.numerator <= _LARGEST:
        return None
    beyond = Fraction(factor) - ratio
    if abs(beyond) > ratio * _HALF_ULP:
        return None
    # The nearest float of a product is the integer itself where the float is this near, else one on its side of it.
    is_near = abs(beyond) <= ratio * _HALF_ULP / 2
    sides = {"floor": beyond > 0, "trunc": beyond > 0, "ceil": beyond < 0}
    if name not in sides or not (is_near or sides[name]):
        return None
    return size[0] * ratio.numerator, ratio.denominator


def _exact(number: Any) -> tuple[Any, int] | None:
    """A number that floats hold: an integer expression, over a power of two."""
    name = type(number).__name__
    if number.is_Float or number.is_Rational:
        ratio = Fraction(float(number)) if number.is_Float else Fraction(int(number.p), int(number.q))
        return _constant(ratio)
    if name in ("ToFloat", "Identity"):
        return _exact(number.args[0])
    if name in ("IntTrueDiv", "FloatTrueDiv"):
        found = _fraction(number)
        return found if found is not None and _is_power_of_two(found[1]) else None
    if number.is_Add or number.is_Mul:
        parts = [_exact(part) for part in number.args]
        if None in parts:
            return None
        known = cast("list[tuple[Any, int]]", parts)
        if number.is_Mul:
            product, denominator = _Integer(1), 1
            for numerator, below in known:
                product, denominator = product * numerator, denominator * below
            return (product, denominator) if denominator <= _LARGEST else None
        denominator = lcm(*(below for _, below in known))
        return sum(numerator * (denominator // below) for numerator, below in known), denominator
    return (number, 1) if number.is_integer else None


def _constant(ratio: Fraction) -> tuple[Any, int] | None:
    held = _is_power_of_two(ratio.denominator) and max(abs(ratio.numerator), ratio.denominator) <= _LARGEST
    return (_Integer(ratio.numerator), ratio.denominator) if held else None


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
