"""Search for the order of tasks with the least peak memory.

Which storages are there between two tasks depends on the set of tasks that have run alone, whatever their order: so
the search goes from sets of k tasks to sets of k + 1, keeps the order with the lowest peak for each, and is exact (Ahn
et al., "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge Devices", MLSys 2020).
Three things keep the sets few:

- A set whose peak is no lower than that of an order known already is dropped.
- A task that can run within the peak so far, and leaves no more there than before, runs at once: that is never worse.
- Of more sets than the budget allows, those with the lowest peaks go on, and of these the ones that leave the least:
  then the result is an order that has been found, not necessarily the best.

What a task needs and leaves, beside what is there, changes only when a storage that it touches is first written, or has
no other user left: the next set has the rest from the set before. Sets are bits, so that a step takes time and memory
in proportion to the number of tasks: see `et_ir.planning.schedule` for what is done about many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from et_ir.planning.tasks import OrderProblem

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
    options: dict[int, tuple[int, int]]
    """Of each that can run what it needs and what it leaves, less what is there."""


@dataclass(slots=True)
class _Trail:
    group: int
    before: _Trail | None


class _LimitPassed(Exception):
    """The search has asked too often."""


class OrderSearch:
    """The search for one problem."""

    def __init__(self, problem: OrderProblem, groups: Sequence[tuple[int, ...]] | None = None):
        """Tasks of a group run one after the other, in its order; each task is in one. Without groups, each is one."""
        self.count = problem.count
        self.groups = [(task,) for task in range(problem.count)] if groups is None else groups
        group_of = {task: number for number, group in enumerate(self.groups) for task in group}
        self.members = [_bits(group) for group in self.groups]
        self.needs: list[int] = []
        """The tasks that must have run before each group, as bits."""
        self.followers: list[list[int]] = [[] for _ in self.groups]
        for number, group in enumerate(self.groups):
            before = {one for task in group for one in problem.after[task]} - set(group)
            self.needs.append(_bits(before))
            for one in sorted({group_of[task] for task in before}):
                self.followers[one].append(number)
        self.sizes = [storage.size for storage in problem.storages]
        self.writers = [_bits(storage.writers) for storage in problem.storages]
        self.touches = [_bits(storage.touches) for storage in problem.storages]
        self.initially = [storage.initial for storage in problem.storages]
        self.kept = [storage.kept for storage in problem.storages]
        self.initial = sum(storage.size for storage in problem.storages if storage.initial)
        storages = list(zip(self.sizes, self.writers, self.touches, self.initially, self.kept, strict=True))
        self.makes = [
            [
                (size, writers)
                for size, writers, _, initially, _ in map(storages.__getitem__, touched)
                if size and not initially
            ]
            for touched in problem.touched
        ]
        """Of each task the storages that may be there from it on: sizes and writers."""
        self.frees = [
            [
                (size, touches)
                for size, _, touches, _, kept in map(storages.__getitem__, touched)
                if size and not kept
            ]
            for touched in problem.touched
        ]
        """Of each task the storages that may go with it: sizes and all that touch them."""
        self.replaces = problem.replaces
        self.group_of = group_of
        self.uses = [
            sorted({storage for task in group for storage in problem.touched[task]}) for group in self.groups
        ]
        """Of each group the storages that it touches."""
        self.asked = 0

    def run(self, done: int, group: int) -> tuple[int, int]:
        """The bytes that are needed while a group runs, and those that are left behind it, less those before it."""
        tasks = self.groups[group]
        if len(tasks) == 1:
            return self._run(done, 0, tasks[0])
        most = live = 0
        for task in tasks:
            needed, live = self._run(done, live, task)
            most = max(most, needed)
            done |= 1 << task
        return most, live

    def _run(self, done: int, live: int, task: int) -> tuple[int, int]:
        after = done | 1 << task
        waiting = ~after
        made = freed = 0
        for size, writers in self.makes[task]:
            if not writers & done:
                made += size
        for size, touches in self.frees[task]:
            if not touches & waiting:
                freed += size
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

    def solve(
        self, bound: int, budget: int, *, limit: int | None = None
    ) -> tuple[tuple[int, ...] | None, bool]:
        """The order with the lowest peak below a bound that the budget allows to find, and whether no order's is lower.

        None if there is no such order, or none was found. Behind the budget the search goes on to an order with one set
        of each size, but gives up when it has asked more than `limit` times: many tasks make that long too.
        """
        ready = tuple(group for group, needs in enumerate(self.needs) if not needs)
        start = _State(0, self.initial, self.initial, ready, None, {})
        states, exact = [self._hurry(start, ready)], True
        while states and states[0].done.bit_count() < self.count:
            allowance = SHARE * (budget - self.asked) // (self.count - states[0].done.bit_count())
            try:
                states, complete = self._step(states, bound, self.asked + max(0, allowance), limit)
            except _LimitPassed:
                return None, False
            exact = exact and complete
        if not states:
            return None, exact
        order = _order(min(states, key=_rank))
        return tuple(task for group in order for task in self.groups[group]), exact

    def _step(
        self, states: list[_State], bound: int, until: int, limit: int | None
    ) -> tuple[list[_State], bool]:
        """The sets that come of running one more group, or more that are never worse; and whether that is all. Raises
        `_LimitPassed` when it has asked more than `limit` times.

        Sets of different numbers of tasks are kept apart: the smallest go on first, and of these, until the search has
        asked often enough, the best.
        """
        least = states[0].done.bit_count()
        found = {state.done: state for state in states if state.done.bit_count() > least}
        going = sorted((state for state in states if state.done.bit_count() == least), key=_rank)
        tried: dict[int, int] = {}
        """The lowest peak with which each set has been reached, before what else runs at once."""
        complete = True
        for index, state in enumerate(going):
            complete = self.asked < until
            if not complete and index:
                break
            options = [(*state.options[group], group) for group in state.ready]
            for more, left, group in options if complete else [min(options)]:
                needed, live = state.live + more, state.live + left
                peak = max(state.peak, needed)
                done = state.done | self.members[group]
                if needed >= bound or tried.get(done, bound) <= peak:
                    continue
                tried[done] = peak
                following = self._hurry(*self._after(state, group, live, peak))
                if limit is not None and self.asked > limit:
                    raise _LimitPassed
                other = found.get(following.done)
                if other is None or following.peak < other.peak:
                    found[following.done] = following
        return sorted(found.values(), key=_size), complete

    def _after(self, state: _State, group: int, live: int, peak: int) -> tuple[_State, set[int]]:
        """The set with one more group, and those of its options that are not known any more."""
        done = state.done | self.members[group]
        ready = [one for one in state.ready if one != group]
        following = [one for one in self.followers[group] if not self.needs[one] & ~done]
        options = state.options.copy()
        options.pop(group, None)
        unknown = {*following}
        for storage in self.uses[group]:
            left = self.touches[storage] & ~done
            if not left:
                continue
            if not self.writers[storage] & state.done and self.writers[storage] & done:
                unknown |= {self.group_of[task] for task in _tasks(left)}
            else:
                one = self.group_of[(left & -left).bit_length() - 1]
                if not left & ~self.members[one]:
                    unknown.add(one)
        ready = tuple(sorted(ready + following))
        return _State(done, live, peak, ready, _Trail(group, state.trail), options), unknown

    def _hurry(self, state: _State, unknown: Collection[int]) -> _State:
        """A set, and what needs no more than has been needed and leaves no more than there is, which runs at once."""
        while True:
            options = state.options
            for one in unknown:
                options.pop(one, None)
            spare = state.peak - state.live
            for group in state.ready:
                self.asked += len(self.groups[group])
                option = options.get(group)
                if option is None:
                    option = options[group] = self.run(state.done, group)
                needed, left = option
                if needed <= spare and left <= 0:
                    state, unknown = self._after(state, group, state.live + left, state.peak)
                    break
            else:
                return state


def _rank(state: _State) -> tuple[int, int, int, int]:
    return state.peak, state.live, -state.done.bit_count(), state.done


def _size(state: _State) -> tuple[int, int]:
    return state.done.bit_count(), state.done


def _order(state: _State) -> tuple[int, ...]:
    order: list[int] = []
    trail = state.trail
    while trail is not None:
        order.append(trail.group)
        trail = trail.before
    return tuple(reversed(order))


def _tasks(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _bits(tasks: Iterable[int]) -> int:
    bits = 0
    for task in tasks:
        bits |= 1 << task
    return bits
