"""Expressions of sizes against Python's integers, and what shape rules can decide with them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from et_ops.inference.shapes import reshaped
from et_ops.intervals import Interval
from et_ops.sizes import Expression, SymbolicSize, Undecided, maximum, minimum

S0, S1 = Expression.of("s0"), Expression.of("s1")
Python = Callable[[int, int], int]


def combined(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.tuples(children, children)
    constants = st.integers(1, 6)

    def binary(function: Callable[[Any, Any], Any], extreme: str | None = None) -> st.SearchStrategy[Any]:
        def apply(pair: tuple[Any, Any]) -> Any:
            (a, f), (b, g) = pair
            made = getattr(a, extreme)(b) if extreme else function(a, b)
            return made, lambda x, y: function(f(x, y), g(x, y))

        return pairs.map(apply)

    def divided(function: Callable[[Any, Any], Any]) -> st.SearchStrategy[Any]:
        def apply(pair: tuple[Any, int]) -> Any:
            (a, f), by = pair
            return function(a, by), lambda x, y: function(f(x, y), by)

        return st.tuples(children, constants).map(apply)

    return st.one_of(
        binary(operator.add),
        binary(operator.sub),
        binary(operator.mul),
        binary(max, "maximum"),
        binary(min, "minimum"),
        divided(operator.floordiv),
        divided(operator.mod),
    )


LEAVES = st.one_of(
    st.just((S0, lambda x, y: x)),
    st.just((S1, lambda x, y: y)),
    st.integers(-5, 9).map(lambda n: (Expression.of(n), lambda x, y: n)),
)
PAIRS = st.recursive(LEAVES, combined, max_leaves=6)
"""Expressions, each with the function of numbers that it stands for."""


@given(PAIRS, st.integers(-20, 20), st.integers(-20, 20))
def test_values_are_those_of_integers(pair: tuple[Expression, Python], x: int, y: int):
    expression, function = pair
    assert expression.evaluate({"s0": x, "s1": y}) == function(x, y)
    assert expression.symbols <= {"s0", "s1"}


@given(
    PAIRS, st.tuples(st.integers(-6, 6), st.integers(0, 5)), st.tuples(st.integers(-6, 6), st.integers(0, 5))
)
def test_intervals_contain_all_values(
    pair: tuple[Expression, Python], first: tuple[int, int], second: tuple[int, int]
):
    expression, function = pair
    ranges = {name: Interval(low, low + span) for name, (low, span) in (("s0", first), ("s1", second))}
    least, most = expression.interval(ranges)
    for x, y in product(*(range(r.least or 0, (r.most or 0) + 1) for r in ranges.values())):
        value = function(x, y)
        assert least is None or least <= value
        assert most is None or value <= most


@given(PAIRS, PAIRS)
def test_equal_expressions_have_equal_text(a: tuple[Expression, Python], b: tuple[Expression, Python]):
    assert (a[0] == b[0]) == (str(a[0]) == str(b[0]))
    if a[0] == b[0]:
        assert hash(a[0]) == hash(b[0])


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (S0 + S0 + 1, "2*s0 + 1"),
        (S0 - S0, "0"),
        (-(S1 * S0) + 1, "-s0*s1 + 1"),
        ((S0 * 4 + 6) // 2, "2*s0 + 3"),
        ((S0 + 1) // 2, "(s0 + 1) floordiv 2"),
        ((S0 // 2) // 3, "s0 floordiv 6"),
        ((S0 // 2) * 3 + 1, "3*(s0 floordiv 2) + 1"),
        ((S0 * 6 + 3) % 6, "3"),
        ((S0 * 7 + 3) % 6, "(s0 + 3) mod 6"),
        (Expression.of(7) // -2, "-4"),
        (Expression.of(7) % -2, "-1"),
        (Expression.of(7) // 0, "7 floordiv 0"),
        (Expression.of(7) % 0, "7 mod 0"),
        (S0.maximum(Expression.of(4), S0.maximum(S1)), "max(s0, s1, 4)"),
        (S0.minimum(S0), "s0"),
    ],
)
def test_normal_form(expression: Expression, text: str):
    assert str(expression) == text


RANGES = {"s0": Interval(2, 16), "s1": Interval(2, None), "u0": Interval(0, 8)}


class TestSymbolicSize:
    def size(self, expression: Expression | str) -> Any:
        return SymbolicSize.of(Expression.of(expression), RANGES)

    def test_what_ranges_decide(self):
        s0 = self.size("s0")
        assert s0 != 1
        assert s0 >= 0
        assert s0 != -1
        assert s0 < 17
        assert s0 == self.size("s0")
        assert s0 + 1 > s0
        assert bool(s0)

    def test_a_size_is_not_negative(self):
        assert self.size(Expression.of("u0") - 5) >= 0
        assert self.size(Expression.of("n")) != -1

    @pytest.mark.parametrize(
        "ask",
        [
            lambda s: s == 3,
            lambda s: s < 16,
            lambda s: hash(s),
            lambda s: range(s),
            lambda s: s / 2,
            lambda s: int(s),
            lambda s: s * 0.5,
            lambda s: [0][s],
        ],
    )
    def test_what_depends_on_the_value(self, ask: Callable[[Any], object]):
        with pytest.raises(Undecided):
            ask(self.size("s0"))

    def test_what_may_be_divided_by(self):
        assert self.size(S0 * S1 * 4) // self.size("s1") == self.size(S0 * 4)
        assert self.size(S0 * 4) % 2 == 0
        with pytest.raises(Undecided):
            self.size("s0") // self.size("u0")

    def test_extremes(self):
        assert minimum(self.size("s0"), 1) == 1
        assert str(minimum(self.size("s0"), 5)) == "min(s0, 5)"
        assert str(maximum(5, self.size("s0"))) == "max(s0, 5)"
        assert maximum(3, 4) == 4

    def test_results_that_are_numbers(self):
        assert type(self.size("s0") - self.size("s0")) is int


@pytest.mark.parametrize(
    ("before", "size", "expected"),
    [
        ((2, 2, S0, 4), (4, S0, 4), (4, S0, 4)),
        ((S0, S1, 8), (-1, 8), (S0 * S1, 8)),
        ((S0, S1, 8), (S0, -1, 8), (S0, S1, 8)),
        ((S0 * S1, 24), (S0, S1, 24), (S0, S1, 24)),
        ((S0, S1), (S0, 4), (S0, 4)),
    ],
)
def test_views_of_symbolic_sizes(before: Any, size: Any, expected: Any):
    """Sizes that may be 0: a view that is given a size of 0 beside -1 is refused by torch."""
    ranges = {"s0": Interval(0, 9), "s1": Interval(0, 5)}

    def sizes(given: Any) -> Any:
        return tuple(SymbolicSize.of(s, ranges) if isinstance(s, Expression) else s for s in given)

    found = reshaped(sizes(before), sizes(size))
    assert tuple(s.expression if isinstance(s, SymbolicSize) else s for s in found) == expected


def test_other_expressions_in_the_place_of_symbols():
    expression = (S0 * S1 + 1) // 3 + S0.maximum(S1)
    found = expression.substituted({"s0": S1 * 2, "s1": Expression.of(4)})
    assert found == (S1 * 8 + 1) // 3 + (S1 * 2).maximum(Expression.of(4))


def test_degree_is_limited() -> None:
    product = Expression.of(1)
    for _ in range(64):
        product = product * Expression.of("s0")
    with pytest.raises(Undecided, match="too many factors"):
        product * Expression.of("s0")
