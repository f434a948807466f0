"""Orders of tasks: the best of all of them where that can be told, and never worse than the given one."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest
from support.task_problems import can_run, random_problem

from et_ir.planning.schedule import least_peak
from et_ir.planning.tasks import OrderProblem, Storage, peak_of


@pytest.mark.parametrize("seed", range(20))
def test_small_problems_are_solved(seed: int) -> None:
    random = Random(seed)
    for _ in range(10):
        problem = random_problem(random, random.randint(1, 7))
        orders = [order for order in permutations(range(problem.count)) if can_run(problem, order)]
        found = least_peak(problem)
        assert found.optimal
        assert can_run(problem, found.order)
        assert found.peak == peak_of(problem, found.order) == min(peak_of(problem, order) for order in orders)


@pytest.mark.parametrize("budget", [1, 1000])
def test_large_problems_are_never_worse_and_equal_each_time(budget: int) -> None:
    random = Random(1)
    for _ in range(5):
        problem = random_problem(random, 60)
        found = least_peak(problem, budget)
        assert can_run(problem, found.order)
        assert found.peak == peak_of(problem, found.order) <= peak_of(problem, range(problem.count))
        assert least_peak(problem, budget) == found


def test_the_given_order_stays_unless_another_is_better() -> None:
    storages = [Storage(16, frozenset([task]), kept=True) for task in range(5)]
    assert least_peak(OrderProblem(5, [[]] * 5, storages)).order == (0, 1, 2, 3, 4)


def test_branches_one_after_the_other() -> None:
    """Two large results, each reduced to a small one."""
    storages = [
        Storage(100, frozenset([0]), frozenset([2])),
        Storage(100, frozenset([1]), frozenset([3])),
        Storage(1, frozenset([2]), kept=True),
        Storage(1, frozenset([3]), kept=True),
    ]
    problem = OrderProblem(4, [[], [], [0], [1]], storages)
    assert peak_of(problem, range(4)) == 201
    assert least_peak(problem).peak == 102


def test_a_task_that_writes_over_what_is_needed_no_more() -> None:
    storages = [
        Storage(8, frozenset([0]), frozenset([1, 2])),
        Storage(8, frozenset([1])),
        Storage(8, frozenset([2])),
    ]
    problem = OrderProblem(3, [[], [0], [0]], storages, {1: (1, [0]), 2: (2, [0])})
    assert peak_of(problem, (0, 1, 2)) == 16
    assert (
        peak_of(
            OrderProblem(
                2,
                [[], [0]],
                [Storage(8, frozenset([0]), frozenset([1])), Storage(8, frozenset([1]))],
                {1: (1, [0])},
            ),
            (0, 1),
        )
        == 8
    )


def test_a_long_chain_takes_one_walk() -> None:
    count = 30_000
    storages = [
        Storage(16, frozenset([task]), frozenset([task + 1]) if task + 1 < count else frozenset())
        for task in range(count)
    ]
    found = least_peak(OrderProblem(count, [[task - 1] if task else [] for task in range(count)], storages))
    assert found.optimal
    assert found.peak == 32


@pytest.mark.parametrize("seed", range(10))
def test_an_order_of_no_use_is_not_looked_for(seed: int) -> None:
    random = Random(seed)
    for _ in range(10):
        problem = random_problem(random, random.randint(1, 7))
        best, before = least_peak(problem).peak, peak_of(problem, range(problem.count))
        assert least_peak(problem, below=before).peak == best
        found = least_peak(problem, below=best)
        assert can_run(problem, found.order)
        assert peak_of(problem, found.order) == found.peak >= best
