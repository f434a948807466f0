"""Roundings as divisions of integers, with the results of Python's floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import pytest
import sympy as untyped_sympy
from torch.utils._sympy import functions

from et_ir.frontend.expressions import expression_of
from et_ir.frontend.roundings import whole_number
from et_ops.sizes import Expression

sympy = cast(Any, untyped_sympy)
FloatTrueDiv: Any = functions.FloatTrueDiv
IntTrueDiv: Any = functions.IntTrueDiv
ToFloat: Any = functions.ToFloat
S = sympy.Symbol("s", integer=True, positive=True)
U = sympy.Symbol("u", integer=True)
FUNCTIONS: dict[str, Callable[[float], int]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "trunc": math.trunc,
    "round": round,
}
Number = Callable[[int], float]
NUMBERS: list[tuple[Callable[[Any], Any], Number]] = [
    (lambda s: IntTrueDiv(s, 3), lambda n: n / 3),
    (lambda s: IntTrueDiv(s, 4), lambda n: n / 4),
    (lambda s: IntTrueDiv(s, -6), lambda n: n / -6),
    (lambda s: IntTrueDiv(5 * s + 2, 7), lambda n: (5 * n + 2) / 7),
    (lambda s: ToFloat(s) * 0.75, lambda n: n * 0.75),
    (lambda s: ToFloat(s) * 1.5 - 0.25, lambda n: n * 1.5 - 0.25),
    (lambda s: FloatTrueDiv(ToFloat(s) - 0.5, 1.0), lambda n: (n - 0.5) / 1.0),
    (lambda s: FloatTrueDiv(ToFloat(s) - 0.5, 3.0), lambda n: (n - 0.5) / 3.0),
    (lambda s: FloatTrueDiv(ToFloat(s) * 2.0 + 1.0, 0.5), lambda n: (n * 2.0 + 1.0) / 0.5),
    (lambda s: IntTrueDiv(s, 2) + 0.5, lambda n: n / 2 + 0.5),
]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("place", range(len(NUMBERS)))
def test_results_of_floats(name: str, place: int) -> None:
    symbolic, number = NUMBERS[place]
    for symbol, values in ((S, (*range(1, 60), 2**36)), (U, (*range(-60, 60), -(2**36)))):
        found = whole_number(name, symbolic(symbol))
        made = expression_of(found)
        assert isinstance(made, Expression)
        for value in values:
            expected = FUNCTIONS[name](number(value))
            assert found.xreplace({symbol: sympy.Integer(value)}) == expected, (value, found)
            assert made.evaluate({str(symbol): value}) == expected


def test_what_floats_round_stays() -> None:
    for number in (
        ToFloat(S) * 1.1,
        ToFloat(U) * 1.3,
        ToFloat(S) * math.pi,
        FloatTrueDiv(ToFloat(S), 0.3),
        IntTrueDiv(S, 3) * 3.0,
        IntTrueDiv(1, S),
        IntTrueDiv(S, 3) + 0.5,
        sympy.sqrt(S),
    ):
        assert whole_number("ceil", number) is None


@pytest.mark.parametrize("factor", [0.1, 0.3, 0.7, 1.1, 1.15, 1.3, 1.4, 2.1, 2.7, 1 / 3, 0.625])
@pytest.mark.parametrize("name", ["ceil", "floor", "trunc"])
def test_decimals(name: str, factor: float) -> None:
    """Products are exact on the side of an integer on which the float is of the decimal, or near it on both."""
    found = whole_number(name, ToFloat(S) * factor)
    if found is None:
        assert any(
            FUNCTIONS[name](n * factor)
            != FUNCTIONS[name](cast(Any, Fraction(n) * Fraction(factor).limit_denominator(1000)))
            for n in range(1, 100_000)
        )
        return
    made = expression_of(found)
    assert isinstance(made, Expression)
    for value in (*range(1, 3000), *range(2**20, 2**20 + 1000), *range(2**34, 2**34 + 1000)):
        assert made.evaluate({str(S): value}) == FUNCTIONS[name](value * factor), value


def test_known_differences() -> None:
    """Sizes that come out as numbers: of a sequence, what is beside the patches of an image."""
    patches = sympy.ceiling(FloatTrueDiv(ToFloat(S) - 0.5, 1.0))
    assert expression_of(S + 3 - patches) == Expression.of(3)
