"""The search for the order of tasks that needs the least memory at once.

Which storages are there between two tasks depends on the set of tasks that have run alone, whatever their order: so
the search goes from sets of k tasks to sets of k + 1, keeps the order with the lowest peak for each, and is exact (Ahn
et al., "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge Devices", MLSys 2020).
Three things keep the sets few:

- A set whose peak is no lower than that of an order known already is dropped.
- A task that can run within the peak so far, and leaves no more there than before, runs at once: that is never worse.
- Of more sets than the budget allows, those with the lowest peaks go on, and of these the ones that leave the least:
  then the result is an order that has been found, not necessarily the best.

Sets are bits, so that a step takes time and memory in proportion to the number of tasks: see `et_ir.planning.schedule`
for what is done about many.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from et_ir.planning.tasks import Problem, touched_by

__all__ = ["OrderSearch"]

SHARE: Final = 4
"""Times an equal part of what is left of the budget that sets of one size may take."""


@dataclass(slots=True)
class _State:
    """A set of tasks that have run: as bits, what they have left, the most that was needed, those that can run, and how
    the set came about.
    """

    done: int
    live: int
    peak: int
    ready: tuple[int, ...]
    trail: _Trail | None


@dataclass(slots=True)
class _Trail:
    task: int
    before: _Trail | None


class OrderSearch:
    """The search for one problem."""

    def __init__(self, problem: Problem):
        self.count = problem.count
        self.needs = [_bits(before) for before in problem.after]
        self.followers: list[list[int]] = [[] for _ in range(problem.count)]
        for task, before in enumerate(problem.after):
            for one in dict.fromkeys(before):
                self.followers[one].append(task)
        self.sizes = [storage.size for storage in problem.storages]
        self.writers = [_bits(storage.writers) for storage in problem.storages]
        self.touches = [_bits(storage.writers | storage.users) for storage in problem.storages]
        self.initially = [storage.initial for storage in problem.storages]
        self.kept = [storage.kept for storage in problem.storages]
        self.initial = sum(storage.size for storage in problem.storages if storage.initial)
        self.of = touched_by(problem)
        self.replaces = problem.replaces
        self.asked = 0

    def run(self, done: int, live: int, task: int) -> tuple[int, int]:
        """The bytes that are needed while a task runs, and those that are left behind it."""
        self.asked += 1
        after = done | 1 << task
        made = freed = 0
        for storage in self.of[task]:
            touches = self.touches[storage]
            there = self.initially[storage] or self.writers[storage] & done
            if not there:
                made += self.sizes[storage]
            if not touches & ~after and not self.kept[storage]:
                freed += self.sizes[storage]
        saved = 0
        if task in self.replaces:
            result, others = self.replaces[task]
            if not self.initially[result] and not self.writers[result] & done:
                for other in others:
                    dies = not self.touches[other] & ~after and not self.kept[other]
                    if dies and self.sizes[other] == self.sizes[result]:
                        saved = self.sizes[result]
                        break
        return live + made - saved, live + made - freed

    def solve(self, bound: int, budget: int) -> tuple[tuple[int, ...] | None, bool]:
        """The order with the lowest peak below a bound that the budget allows to find, and whether no order's is lower.

        None if there is no such order, or none was found.
        """
        start = _State(
            0, self.initial, self.initial, tuple(t for t, n in enumerate(self.needs) if not n), None
        )
        states, exact = [self._hurry(start)], True
        while states and states[0].done.bit_count() < self.count:
            allowance = SHARE * (budget - self.asked) // (self.count - states[0].done.bit_count())
            states, complete = self._step(states, bound, self.asked + max(0, allowance))
            exact = exact and complete
        return (_order(min(states, key=_rank)) if states else None), exact

    def _step(self, states: list[_State], bound: int, until: int) -> tuple[list[_State], bool]:
        """The sets that come of running one more task, or more that are never worse; and whether that is all.

        Sets of different numbers of tasks are kept apart: the smallest go on first, and of these, until the search has
        asked often enough, the best.
        """
        least = states[0].done.bit_count()
        found = {state.done: state for state in states if state.done.bit_count() > least}
        going = sorted((state for state in states if state.done.bit_count() == least), key=_rank)
        complete = True
        for index, state in enumerate(going):
            options = [(*self.run(state.done, state.live, task), task) for task in state.ready]
            if self.asked >= until:
                complete = False
                if index:
                    break
                options = [min(options)]
            for needed, live, task in options:
                if needed >= bound:
                    continue
                following = self._hurry(self._after(state, task, max(state.peak, needed), live))
                other = found.get(following.done)
                if following.peak < bound and (other is None or following.peak < other.peak):
                    found[following.done] = following
        return sorted(found.values(), key=_size), complete

    def _after(self, state: _State, task: int, peak: int, live: int) -> _State:
        done = state.done | 1 << task
        ready = [one for one in state.ready if one != task]
        ready += [one for one in self.followers[task] if not self.needs[one] & ~done]
        return _State(done, live, peak, tuple(sorted(ready)), _Trail(task, state.trail))

    def _hurry(self, state: _State) -> _State:
        """Run what needs no more than has been needed, and leaves no more than there is."""
        found = True
        while found:
            found = False
            for task in state.ready:
                needed, live = self.run(state.done, state.live, task)
                if needed <= state.peak and live <= state.live:
                    state = self._after(state, task, state.peak, live)
                    found = True
                    break
        return state


def _rank(state: _State) -> tuple[int, int, int, int]:
    return state.peak, state.live, -state.done.bit_count(), state.done


def _size(state: _State) -> tuple[int, int]:
    return state.done.bit_count(), state.done


def _order(state: _State) -> tuple[int, ...]:
    order: list[int] = []
    trail = state.trail
    while trail is not None:
        order.append(trail.task)
        trail = trail.before
    return tuple(reversed(order))


def _bits(tasks: Iterable[int]) -> int:
    bits = 0
    for task in tasks:
        bits |= 1 << task
    return bits
