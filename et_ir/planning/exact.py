"""Exact planning: the smallest arena, proven to be, or the best found within a budget and how far it may be off.

Buffers that no time connects are planned apart, and searched for only where greedy placement is above the bound. A
search (`et_ir.planning.search`) looks for a layout of exactly as many bytes as the lower bound says. If it proves that
there is none, it also says what the next possible size is, and goes on there. One search runs to its end, in turns with
short ones in many other orders (`et_ir.planning.search_orders`): run times of orders differ by a factor of thousands.
If a size is not decided on half of the budget, or too many are refuted one by one, what is left goes into halving the
distance between the bound and the best layout so far.

The budget is counted in nodes, so that the result depends on the buffers and the budget alone: not on the machine, nor
on the hash seed. A limit in seconds, if there is one, may end the search earlier, with the best plan until then.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Final

from et_ir.planning.buffer import Buffer, Layout
from et_ir.planning.greedy import plan_greedy
from et_ir.planning.lower_bounds import granule_of, layout_size, lower_bound
from et_ir.planning.placement import overlapping_pairs
from et_ir.planning.plan import Plan

if TYPE_CHECKING:
    from et_ir.planning.search import Found, PlacementProblem, Refuted

__all__ = ["BUDGET", "plan_best", "plan_exact"]

BUDGET: Final = 400_000
"""Nodes of a search unless it is said; about 25 µs each."""
QUICK: Final = 4_000
"""Nodes of `plan_best`, at most."""
EFFORT: Final = 24_000_000
"""Pairs of buffers that `plan_best` has the search go through: a node goes through all that are needed at one time."""
NODE: Final = 3_000
"""Fixed cost of a search node, in pairs."""
FEWEST: Final = 250
"""Nodes that are worth to begin a search."""
STEADY: Final = 2
"""Slices of the search that runs to its end, between two short ones."""
ATTEMPT: Final = 4
"""Slices of a short search."""
CLIMBS: Final = 6
"""Sizes that are refuted from the bound up, before the distance is halved."""
PATIENCE: Final = 16
"""Short searches of one length, before they become longer by `ATTEMPT` slices."""


def plan_exact(
    buffers: Sequence[Buffer],
    *,
    budget: int = BUDGET,
    seconds: float | None = None,
    goal: int = 0,
    greedy: Layout | None = None,
) -> Plan:
    """The smallest layout that `budget` nodes of search find, with its certificate.

    Never larger than what greedy placement finds. A layout of `goal` bytes or less is good enough, and not improved.
    `greedy` is what greedy placement finds, if that is known.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    layout = plan_greedy(buffers) if greedy is None else greedy
    bound = lower_bound(buffers)
    goal = max(goal, bound)
    if layout.size <= goal or budget == 0:
        return Plan(layout, min(bound, layout.size))
    clock = _Clock(budget, deadline)
    granule = granule_of(buffers)
    offsets = list(layout.offsets)
    for part in _parts(buffers):
        members = [buffers[index] for index in part]
        # What is above the bound of all need not be improved below it: other parts need as much.
        whole = len(part) == len(buffers)
        best = _sized(members, (layout if whole else plan_greedy(members)).offsets, granule)
        own = max(lower_bound(members, granule), goal)
        if best.size > own:
            best, proven = _improve(members, best, own, granule, clock)
            # What one part cannot do without, the whole cannot; up to the goal nothing has been proven.
            bound = max(bound, proven if proven > goal else 0)
        for index, offset in zip(part, best.offsets, strict=True):
            offsets[index] = offset
    found = _sized(buffers, tuple(offsets), granule)
    if found.size > layout.size:
        found = layout
    return Plan(found, min(bound, found.size), clock.nodes)


