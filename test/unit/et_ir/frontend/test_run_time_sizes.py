"""Conditions on sizes of a trace: whether they are so for all sizes in the ranges."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._sympy import functions
from torch.utils._sympy.functions import FloatPow, FloatTrueDiv, FloorDiv, IntTrueDiv, Mod, ToFloat

from et_ir.frontend.run_time_sizes import Like, SymbolicSizes, expression, numberings
from et_ops.intervals import Interval
from et_ops.sizes import Expression


def first_assumption(make: Any, least: int | None, most: int | None) -> str | None:
    """What `make` states of a size if it is not so for all sizes of a range."""
    env = ShapeEnv()
    sizes = SymbolicSizes(env, lambda tensor, dim, rank: 0, {"n": Interval(least, most)})
    with FakeTensorMode(shape_env=env):
        (tensor,) = sizes.tensors([Like((Expression.of("n"),), torch.float32)])
    env.guards.append(SimpleNamespace(expr=make(expression(tensor.shape[0]))))  # pyright: ignore[reportArgumentType]
    return sizes.first_assumption()


@pytest.mark.parametrize(
    ("make", "least", "most", "expected"),
    [
        (lambda n: sympy.Ge(n, 3), 3, 24, True),
        (lambda n: sympy.Ge(n, 4), 3, 24, False),
        (lambda n: sympy.Eq(FloorDiv(2 * n, 2), n), 2, 24, True),
        (lambda n: sympy.Eq(Mod(n, 2), 0), 2, 24, False),
        (lambda n: sympy.Eq(sympy.Min(n, 3), 3), 3, 9, True),
        (lambda n: sympy.Ge(n, 3), 3, None, True),
        (lambda n: sympy.Ge(n, 4), 3, None, False),
        (lambda n: sympy.Eq(Mod(n * n + n, 2), 0), 3, 24, True),
        (lambda n: sympy.Eq(Mod(n * n + n, 2), 0), 3, None, False),
        (lambda n: sympy.Eq(Mod(n * n + n, 2), 0), 3, 1 << 20, False),
        (lambda n: sympy.Ge(FloorDiv(8, n), 1), 0, 8, False),
        (lambda n: sympy.Ge(IntTrueDiv(n, 3), 1.0), 3, 8, True),
        (lambda n: sympy.Ge(IntTrueDiv(n, 3), 1.5), 3, 8, False),
        (lambda n: sympy.Ge(FloatTrueDiv(1.0, FloatPow(ToFloat(n), 0.5)), 0.0), 2, None, True),
        (lambda n: sympy.Ge(FloatTrueDiv(1.0, FloatPow(ToFloat(n), 0.5)), 0.0), 0, 8, False),
        (lambda n: sympy.Eq(Mod(n + 1, 2), 0), 1, 8, False),
        (lambda n: sympy.Ge(sympy.Function("other")(n), 1), 3, 8, False),
    ],
    ids=[
        *("in range", "not at its end", "quotient", "remainder", "minimum", "no upper end"),
        *("not at its end of none", "by cases", "no upper end of cases", "too many", "division by 0"),
        *(
            "true quotient",
            "another true quotient",
            "scale of attention",
            "scale of nothing",
            "sum in a remainder",
            "another function",
        ),
    ],
)
def test_conditions(make: Any, least: int, most: int | None, expected: bool) -> None:
    assert (first_assumption(make, least, most) is None) == expected


@pytest.mark.parametrize(
    ("make", "function"),
    [
        (lambda n: functions.FloorDiv(n * n, 3), lambda n: n * n // 3),
        (lambda n: functions.CleanDiv(n * n, 3), lambda n: n * n // 3),
        (lambda n: functions.Mod(n * n, 7), lambda n: n * n % 7),
        (lambda n: functions.PythonMod(n * n - 40, 7), lambda n: (n * n - 40) % 7),
        (lambda n: functions.Max(n * n, 5 * n - 3), lambda n: max(n * n, 5 * n - 3)),
        (lambda n: functions.Min(n * n, 5 * n - 3), lambda n: min(n * n, 5 * n - 3)),
        (lambda n: functions.ToFloat(n * n), lambda n: float(n * n)),
        (lambda n: functions.IntTrueDiv(n * n, 2), lambda n: n * n / 2),
        (lambda n: functions.FloatTrueDiv(functions.ToFloat(n * n), 2.0), lambda n: n * n / 2),
        (lambda n: functions.FloatPow(functions.ToFloat(n), 2.0), lambda n: n**2.0),
        (lambda n: functions.PowByNatural(2, n), lambda n: 2**n),
        (lambda n: functions.OpaqueUnaryFn_sqrt(n**4), lambda n: math.sqrt(n**4)),
        (lambda n: functions.CeilToInt(functions.IntTrueDiv(n * n, 2)), lambda n: math.ceil(n * n / 2)),
        (lambda n: functions.FloorToInt(functions.IntTrueDiv(n * n, 2)), lambda n: math.floor(n * n / 2)),
        (lambda n: functions.TruncToInt(functions.IntTrueDiv(n * n, 2)), lambda n: math.trunc(n * n / 2)),
        (lambda n: functions.RoundToInt(functions.IntTrueDiv(n * n, 2)), lambda n: round(n * n / 2)),
    ],
)
def test_functions_of_sizes(make: Any, function: Any) -> None:
    """What a function is for one size is found, and what lies between its results is for none."""
    results = {function(n) for n in range(2, 10)}
    result = function(3)
    gap = next(one for one in (result + 1, result + 2, result - 1) if one not in results)
    assert first_assumption(lambda n: sympy.Ne(make(n), result), 2, 9) is not None
    assert first_assumption(lambda n: sympy.Ne(make(n), gap), 2, 9) is None


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda n: sympy.Ge(n, 4), "n >= 4"),
        (lambda n: sympy.Eq(FloorDiv(n, 2), 3), "n//2 == 3"),
        (lambda n: sympy.Ne(n + sympy.Symbol("other"), 4), "? + n != 4"),
    ],
)
def test_texts(make: Any, text: str) -> None:
    found = first_assumption(make, 3, 24)
    assert found is not None
    assert found.replace("(", "").replace(")", "") == text


def test_sizes_of_different_expressions_are_not_taken_for_one() -> None:
    batch, channels = Expression.of("s0"), 2 * Expression.of("s0")
    image, weight = Like((1, channels, batch, 4), torch.float32), Like((channels,), torch.float32)
    for numbering in numberings([image, weight]):
        assert numbering(0, 1, 4) != numbering(0, 2, 4)
        assert numbering(0, 2, 4) != numbering(1, 0, 1)
    alike = Like((batch, 4, batch), torch.float32)
    assert any(numbering(0, 0, 3) == numbering(0, 2, 3) for numbering in numberings([alike]))
    unknown = Like((-1, 4, batch), torch.float32)
    assert any(numbering(0, 0, 3) == numbering(0, 2, 3) for numbering in numberings([unknown]))
