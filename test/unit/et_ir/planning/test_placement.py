"""Greedy placement: what it costs grows with the buffers, not with their square; counted, not measured."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from et_ir.planning import (
    Buffer,
    exact,
    greedy,
    layout_problems,
    lower_bound,
    plan_best,
    plan_greedy,
    plan_in_order,
)
from et_ir.planning.placement import Placement, overlapping_pairs
from et_ir.planning.sweep import plan_sweep

buffers = st.lists(
    st.builds(
        lambda size, first, length, alignment: Buffer(size, first, first + length, alignment),
        st.integers(0, 300),
        st.integers(-5, 20),
        st.integers(0, 10),
        st.sampled_from([1, 16, 64]),
    ),
    max_size=25,
)


def program(count: int, longest: int, keeps: int = 0) -> list[Buffer]:
    """One more buffer with each instruction, each needed by up to `longest`, every `keeps`th one to the end."""
    random = Random(0)
    return [
        Buffer(
            random.randrange(1, 100_000),
            first,
            count if keeps and first % keeps == 0 else first + random.randrange(longest),
        )
        for first in range(count)
    ]


@given(buffers)
def test_pairs_are_counted(given: list[Buffer]) -> None:
    pairs = sum(one.overlaps(other) for at, one in enumerate(given) for other in given[:at])
    assert overlapping_pairs(given) == pairs


@pytest.mark.parametrize("keeps", [0, 500])
def test_looks_grow_with_the_pairs(keeps: int) -> None:
    for count in (1_000, 2_000, 4_000):
        given = program(count, 8, keeps)
        placement = Placement(given)
        placement.place(range(count))
        assert placement.looks <= 4 * (overlapping_pairs(given) + count)


def test_looks_at_short_buffers_do_not_grow_with_their_number() -> None:
    def looks(count: int) -> float:
        placement = Placement(program(count, 8))
        placement.place(range(count))
        return placement.looks / count

    assert looks(8_000) <= 1.1 * looks(1_000)


@pytest.mark.parametrize(("count", "longest"), [(6_000, 8), (3_000, 3_000), (6_000, 600)])
def test_work_is_bounded(count: int, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Placement] = []

    class Counted(Placement):
        def __init__(self, given: list[Buffer]):
            super().__init__(given)
            made.append(self)

    monkeypatch.setattr(greedy, "Placement", Counted)
    monkeypatch.setattr(greedy, "WORK", 300_000)
    given = program(count, longest)
    layout = plan_greedy(given)
    assert layout_problems(given, layout) == []
    assert layout.size <= 1.25 * lower_bound(given)
    assert sum(placement.looks for placement in made) <= 4 * 300_000


def test_dense_programs_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets: list[int] = []

    def planned(given: list[Buffer], *, budget: int) -> None:
        budgets.append(budget)

    monkeypatch.setattr(exact, "plan_exact", planned)
    for count, longest in ((100, 8), (1_000, 100), (3_000, 3_000)):
        plan_best(program(count, longest))
    assert budgets[0] == exact.QUICK
    assert exact.FEWEST <= budgets[1] < exact.QUICK
    assert budgets[2] == 0


@given(buffers, st.booleans())
def test_the_sweep_is_right(given: list[Buffer], backwards: bool) -> None:
    layout = plan_sweep(given, backwards=backwards)
    assert layout_problems(given, layout) == []
    assert plan_sweep(list(given), backwards=backwards) == layout


def test_the_sweep_joins_what_is_free() -> None:
    # The third takes what the first two leave, and the fourth what is left beside it.
    given = [Buffer(32, 0, 0), Buffer(32, 0, 0), Buffer(48, 1, 1), Buffer(16, 1, 1)]
    assert plan_sweep(given).size == plan_sweep(given, backwards=True).size == 64


def test_the_sweep_takes_the_smallest_piece() -> None:
    given = [
        Buffer(64, 0, 1),
        Buffer(16, 0, 9),
        Buffer(32, 0, 1),
        Buffer(16, 0, 9),
        Buffer(32, 3, 4),
        Buffer(64, 4, 4),
    ]
    assert plan_sweep(given).size == lower_bound(given)


def test_an_order_is_kept() -> None:
    given = [Buffer(16, 0, 0), Buffer(32, 0, 0), Buffer(16, 0, 0)]
    assert plan_in_order(given, [2, 1, 0]).offsets == (48, 16, 0)
