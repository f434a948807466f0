"""Run ops in the order that needs the least memory at once.

```mlir
%a = edge.relu %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
%b = edge.exp %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
%c = edge.sum.dim_IntList %a {…} : (tensor<8x8xf32>) -> tensor<8xf32>
%d = edge.sum.dim_IntList %b {…} : (tensor<8x8xf32>) -> tensor<8xf32>
// becomes
%a = edge.relu %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
%c = edge.sum.dim_IntList %a {…} : (tensor<8x8xf32>) -> tensor<8xf32>
%b = edge.exp %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
%d = edge.sum.dim_IntList %b {…} : (tensor<8x8xf32>) -> tensor<8xf32>
```

The peak is computed as memory will be planned: views share the memory of what they view, kernels of the target write
over an argument that is not needed any more, and what is concatenated along the outermost dimension is computed in its
place. Constants and state have memory of their own. The search (`et_ir.planning.schedule`) is exact as long as `budget`
allows, and an order stays as it is unless another has a lower peak. Ops with effects keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from et_ir.dialects.edge import EdgeOp
from et_ir.passes.memory_graph import MemoryGraph
from et_ir.planning.schedule import BUDGET, least_peak
from et_ir.planning.tasks import Problem, peak_of
from et_ir.targets.in_place import load_in_place

__all__ = ["Order", "ReorderPass", "orders"]

SMALL: Final = 256
"""How many times smaller than the largest a storage is that the search leaves out."""


@dataclass(frozen=True)
class ReorderPass(ModulePass):
    """Run ops in the order of least memory."""

    name = "reorder"

    target: str = "stock-1.4"
    """The runtime whose kernels there are."""
    budget: int = BUDGET
    """Steps of the search for each block."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        try:
            load_in_place(self.target)
        except ValueError as error:
            raise PassFailedException(f"reorder: {error}") from None
        blocks = [block for inner in op.walk() for region in inner.regions for block in region.blocks]
        for block in blocks:
            if any(isinstance(one, EdgeOp) for one in block.ops):
                graph = MemoryGraph(block, self.target)
                given, best = orders(graph, self.budget)
                if best.peak < given.peak:
                    graph.run_in(best.tasks)


@dataclass(frozen=True)
class Order:
    """Tasks in order, and the bytes that they need at once."""

    tasks: tuple[int, ...]
    peak: int


def orders(graph: MemoryGraph, budget: int) -> tuple[Order, Order]:
    """The order that tasks are in, and the best that a search finds: the same unless that has a lower peak."""
    # What is concatenated may be computed in its place, or copied there: which takes less, is decided later.
    problems = [graph.problem(concatenate=True), graph.problem(concatenate=False)]
    if problems[0] == problems[1]:
        problems.pop()

    def order(tasks: tuple[int, ...]) -> Order:
        return Order(tasks, min(peak_of(problem, tasks) for problem in problems))

    given = order(tuple(range(len(graph.tasks))))
    found = [order(least_peak(_rough(problem), budget).order) for problem in problems]
    return given, min([given, *found], key=lambda one: one.peak)


def _rough(problem: Problem) -> Problem:
    """A problem without storages that are small beside the largest: when they are there decides nothing."""
    least = max((storage.size for storage in problem.storages), default=0) // SMALL
    storages = [s if s.size > least else replace(s, size=0) for s in problem.storages]
    return replace(problem, storages=storages)
