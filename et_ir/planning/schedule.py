"""The order of tasks that needs the least memory at once.

Where one task stands between all before and all after it, parts of a graph are in series: each is ordered alone, as a
problem of its own, and those that need the most first, as what the others need less does not matter. In each part some
orders are tried that run each task right before what needs it; the search (`et_ir.planning.order_search`) looks for a
lower peak than the best of them, first with chains of tasks as one. Equal inputs give equal orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from et_ir.planning.order_search import OrderSearch
from et_ir.planning.tasks import OrderProblem, Storage, floor_of, lives_of, peak_of

__all__ = ["BUDGET", "Schedule", "least_peak"]

BUDGET: Final = 500_000
"""Limit of memory queries of the search; some hundred thousand take a second."""
LARGE: Final = 20_000
"""Tasks of a part that is not searched: sets of so many take too much memory."""


@dataclass(frozen=True)
class Schedule:
    """Tasks in order, the bytes they need at once, and whether no order needs less."""

    order: tuple[int, ...]
    peak: int
    optimal: bool


def least_peak(problem: OrderProblem, budget: int = BUDGET, below: int | None = None) -> Schedule:
    """An order with the lowest peak that the budget allows to find: that of the problem unless another is lower.

    An order that needs `below` bytes or more is of no use: the search ends where no other can be found.
    """
    parts = _parts(problem)
    left, tasks = budget, problem.count
    peak, optimal = 0, True
    for part in sorted(parts, key=lambda part: -part.peak):
        if part.peak <= peak:
            break
        share = max(left // 2, left * part.problem.count // tasks)
        tasks -= part.problem.count
        left -= part.lower(share, below)
        optimal = part.optimal if part.peak > peak else optimal or (part.peak == peak and part.optimal)
        peak = max(peak, part.peak)
        if below is not None and peak >= below:
            peak, optimal = max(part.peak for part in parts), False
            break
    order = tuple(part.start + task for part in parts for task in part.order)
    given = tuple(range(problem.count))
    before = peak_of(problem, given)
    return Schedule(order, peak, optimal) if parts and peak < before else Schedule(given, before, optimal)


def _in_series(problem: OrderProblem) -> Iterator[tuple[int, int]]:
    """The parts of a problem, as ranges of tasks: each ends with a task that all before lead to, and that all behind
    come after; but for the last. Linear in the size of the problem.
    """
    first_use = [problem.count] * problem.count
    """The first task that comes after each."""
    last_need = [-1] * problem.count
    for task, before in enumerate(problem.after):
        for one in before:
            first_use[one] = min(first_use[one], task)
            last_need[task] = max(last_need[task], one)
    for task in reversed(range(problem.count - 1)):
        last_need[task] = min(last_need[task], last_need[task + 1])
    start = latest = 0
    for task in range(problem.count):
        # All before lead to it, and each behind it comes after it or one between.
        if latest <= task and task + 1 < problem.count and last_need[task + 1] >= task:
            yield start, task + 1
            start = task + 1
        latest = max(latest, first_use[task])
    if start < problem.count:
        yield start, problem.count


class _Part:
    """Tasks of a problem in series with all others: a problem of its own, and the best order that is known.

    `around` are the bytes that others have there meanwhile.
    """

    def __init__(self, start: int, problem: OrderProblem, around: int):
        self.start = start
        self.problem = problem
        self.around = around
        self.order = tuple(range(problem.count))
        self.peak = around + peak_of(problem, self.order)
        self.floor = around + floor_of(problem)
        self.optimal = self.peak <= self.floor

    def try_orders(self) -> None:
        """Take the best of some orders that are made without a search."""
        for order in _demand_driven(self.problem):
            peak = self.around + peak_of(self.problem, order)
            if peak < self.peak:
                self.order, self.peak = order, peak
        self.optimal = self.peak <= self.floor

    def lower(self, budget: int, below: int | None) -> int:
        """Look for a better order, of less than `below` bytes, and say how much of the budget that took."""
        if self.optimal or self.problem.count > LARGE or (below is not None and self.floor >= below):
            return 0
        asked = 0
        for groups in (_chains(self.problem), None):
            if asked >= budget:
                break
            bound = self.peak if below is None else min(self.peak, below)
            search = OrderSearch(self.problem, groups)
            left = budget - asked
            share = left if groups is None else left // 2
            found, exact = search.solve(bound - self.around, share, limit=2 * left)
            asked += search.asked
            self.optimal = exact and groups is None and bound == self.peak
            if found is not None:
                self.order, self.peak = found, self.around + peak_of(self.problem, found)
        return asked


def _parts(problem: OrderProblem) -> list[_Part]:
    """The parts of a problem that are in series, in order; linear in its size, like all that leads there."""
    storages = problem.storages
    touched = problem.touched
    written = [-1 if s.initial else min(s.writers, default=problem.count) for s in storages]
    """The task before whose end each storage is not there."""
    last = [problem.count if s.kept else max(s.touches, default=-1) for s in storages]
    live = [sum(storage.size for storage in storages if storage.initial), *lives_of(problem)]
    parts: list[_Part] = []
    for start, end in _in_series(problem):
        numbers: dict[int, int] = {}
        writers: list[list[int]] = []
        users: list[list[int]] = []
        for task in range(start, end):
            for storage in touched[task]:
                number = numbers.setdefault(storage, len(numbers))
                if number == len(writers):
                    writers.append([])
                    users.append([])
                (writers if task in storages[storage].writers else users)[number].append(task - start)
        local = [
            Storage(
                storages[storage].size,
                frozenset(writers[number]),
                frozenset(users[number]),
                initial=written[storage] < start,
                kept=last[storage] >= end,
            )
            for storage, number in numbers.items()
        ]
        replaces = {
            task - start: (numbers[result], [numbers[other] for other in others if other in numbers])
            for task in range(start, end)
            for result, others in ([problem.replaces[task]] if task in problem.replaces else [])
            if result in numbers
        }
        after = [[one - start for one in problem.after[task] if one >= start] for task in range(start, end)]
        part = OrderProblem(end - start, after, local, replaces)
        around = live[start] - sum(storage.size for storage in local if storage.initial)
        parts.append(_Part(start, part, around))
    floor = max((part.floor for part in parts), default=0)
    for part in parts:
        # Of parts that need less than others have to, any order will do.
        if part.peak > floor and part.problem.count > 2:
            part.try_orders()
    return parts


def _chains(problem: OrderProblem) -> list[tuple[int, ...]]:
    """Groups of tasks that may as well run together: one that only one other comes after, and that makes as much as it
    can free, waits for that one. The search looks further with them than with each task alone, but may miss the best.
    """
    followers: list[set[int]] = [set() for _ in range(problem.count)]
    for task, before in enumerate(problem.after):
        for one in before:
            followers[one].add(task)
    touched = problem.touched
    leader = list(range(problem.count))
    for task in reversed(range(problem.count)):
        if len(followers[task]) != 1:
            continue
        made = freed = 0
        for storage in (problem.storages[number] for number in touched[task]):
            if not storage.initial and task == min(storage.writers, default=-1):
                made += storage.size
            elif not storage.kept:
                freed += storage.size
        if freed <= made:
            (follower,) = followers[task]
            leader[task] = leader[follower]
    groups: dict[int, list[int]] = {}
    for task, one in enumerate(leader):
        groups.setdefault(one, []).append(task)
    return [tuple(group) for group in groups.values()]


def _demand_driven(problem: OrderProblem) -> Iterator[tuple[int, ...]]:
    """Orders in which each task runs right before the first that it is needed for, if that can be: what a task comes
    after as given, the other way round, and with what needs most by itself first (Sethi and Ullman, "The Generation of
    Optimal Code for Arithmetic Expressions", 1970).
    """
    needs = _own_needs(problem)
    followed = {before for after in problem.after for before in after}
    ends = [task for task in range(problem.count) if task not in followed]
    keys: tuple[Callable[[int], tuple[int, int]], ...] = (
        lambda task: (0, task),
        lambda task: (0, -task),
        lambda task: (-needs[task], task),
    )
    for key in keys:
        order: list[int] = []
        seen: set[int] = set()
        waiting = [(task, False) for task in sorted(ends, key=key, reverse=True)]
        while waiting:
            task, ready = waiting.pop()
            if ready:
                order.append(task)
            elif task not in seen:
                seen.add(task)
                waiting.append((task, True))
                before = sorted(set(problem.after[task]) - seen, key=key, reverse=True)
                waiting.extend((one, False) for one in before)
        yield tuple(order)


def _own_needs(problem: OrderProblem) -> list[int]:
    """Memory that each task and its predecessors need, if no other task used theirs."""
    made = [0] * problem.count
    for storage in problem.storages:
        for task in storage.writers:
            made[task] += storage.size
    needs: list[int] = []
    for task, after in enumerate(problem.after):
        held = peak = 0
        for before in sorted(set(after), key=lambda one: made[one] - needs[one]):
            peak = max(peak, held + needs[before])
            held += made[before]
        needs.append(max(peak, held + made[task]))
    return needs
