"""The order of tasks that needs the least memory at once.

Tasks make and use storages. A storage is there from the first task that writes it to the last task that writes or uses
it; while a task runs, all that it writes and uses is there. Which storages are there between two tasks depends on the
set of tasks that have run alone, whatever their order: so the search goes from sets of k tasks to sets of k + 1, keeps
the order with the lowest peak for each, and is exact (Ahn et al., "Ordering Chaos: Memory-Aware Scheduling of
Irregularly Wired Neural Networks for Edge Devices", MLSys 2020). Three things keep the sets few:

- A set whose peak is no lower than that of an order known already is dropped: of the given one, and of those that run
  each task right before what needs it.
- A task that can run within the peak so far, and leaves no more there than before, runs at once: that is never worse.
- Of more sets than the budget allows, those with the lowest peaks go on, and of these the ones that leave the least:
  then the result is an order that has been found, not necessarily the best.

Where one task stands between all before and all after it, only one set is left, so parts of a graph that are in series
cost no more than each alone. Equal inputs give equal orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

__all__ = ["BUDGET", "Problem", "Schedule", "Storage", "least_peak", "needs_of", "peak_of"]

BUDGET: Final = 100_000
"""How often the search asks what a task needs; some hundred thousand times take a second."""
SHARE: Final = 4
"""Times an equal part of what is left of the budget that sets of one size may take."""


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


@dataclass(frozen=True)
class Problem:
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


@dataclass(frozen=True)
class Schedule:
    """Tasks in order, the bytes they need at once, and whether no order needs less."""

    order: tuple[int, ...]
    peak: int
    optimal: bool


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


def peak_of(problem: Problem, order: Sequence[int]) -> int:
    """The bytes that tasks in an order need at once."""
    return max((_Search(problem).initial, *needs_of(problem, order)))


def needs_of(problem: Problem, order: Sequence[int]) -> list[int]:
    """The bytes that are needed while each task of an order runs, by its place in the order."""
    search = _Search(problem)
    done, live = 0, search.initial
    needs: list[int] = []
    for task in order:
        needed, live = search.run(done, live, task)
        needs.append(needed)
        done |= 1 << task
    return needs


def least_peak(problem: Problem, budget: int = BUDGET) -> Schedule:
    """An order with the lowest peak that the budget allows to find: that of the problem unless another is lower."""
    given = tuple(range(problem.count))
    known = min([given, *_demand_driven(problem)], key=lambda order: peak_of(problem, order))
    bound = peak_of(problem, known)
    if problem.count < 2:
        return Schedule(given, bound, optimal=True)
    return _Search(problem).solve(known, bound, budget)


def _demand_driven(problem: Problem) -> Iterator[tuple[int, ...]]:
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


def _own_needs(problem: Problem) -> list[int]:
    """What each task would need, with all it comes after, if nobody else used those."""
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


class _Search:
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
        self.of: list[list[int]] = [[] for _ in range(problem.count)]
        """The storages that each task writes or uses."""
        for index, storage in enumerate(problem.storages):
            for task in sorted(storage.writers | storage.users):
                self.of[task].append(index)
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

    def solve(self, given: tuple[int, ...], bound: int, budget: int) -> Schedule:
        floor = self._floor()
        if bound <= floor:
            return Schedule(given, bound, optimal=True)
        start = _State(0, self.initial, self.initial, tuple(t for t in given if not self.needs[t]), None)
        states, exact = [self._hurry(start)], True
        while states and states[0].done.bit_count() < self.count:
            allowance = SHARE * (budget - self.asked) // (self.count - states[0].done.bit_count())
            states, complete = self._step(states, bound, self.asked + max(0, allowance))
            exact = exact and complete
        if not states:
            return Schedule(given, bound, optimal=exact)
        best = min(states, key=_rank)
        return Schedule(_order(best), best.peak, optimal=exact)

    def _floor(self) -> int:
        """What no order can do without: the most that a single task needs."""
        alone = (
            sum(self.sizes[storage] for storage in self.of[task])
            - (self.sizes[self.replaces[task][0]] if task in self.replaces else 0)
            for task in range(self.count)
        )
        return max((self.initial, *alone))

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
