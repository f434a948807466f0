"""The search for an order: with groups of tasks, and with little to spend. Its results: test_schedule.py."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from support.task_problems import can_run, random_problem
from typing_extensions import override

from et_ir.planning.order_search import OrderSearch
from et_ir.planning.tasks import peak_of


@pytest.mark.parametrize("seed", range(10))
def test_groups_run_as_one(seed: int) -> None:
    problem = random_problem(Random(seed), 12)
    groups = [(0, 1, 2), *((task,) for task in range(3, 10)), (10, 11)]
    bound = peak_of(problem, range(12)) + 1
    order, _ = OrderSearch(problem, groups).solve(bound, 10_000)
    assert order is not None
    assert can_run(problem, order)
    for group in groups:
        start = order.index(group[0])
        assert order[start : start + len(group)] == group
    assert peak_of(problem, order) < bound


@pytest.mark.parametrize("seed", range(10))
def test_bounds(seed: int) -> None:
    """Nothing is found below the best, which is proven; a budget of nothing still gives an order."""
    problem = random_problem(Random(seed), 8)
    best, exact = OrderSearch(problem).solve(1 << 40, 100_000)
    assert exact
    assert best is not None
    assert OrderSearch(problem).solve(peak_of(problem, best), 100_000) == (None, True)
    poor, proven = OrderSearch(problem).solve(1 << 40, 0)
    assert poor is not None
    assert can_run(problem, poor)
    assert not proven or peak_of(problem, poor) == peak_of(problem, best)


def test_a_limit_ends_the_search() -> None:
    """Behind its budget the search still finds an order, unless that takes more than the limit allows."""
    problem = random_problem(Random(0), 12)
    search = OrderSearch(problem)
    assert search.solve(1 << 40, 0, limit=1) == (None, False)
    order, _ = OrderSearch(problem).solve(1 << 40, 0, limit=10_000)
    assert order is not None
    assert can_run(problem, order)


class Forgetful(OrderSearch):
    """Asks again for whatever can run, after each group."""

    @override
    def _after(self, state: Any, group: int, live: int, peak: int) -> tuple[Any, set[int]]:
        after, _ = super()._after(state, group, live, peak)
        return after, set(after.ready)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("groups", [None, [(0, 1), *((task,) for task in range(2, 14))]])
def test_options_that_are_kept(seed: int, groups: list[tuple[int, ...]] | None) -> None:
    problem = random_problem(Random(seed), 14)
    kept, asked = OrderSearch(problem, groups), Forgetful(problem, groups)
    assert kept.solve(1 << 40, 500) == asked.solve(1 << 40, 500)
    assert kept.asked == asked.asked
