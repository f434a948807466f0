"""Random tasks with storages, and what orders of them can be run."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from et_ir.planning.tasks import OrderProblem, Storage


def random_problem(random: Random, count: int) -> OrderProblem:
    after = [sorted(random.sample(range(i), min(i, random.randint(0, 2)))) for i in range(count)]
    users: list[set[int]] = [set() for _ in range(count)]
    for task, before in enumerate(after):
        for one in before:
            users[one].add(task)
    storages = [
        Storage(
            random.randint(0, 9) * 16,
            frozenset([task]),
            frozenset(users[task]),
            kept=not users[task] and random.random() < 0.5,
        )
        for task in range(count)
    ]
    storages.append(Storage(32, users=frozenset([0]), initial=True))
    if count > 4 and random.random() < 0.5:
        one, other = (storages[task] for task in sorted(random.sample(range(count), 2)))
        together = Storage(
            max(one.size, other.size),
            one.writers | other.writers,
            one.users | other.users,
            kept=one.kept or other.kept,
        )
        storages = [together if s is one else Storage(0) if s is other else s for s in storages]
    replaces = {task: (task, after[task]) for task in range(count) if after[task] and random.random() < 0.5}
    return OrderProblem(count, after, storages, replaces)


def can_run(problem: OrderProblem, order: Sequence[int]) -> bool:
    place = {task: at for at, task in enumerate(order)}
    return all(place[one] < place[task] for task in order for one in problem.after[task])
