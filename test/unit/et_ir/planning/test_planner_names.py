"""Planners by name."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import numpy as np
import pytest

from et_ir.planning import PLANNERS, Buffer, Layout, Plan, Planner, plan_greedy
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
    with pytest.raises(PlannerError, match="greedy has no function 'plan_gredy', did you mean 'plan_greedy'"):
        find_planner("et_ir.planning.greedy:plan_gredy")
    with pytest.raises(
        PlannerError, match="planners are best, broken, exact, greedy, naive, theirs, upstream"
    ):
        find_planner("none")


class TestPlannersOfOthers:
    """Whatever they do is an error that names them."""

    @staticmethod
    def planned(monkeypatch: pytest.MonkeyPatch, planner: Planner) -> Plan:
        monkeypatch.setattr(planners_module, "find_planner", lambda name: planner)
        return run_planner("theirs.py:plan", GIVEN)

    def test_that_raise(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def gives_up(buffers: Sequence[Buffer]) -> Layout:
            raise NotImplementedError("no idea")

        def leaves(buffers: Sequence[Buffer]) -> Layout:
            sys.exit(3)

        def goes_on(buffers: Sequence[Buffer]) -> Layout:
            return goes_on(buffers)

        for planner, message in (
            (gives_up, r"NotImplementedError: no idea \(\S*test_planner_names.py:\d+ in gives_up\)"),
            (leaves, "SystemExit: 3"),
            (goes_on, "RecursionError"),
        ):
            with pytest.raises(PlannerError, match="the planner theirs.py:plan raised " + message):
                self.planned(monkeypatch, planner)

    @pytest.mark.parametrize(
        ("made", "message"),
        [
            (Layout((0, 0, 0), 16), "is invalid: buffers 0 and 1 overlap at 0 and 0 while both are live"),
            (Layout((0, 16), 32), "is invalid: 2 offsets for 3 buffers"),
            (Layout((0, 16, -16), 32), "is invalid: buffer 2 of 16 bytes at -16 lies outside"),
            (Layout((0, 16, 8), 32), "is invalid: buffer 2 at 8 is not aligned"),
            (Layout((0, 16, 0), 31), "is invalid: buffer 1 of 16 bytes at 16 lies outside"),
            (Layout((0.0, 16.0, 0.0), 32), "has offsets that are not integers"),  # pyright: ignore[reportArgumentType]
            (Layout((0, 16, 0), None), "has offsets that are not integers"),  # pyright: ignore[reportArgumentType]
            ([0, 16, 0], "returned list, not a Layout or a Plan"),
            (None, "returned NoneType, not a Layout or a Plan"),
        ],
    )
    def test_that_return_something_else(
        self, monkeypatch: pytest.MonkeyPatch, made: Any, message: str
    ) -> None:
        with pytest.raises(PlannerError, match=re.escape(message)):
            self.planned(monkeypatch, lambda buffers: made)

    def test_that_claim_and_that_change_what_they_are_given(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def claims(buffers: Sequence[Buffer]) -> Plan:
            assert isinstance(buffers, list)
            buffers.clear()
            return Plan(Layout((np.int64(0), np.int64(16), np.int64(32)), np.int64(48)), 48)

        plan = self.planned(monkeypatch, claims)
        assert (plan.size, plan.bound, type(plan.layout.offsets[0])) == (48, 32, int)
        assert len(GIVEN) == 3
