"""Planners by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from et_ir.planning import PLANNERS, Buffer, plan_greedy
from et_ir.planning import planners as planners_module
from et_ir.planning.planners import GROUP, PlannerError, find_planner, run_planner

GIVEN = [Buffer(16, 0, 1), Buffer(16, 1, 2), Buffer(16, 2, 3)]


@pytest.mark.parametrize("name", PLANNERS)
def test_each_has_a_certificate(name: str) -> None:
    plan = run_planner(name, GIVEN)
    assert (plan.bound, plan.optimal) == (32, plan.size == 32)
    assert run_planner(name, GIVEN, budget=100).size == plan.size


def test_modules_and_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_planner("et_ir.planning.greedy:plan_greedy") is plan_greedy
    offered = EntryPoints(
        [
            EntryPoint("theirs", "et_ir.planning.greedy:plan_greedy", GROUP),
            EntryPoint("broken", "et_ir.planning.greedy:nothing", GROUP),
        ]
    )
    monkeypatch.setattr(planners_module, "entry_points", lambda **_: offered)
    assert find_planner("theirs") is plan_greedy
    with pytest.raises(PlannerError, match=r"broken, .*, cannot be loaded"):
        find_planner("broken")
    with pytest.raises(PlannerError, match="there are best, broken, exact, greedy, naive, theirs, upstream"):
        find_planner("none")