def plan_best(buffers: Sequence[Buffer], slack: int = 0) -> Plan:
    """Greedy placement, and a short search where that is above the bound: the default effort of a compiler.

    The more buffers there are at one time, the shorter is the search, until there is none. A layout that is by at most
    `slack` thousandths larger than the bound is good enough: nothing smaller is looked for.
    """
    nodes = min(QUICK, EFFORT // (NODE + overlapping_pairs(buffers)))
    budget = nodes if nodes >= FEWEST else 0
    if not slack:
        return plan_exact(buffers, budget=budget)
    bound = lower_bound(buffers)
    goal = bound * (1000 + slack) // 1000
    layout = plan_greedy(buffers, goal, rounds=1)
    if layout.size <= goal:
        return Plan(layout, min(bound, layout.size))
    # A search takes less time than more rounds do, and is more likely to get there.
    plan = plan_exact(buffers, budget=budget, greedy=layout)
    if plan.size > goal:
        layout = plan_greedy(buffers, goal)
        if layout.size < plan.size:
            return Plan(layout, plan.bound, plan.nodes)
    return plan


class _Clock:
    """Remaining budget."""

    def __init__(self, budget: int, deadline: float | None):
        self.budget = budget
        self.deadline = deadline
        self.nodes = 0

    def ended(self, share: int) -> bool:
        """Whether `share` nodes, of the whole budget, or the time have been used."""
        return self.nodes >= share or (self.deadline is not None and time.monotonic() >= self.deadline)


def _parts(buffers: Sequence[Buffer]) -> list[list[int]]:
    """Indices of buffers that are connected by others needed at the same time, in the order of time."""
    parts: list[list[int]] = []
    end = -1
    for index in sorted(range(len(buffers)), key=lambda i: (buffers[i].first, i)):
        buffer = buffers[index]
        if not buffer.size:
            continue
        if not parts or buffer.first > end:
            parts.append([])
            end = buffer.last
        parts[-1].append(index)
        end = max(end, buffer.last)
    # As they were given, which is what orders fall back on.
    return [sorted(part) for part in parts]


def _sized(buffers: Sequence[Buffer], offsets: tuple[int, ...], granule: int) -> Layout:
    return Layout(offsets, layout_size(buffers, offsets, granule))


def _improve(
    buffers: Sequence[Buffer], best: Layout, bound: int, granule: int, clock: _Clock
) -> tuple[Layout, int]:
    """A layout between a bound and the best one so far, and the bound that the search has proven."""
    from et_ir.planning.search import Found, PlacementProblem, Refuted

    problem = PlacementProblem(buffers, granule)
    half = (clock.nodes + clock.budget) // 2
    untried = bound
    for _ in range(CLIMBS):
        outcome = _race(problem, bound, clock, half)
        if isinstance(outcome, Found):
            return _sized(buffers, outcome.offsets, granule), bound
        if outcome is None:
            untried = bound + granule
            break
        untried = bound = min(outcome.bound, best.size)
        if bound == best.size:
            break
    else:
        # Refuting one size takes little: perhaps one search less than the best layout takes not much more.
        capacity = best.size - granule
        outcome = _race(problem, capacity, clock, (clock.nodes + clock.budget) // 2)
        if isinstance(outcome, Refuted):
            return best, best.size
        if isinstance(outcome, Found):
            best = _sized(buffers, outcome.offsets, granule)
    while untried < best.size and not clock.ended(clock.budget):
        steps = (best.size - untried) // granule
        capacity = untried + (steps - 1) // 2 * granule
        left = clock.budget - clock.nodes
        outcome = _race(problem, capacity, clock, clock.nodes + (left if steps == 1 else max(1, left // 4)))
        if isinstance(outcome, Found):
            best = _sized(buffers, outcome.offsets, granule)
        elif isinstance(outcome, Refuted):
            untried = bound = min(outcome.bound, best.size)
        else:
            untried = capacity + granule
    return best, bound


def _race(problem: PlacementProblem, capacity: int, clock: _Clock, share: int) -> Found | Refuted | None:
    """Whether there is a layout in `capacity` bytes: one search to the end and short ones, in turns; `None` if the
    budget up to `share` nodes does not suffice.
    """
    from et_ir.planning.search import search
    from et_ir.planning.search_orders import attempts

    orders = attempts(problem.buffers, [len(of) for of in problem.of])
    order, tightest = next(orders)
    complete = search(problem, capacity, order, tightest=tightest)
    for tries, (order, tightest) in enumerate(orders):
        outcome = _advance(complete, STEADY, clock, share)
        if outcome is None:
            short = search(problem, capacity, order, tightest=tightest)
            outcome = _advance(short, ATTEMPT * (1 + tries // PATIENCE), clock, share)
        if outcome is not None or clock.ended(share):
            return outcome
    raise AssertionError("there is always another order")


def _advance(
    search: Generator[None, None, Found | Refuted], slices: int, clock: _Clock, share: int
) -> Found | Refuted | None:
    """Let a search go on for so many slices; what it ends with, if it ends."""
    from et_ir.planning.search import SLICE

    for _ in range(slices):
        if clock.ended(share):
            break
        try:
            next(search)
        except StopIteration as end:
            outcome: Found | Refuted = end.value
            clock.nodes += outcome.nodes % SLICE
            return outcome
        clock.nodes += SLICE
    return None
