"""Checkpoints of the debugger: few, and near each step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from et_vm.devtools.debugger.timeline import INTERVAL, MOST, Timeline


@pytest.mark.parametrize("most", [MOST, 10], ids=["any memory", "memory of ten"])
def test_distances_to_checkpoints(most: int) -> None:
    made: Any = SimpleNamespace(nbytes=100)
    timeline = Timeline(100 * most)
    for step in range(2000):
        if timeline.is_due(step):
            timeline.add(step, made)
        assert timeline.nbytes <= 100 * most
        at, _ = timeline.latest(step)
        assert 0 <= step - at <= max(INTERVAL, 4 * step / most)
    assert timeline.latest(0)[0] == 0


def test_steps_that_are_taken_again() -> None:
    timeline = Timeline(1 << 20)
    for step in range(100):
        if timeline.is_due(step):
            timeline.add(step, SimpleNamespace(nbytes=1))
    timeline.forget_after(50)
    assert timeline.latest(99)[0] < 50
    assert timeline.is_due(56)
