"""Memory demand of task orders, recounted for each task."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from support.task_problems import random_problem

from et_ir.planning.tasks import OrderProblem, floor_of, lives_of, needs_of, peak_of


def counted(problem: OrderProblem, order: Sequence[int]) -> tuple[list[int], list[int]]:
    """The bytes that each task of an order needs and leaves: by definition, one storage at a time."""
    needs: list[int] = []
    lives: list[int] = []
    for at, task in enumerate(order):
        done, later = set(order[:at]), set(order[at + 1 :])
        needed = left = 0
        for storage in problem.storages:
            begun = storage.initial or bool(storage.writers & done)
            wanted = storage.kept or bool((storage.writers | storage.users) & later)
            untouched = storage.initial and not storage.writers | storage.users
            now = task in storage.writers | storage.users
            needed += storage.size * (now or (begun and wanted) or untouched)
            left += storage.size * ((begun or now) and (wanted or untouched))
        result, others = problem.replaces.get(task, (0, ()))
        own = problem.storages[result]
        if others and not own.initial and not own.writers & done:
            dying = [o for o in map(problem.storages.__getitem__, others) if not o.kept]
            dying = [o for o in dying if not (o.writers | o.users) & later]
            needed -= own.size if any(o.size == own.size for o in dying) else 0
        needs.append(needed)
        lives.append(left)
    return needs, lives


@pytest.mark.parametrize("seed", range(20))
def test_needs(seed: int) -> None:
    random = Random(seed)
    for _ in range(10):
        problem = random_problem(random, random.randint(1, 12))
        order = range(problem.count)
        needs, lives = counted(problem, order)
        assert needs_of(problem, order) == needs
        assert lives_of(problem) == lives
        assert peak_of(problem, order) == max([32, *needs])
        assert floor_of(problem) <= peak_of(problem, order)
