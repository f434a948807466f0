"""Exact plans are as small as an independent solver proves that they can be: OR-tools' CP-SAT."""

from __future__ import annotations

import pytest
from planning_oracle.__main__ import compare
from planning_oracle.cp_sat import smallest_arena
from planning_oracle.instances import MOST, instance

from et_ir.planning import Buffer

FIRST = 11
"""The solver takes some seconds for a few of the instances before and behind."""


@pytest.mark.parametrize("part", range(6))
def test_random_instances(part: int) -> None:
    for seed in range(FIRST + 40 * part, FIRST + 40 * (part + 1)):
        assert compare(instance(seed)).wrong is None, seed


def test_the_solver_knows_alignments_and_gaps() -> None:
    assert smallest_arena([]) == smallest_arena([Buffer(0, 0, 0)]) == (0, 0)
    assert smallest_arena([Buffer(5, 0, 0, 4), Buffer(3, 0, 0, 4)]) == (12, 12)
    # One byte in front of what has to lie at a multiple of 8.
    assert smallest_arena([Buffer(1, 0, 1, 1), Buffer(8, 0, 1, 8), Buffer(7, 0, 1, 1)]) == (16, 16)
    assert smallest_arena([Buffer(8, 0, 4, 1, ((1, 3),)), Buffer(8, 1, 3, 1)]) == (8, 8)


def test_instances_are_of_all_kinds() -> None:
    made = [instance(seed) for seed in range(300)]
    assert made == [instance(seed) for seed in range(300)]
    assert {len(buffers) for buffers in made} == set(range(1, MOST + 1))
    assert any(buffer.gaps for buffers in made for buffer in buffers)
    assert any(len({buffer.alignment for buffer in buffers}) > 1 for buffers in made)
    assert any(buffer.size == 0 for buffers in made for buffer in buffers)
