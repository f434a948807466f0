"""The exact planner: against every order of a few buffers, its certificate, and that nothing but its input counts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.et_ir.planning.brute_force import smallest_arena

from et_ir.planning import (
    Buffer,
    Plan,
    granule_of,
    layout_problems,
    lower_bound,
    plan_best,
    plan_exact,
    plan_greedy,
    plan_naive,
)
from et_ir.planning.instances import read_instance
from et_ir.planning.search import Found, PlacementProblem, Refuted, search


@st.composite
def buffer(draw: st.DrawFn, alignments: tuple[int, ...] = (1, 2, 4)) -> Buffer:
    first = draw(st.integers(0, 6))
    last = first + draw(st.integers(0, 5))
    gaps: tuple[tuple[int, int], ...] = ()
    if last - first > 1 and draw(st.booleans()):
        start = draw(st.integers(first + 1, last - 1))
        gaps = ((start, draw(st.integers(start, last - 1))),)
    return Buffer(draw(st.integers(0, 9)), first, last, draw(st.sampled_from(alignments)), gaps)


few = st.lists(buffer(), max_size=5)
many = st.lists(buffer(alignments=(4,)), max_size=25)

PUZZLE = [
    # The peak is 6 bytes, but whatever lies lowest at time 1 leaves a hole: 7 are needed.
    Buffer(2, 0, 1, 1),
    Buffer(2, 1, 2, 1),
    Buffer(2, 1, 1, 1),
    Buffer(4, 0, 0, 1),
    Buffer(4, 2, 2, 1),
]


@settings(max_examples=60)
@given(few)
def test_as_small_as_any_order_makes_it(given: list[Buffer]) -> None:
    plan = plan_exact(given)
    assert layout_problems(given, plan.layout) == []
    assert plan.optimal
    assert plan.size == smallest_arena(given)
    assert lower_bound(given) <= plan.size


@settings(max_examples=60)
@given(many)
def test_exact_greedy_naive(given: list[Buffer]) -> None:
    plan = plan_exact(given, budget=2000)
    assert layout_problems(given, plan.layout) == []
    assert lower_bound(given) <= plan.bound <= plan.size <= plan_greedy(given).size <= plan_naive(given).size
    assert plan.size <= plan_best(given).size or plan.nodes >= 2000


@settings(max_examples=60)
@given(few, st.booleans(), st.randoms(use_true_random=False))
def test_a_search_finds_or_refutes(given: list[Buffer], tightest: bool, random: object) -> None:
    given = [each for each in given if each.size]
    if not given:
        return
    granule = granule_of(given)
    smallest = smallest_arena(given)
    order = list(range(len(given)))
    random.shuffle(order)  # pyright: ignore[reportAttributeAccessIssue]
    for capacity in (smallest, smallest - granule):
        outcome = _end(PlacementProblem(given, granule), capacity, order, tightest)
        if capacity == smallest:
            assert isinstance(outcome, Found)
        else:
            assert isinstance(outcome, Refuted)
            assert capacity < outcome.bound <= smallest


def _end(problem: PlacementProblem, capacity: int, order: list[int], tightest: bool) -> Found | Refuted:
    running = search(problem, capacity, order, tightest=tightest)
    while True:
        try:
            next(running)
        except StopIteration as end:
            return end.value


def test_the_bound_rises_where_the_peak_is_not_reached() -> None:
    plan = plan_exact(PUZZLE)
    assert (lower_bound(PUZZLE), plan.size) == (6, smallest_arena(PUZZLE))
    assert plan.optimal


def test_parts_that_share_no_time_are_planned_apart() -> None:
    later = [Buffer(b.size, b.first + 10, b.last + 10, b.alignment) for b in PUZZLE]
    assert plan_exact([*PUZZLE, *later]).size == plan_exact(PUZZLE).size
    large = [*PUZZLE, Buffer(100, 20, 21, 1)]
    assert plan_exact(large) == Plan(plan_exact(large).layout, 100)


def test_a_goal_is_enough() -> None:
    assert plan_exact(PUZZLE, goal=plan_greedy(PUZZLE).size).nodes == 0


def test_nothing_to_plan() -> None:
    assert plan_exact([]) == plan_exact([Buffer(0, 0, 3)][:0])
    plan = plan_exact([Buffer(0, 0, 3)])
    assert (plan.layout.offsets, plan.size, plan.bound, plan.optimal) == ((0,), 0, 0, True)


def test_without_budget_it_is_greedy() -> None:
    given = _instance("A")
    plan = plan_exact(given, budget=0)
    assert plan.layout == plan_greedy(given)
    assert plan.bound == lower_bound(given)
    assert plan_exact(given, seconds=0).layout == plan.layout


def test_a_larger_budget_is_no_worse() -> None:
    given = _instance("A")
    sizes = [plan_exact(given, budget=budget).size for budget in (0, 100, 1000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]


def _instance(name: str) -> list[Buffer]:
    """One of the instances of MiniMalloc."""
    path = Path(__file__).parents[3] / "fixtures/minimalloc" / f"{name}.1048576.csv"
    return list(read_instance(path.read_text()).buffers)


@pytest.mark.parametrize(("name", "budget"), [("A", 2000), ("C", 2000), ("K", 20_000), ("E", 100_000)])
def test_instances_that_greedy_placement_leaves_far_above(name: str, budget: int) -> None:
    given = _instance(name)
    plan = plan_exact(given, budget=budget)
    assert layout_problems(given, plan.layout) == []
    assert plan.optimal
    assert plan.size == lower_bound(given) < plan_greedy(given).size / 1.15


SCRIPT = """
from et_ir.planning import Buffer, plan_exact
buffers = [Buffer(16 + i * 7919 % 3001, i * 31 % 40, i * 31 % 40 + i * 17 % 12, 16) for i in range(60)]
plan = plan_exact(buffers, budget=3000)
print(plan.layout.offsets, plan.bound, plan.nodes)
"""


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_hash_seed_does_not_count(seed: str) -> None:
    def run(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert run(seed) == run("0")


def test_gaps_are_shared() -> None:
    given = [Buffer(64, 0, 9, 16, ((3, 5),)), Buffer(64, 3, 5)]
    assert plan_exact(given).size == plan_greedy(given).size == 64
    assert plan_naive(given).size == 128


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 0, 1, 1), "size: -1"),
        ((1, 3, 2, 1), "range: 3 to 2"),
        ((1, 0, 1, 0), "0 is not an alignment"),
        ((1, 0, 9, 1, ((0, 3),)), "not a gap"),
        ((1, 0, 9, 1, ((3, 9),)), "not a gap"),
        ((1, 0, 9, 1, ((3, 4), (5, 6))), "not a gap"),
    ],
)
def test_buffers_that_are_none(arguments: tuple[int, int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Buffer(*arguments)


@given(many, st.integers(0, 50))
def test_slack_ends_the_search(given: list[Buffer], slack: int) -> None:
    plan, least = plan_best(given, slack), plan_best(given)
    assert layout_problems(given, plan.layout) == []
    assert plan.size <= max(least.size, lower_bound(given) * (1000 + slack) // 1000)
