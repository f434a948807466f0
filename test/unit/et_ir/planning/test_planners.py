"""The planners, against the checker and against the lower bound."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from et_ir.planning import (
    PLANNERS,
    Buffer,
    Layout,
    Plan,
    align_up,
    layout_problems,
    lower_bound,
    plan_greedy,
    plan_naive,
)

buffers = st.lists(
    st.builds(
        lambda size, first, length, alignment: Buffer(size, first, first + length, alignment),
        st.integers(0, 300),
        st.integers(0, 20),
        st.integers(0, 10),
        st.sampled_from([1, 16, 64]),
    ),
    max_size=25,
)


@pytest.mark.parametrize("name", sorted(PLANNERS.keys() - {"exact"}))
@settings(max_examples=60)
@given(buffers)
def test_layouts_are_right_and_repeatable(name: str, given: list[Buffer]) -> None:
    made = PLANNERS[name](given)
    layout = made.layout if isinstance(made, Plan) else made
    assert layout_problems(given, layout) == []
    assert layout.size >= max((b.size for b in given), default=0)
    assert PLANNERS[name](list(given)) == made


@given(buffers)
def test_no_layout_is_below_the_bound(given: list[Buffer]) -> None:
    plain = [Buffer(b.size, b.first, b.last, 16) for b in given]
    assert lower_bound(plain) <= plan_greedy(plain).size <= plan_naive(plain).size


def test_a_chain_reaches_the_bound() -> None:
    chain = [Buffer(size, time, time + 1) for time, size in enumerate((64, 256, 128, 512, 32, 512, 16))]
    assert plan_greedy(chain).size == lower_bound(chain) == 640


def test_the_best_fit_is_taken() -> None:
    # Two gaps, of 64 and of 32 bytes, between buffers that are always needed; the small buffer takes the small one.
    given = [
        Buffer(1000, 0, 9),
        Buffer(64, 0, 1),
        Buffer(900, 0, 9),
        Buffer(32, 0, 1),
        Buffer(800, 0, 9),
        Buffer(32, 5, 6),
        Buffer(64, 5, 6),
    ]
    assert plan_greedy(given).size == lower_bound(given)


def test_naive_shares_nothing() -> None:
    given = [Buffer(10, 0, 0), Buffer(10, 5, 5), Buffer(0, 1, 1)]
    assert plan_naive(given) == Layout((0, 16, 0), 32)


def test_nothing_to_plan() -> None:
    assert plan_greedy([]) == plan_naive([]) == Layout((), 0)
    assert plan_greedy([Buffer(0, 0, 3)]) == Layout((0,), 0)


def test_thousands_of_buffers() -> None:
    given = [Buffer(1 + (i * 7919) % 4096, i, i + 1 + i % 3) for i in range(3000)]
    layout = plan_greedy(given)
    assert layout_problems(given, layout) == []
    assert layout.size <= 1.2 * lower_bound(given)


@pytest.mark.parametrize(
    ("offset", "alignment", "expected"), [(0, 16, 0), (1, 16, 16), (16, 16, 16), (5, 1, 5)]
)
def test_align_up(offset: int, alignment: int, expected: int) -> None:
    assert align_up(offset, alignment) == expected
