"""List scheduling of tasks on a few equal processors.

Tasks are taken in the order of their upward ranks, the longest way from each to the end with what handing over costs,
and each is put on the processor where it ends first (HEFT: Topcuoglu, Hariri, Wu, "Performance-Effective and
Low-Complexity Task Scheduling for Heterogeneous Computing", 2002). Tasks that follow each other, where nothing else
waits for the first or is waited for by the second, are one task throughout.

A chain is what one processor does between two places at which another one is involved: tasks wait for tasks on other
processors only at the beginning of a chain, and are waited for only at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Schedule", "list_schedule"]


class Schedule(NamedTuple):
    """Chains of tasks, in an order in which each comes behind those that it waits for, and when the last one ends."""

    chains: list[list[int]]
    makespan: float


def list_schedule(
    costs: Sequence[float], predecessors: Sequence[Sequence[int]], processors: int, handover: float
) -> Schedule:
    """A schedule of tasks, each of which comes behind its `predecessors` in the order they are given.

    What another processor has made can be used `handover` later; the first one has the inputs and hands out the
    results. Costs are positive. O(tasks × processors + edges).
    """
    clusters, of = _clusters(predecessors)
    weights = [sum(costs[task] for task in tasks) for tasks in clusters]
    waits = [
        sorted({of[before] for task in tasks for before in predecessors[task]} - {number})
        for number, tasks in enumerate(clusters)
    ]
    followers: list[list[int]] = [[] for _ in clusters]
    for number, befores in enumerate(waits):
        for before in befores:
            followers[before].append(number)
    order = _topological(waits, followers)
    ranks = [0.0] * len(clusters)
    for number in reversed(order):
        behind = (ranks[follower] + handover for follower in followers[number])
        ranks[number] = weights[number] + max(behind, default=0.0)
    place = {number: at for at, number in enumerate(order)}
    free = [0.0, *[handover] * (processors - 1)]
    on = [0] * len(clusters)
    start, end = [0.0] * len(clusters), [0.0] * len(clusters)
    # A task has a higher rank than those that wait for it, as costs are positive.
    for number in sorted(order, key=lambda one: (-ranks[one], place[one])):
        ready = [
            max(
                free[processor],
                max(
                    (
                        end[before] + (0.0 if on[before] == processor else handover)
                        for before in waits[number]
                    ),
                    default=0.0,
                ),
            )
            for processor in range(processors)
        ]
        best = min(range(processors), key=lambda processor: (ready[processor], processor))
        on[number], start[number] = best, ready[best]
        end[number] = free[best] = ready[best] + weights[number]
    chains: list[list[int]] = []
    for processor in range(processors):
        mine = sorted(
            (one for one in order if on[one] == processor), key=lambda one: (start[one], place[one])
        )
        open_chain = False
        for number in mine:
            if not open_chain or any(on[before] != processor for before in waits[number]):
                chains.append([])
            chains[-1].append(number)
            open_chain = all(on[follower] == processor for follower in followers[number])
    chains.sort(key=lambda chain: (start[chain[0]], place[chain[0]]))
    return Schedule(
        [[task for number in chain for task in clusters[number]] for chain in chains],
        max((at + handover * (processor > 0) for at, processor in zip(end, on, strict=True)), default=0.0),
    )


def _clusters(predecessors: Sequence[Sequence[int]]) -> tuple[list[list[int]], list[int]]:
    """Lines of tasks that follow each other, and the line of each task."""
    count = [0] * len(predecessors)
    for befores in predecessors:
        for before in befores:
            count[before] += 1
    clusters: list[list[int]] = []
    of: list[int] = []
    for task, befores in enumerate(predecessors):
        if len(befores) == 1 and count[befores[0]] == 1:
            of.append(of[befores[0]])
            clusters[of[-1]].append(task)
        else:
            of.append(len(clusters))
            clusters.append([task])
    return clusters, of


def _topological(waits: Sequence[Sequence[int]], followers: Sequence[Sequence[int]]) -> list[int]:
    left = [len(befores) for befores in waits]
    ready = [number for number, befores in enumerate(waits) if not befores]
    order: list[int] = []
    for number in ready:
        order.append(number)
        for follower in followers[number]:
            left[follower] -= 1
            if not left[follower]:
                ready.append(follower)
    return order
