"""Orders of the ops of blocks by what they need at once: what `reorder` and `rematerialize` share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from et_ir.analysis.memory_graph import MemoryGraph
from et_ir.dialects.edge import EdgeOp
from et_ir.planning.schedule import least_peak
from et_ir.planning.tasks import OrderProblem, peak_of
from et_ir.targets.lookup import find_target

__all__ = ["SMALL", "Order", "memory_graphs", "orders"]

SMALL: Final = 256
"""Ratio to the largest storage below which the search ignores a storage."""


def memory_graphs(
    module: ModuleOp, target: str, name: str, limit: int | None = None
) -> Iterator[MemoryGraph]:
    """Memory graphs of the blocks of at most `limit` ops with operators of the edge level, for the pass `name`.

    Raises `PassFailedException` for an unknown target.
    """
    try:
        find_target(target)
    except ValueError as error:
        raise PassFailedException(f"{name}: {error}") from None
    blocks = [block for op in module.walk() for region in op.regions for block in region.blocks]
    for block in blocks:
        if limit is not None and len(block.ops) > limit:
            continue
        if any(isinstance(op, EdgeOp) for op in block.ops):
            yield MemoryGraph(block, target)


@dataclass(frozen=True)
class Order:
    """Tasks in order, and the bytes that they need at once."""

    tasks: tuple[int, ...]
    peak: int


def orders(graph: MemoryGraph, budget: int) -> tuple[Order, Order]:
    """The order that tasks are in, and the best that a search finds: the same unless that has a lower peak."""
    # What is concatenated may be computed in its place, or copied there: which takes less, is decided later.
    problems = [graph.concatenated, graph.copied]
    if problems[0] == problems[1]:
        problems.pop()

    def order(tasks: tuple[int, ...]) -> Order:
        return Order(tasks, min(peak_of(problem, tasks) for problem in problems))

    given = order(tuple(range(len(graph.tasks))))
    best = given
    for problem in problems:
        found = order(least_peak(_rough(problem), budget, best.peak).order)
        best = min(best, found, key=lambda one: one.peak)
    return given, best


def _rough(problem: OrderProblem) -> OrderProblem:
    """A problem without storages that are small beside the largest: when they are there decides nothing."""
    least = max((storage.size for storage in problem.storages), default=0) // SMALL
    storages = [s if s.size > least else replace(s, size=0) for s in problem.storages]
    return replace(problem, storages=storages)
