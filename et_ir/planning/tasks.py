"""Tasks that make and use storages, and the memory of their orders.

A storage is there from the first task that writes it to the last task that writes or uses it; while a task runs, all
that it writes and uses is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

__all__ = ["OrderProblem", "Storage", "floor_of", "lives_of", "needs_of", "peak_of"]


@dataclass(frozen=True)
class Storage:
    """Memory of `size` bytes that tasks write and use, by number.

    With `initial` it is there before the first task, with `kept` after the last.
    """

    size: int
    writers: frozenset[int] = frozenset()
    users: frozenset[int] = frozenset()
    initial: bool = False
    kept: bool = False

    @cached_property
    def touches(self) -> frozenset[int]:
        """The tasks that write or use it."""
        return self.writers | self.users


@dataclass(frozen=True)
class OrderProblem:
    """Tasks 0 to `count` - 1, in an order that can be run: what each comes after, and what they write and use."""

    count: int
    after: Sequence[Sequence[int]]
    storages: Sequence[Storage]
    replaces: Mapping[int, tuple[int, Sequence[int]]] = field(
        default_factory=dict[int, tuple[int, Sequence[int]]]
    )
    """For a task that may write one storage over others: that one, and those. It needs no memory of its own if one of
    them, as large, is used by no other task later.
    """

    @cached_property
    def touched(self) -> Sequence[Sequence[int]]:
        """The storages that each task writes or uses."""
        touched: list[list[int]] = [[] for _ in range(self.count)]
        for number, storage in enumerate(self.storages):
            for task in sorted(storage.touches):
                touched[task].append(number)
        return touched


def peak_of(problem: OrderProblem, order: Iterable[int]) -> int:
    """The bytes that tasks in an order need at once."""
    return max((_initial(problem), *needs_of(problem, order)))


def needs_of(problem: OrderProblem, order: Iterable[int]) -> list[int]:
    """The bytes that are needed while each task of an order runs, by its place in the order."""
    return [needed for needed, _ in _walk(problem, order)]


def lives_of(problem: OrderProblem) -> list[int]:
    """The bytes that each task leaves, in the order of the problem."""
    return [live for _, live in _walk(problem, range(problem.count))]


def _walk(problem: OrderProblem, order: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Peak and remaining bytes of each task of an order."""
    storages = problem.storages
    touched = problem.touched
    left = [len(storage.touches) for storage in storages]
    """Number of pending tasks that write or use each storage."""
    there = [storage.initial for storage in storages]
    live = _initial(problem)
    for task in order:
        made = freed = saved = 0
        for number in touched[task]:
            left[number] -= 1
            if not there[number]:
                made += storages[number].size
            if not left[number] and not storages[number].kept:
                freed += storages[number].size
        result, others = problem.replaces.get(task, (0, ()))
        if others and not there[result]:
            size = storages[result].size
            dying = (storages[o] for o in others if not left[o] and not storages[o].kept)
            saved = size if any(storage.size == size for storage in dying) else 0
        for number in touched[task]:
            there[number] = there[number] or task in storages[number].writers
        yield live + made - saved, live + made - freed
        live += made - freed


def floor_of(problem: OrderProblem) -> int:
    """Lower bound for every order: the largest need of a single task, or the initial bytes."""
    alone = (
        sum(problem.storages[number].size for number in numbers)
        - (problem.storages[problem.replaces[task][0]].size if task in problem.replaces else 0)
        for task, numbers in enumerate(problem.touched)
    )
    return max((_initial(problem), *alone))


def _initial(problem: OrderProblem) -> int:
    return sum(storage.size for storage in problem.storages if storage.initial)
