"""Recompute cheap values where they are needed, if that lowers peak memory.

```mlir
%r = edge.relu %x : tensor<1x64x32x32xf32>
%a = edge.sum.dim_IntList %r {…} : (tensor<1x64x32x32xf32>) -> tensor<64xf32>
…                                                                                // ops that need a lot, and %x
%b = edge.amax %r {…} : (tensor<1x64x32x32xf32>) -> tensor<64xf32>
// becomes
%r = edge.relu %x : tensor<1x64x32x32xf32>
%a = edge.sum.dim_IntList %r {…} : (tensor<1x64x32x32xf32>) -> tensor<64xf32>
…
%0 = edge.relu %x {…} {edge.apart = 0 : i64} : tensor<1x64x32x32xf32>
%b = edge.amax %0 {…} : (tensor<1x64x32x32xf32>) -> tensor<64xf32>
```

Networks of cells apply the same activation and the same pools to a result wherever they use it, and `cse` computes them
once. Kept from the first use to the last, they need as much memory as what they are computed from.

All cheap ops are computed for each use, and the best order (`reorder`) is looked for so. If it needs less at once than
the best one without, by more than an eighth, it is taken; then what is computed twice with room to keep it between
is computed once again. Cheap are pointwise ops and pools that take at most 2 % of what the program takes on the
target; all that are added take at most a quarter together. An attribute, `again`, keeps them from being merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import prod
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import Pure

from et_ir.analysis.cost_model import CostModel, work_of
from et_ir.analysis.memory_graph import MemoryGraph, bytes_of_value
from et_ir.analysis.memory_orders import SMALL, Order, memory_graphs, orders
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import APART
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.planning.schedule import BUDGET
from et_ir.planning.tasks import needs_of
from et_ir.targets.lookup import DEFAULT

__all__ = ["RematerializePass"]

"""An attribute of what is computed again: its number."""
POOLS: Final = (edge.AvgPool2dOp, edge.MaxPool2dWithIndicesOp)
CHEAP: Final = 0.02
"""Limit of the time of one recomputed op, as a fraction of the total."""
MORE: Final = 0.25
"""Limit of the time of all recomputed ops, as a fraction of the total."""
GAIN: Final = 7 / 8
"""Required peak memory, as a fraction of the peak without the pass."""
PRODUCT: Final = "aten::mm.out"
"""The kernel that convolutions are priced as: they become products of patches where that is faster."""
UNKNOWN: Final = 1e-8
"""Seconds for an element of what the target's table does not know, and of patches."""


@dataclass(frozen=True)
class RematerializePass(ModulePass):
    """Compute what is cheap again instead of keeping it."""

    name = "rematerialize"

    target: str = DEFAULT
    """The runtime whose kernels there are."""
    budget: int = BUDGET
    """Steps of the search for an order for each block."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for graph in memory_graphs(op, self.target, self.name):
            model = CostModel.of(self.target)
            if model is not None:
                _Rematerialization(graph, self.target, self.budget, model).run()


class _Rematerialization:
    """The recomputed ops of a block."""

    def __init__(self, graph: MemoryGraph, target: str, budget: int, model: CostModel):
        self.graph = graph
        self.target = target
        self.budget = budget
        self.model = model

    def run(self) -> None:
        graph = self.graph
        seconds = sum(map(self._seconds, graph.tasks))
        shared = [op for op in _shared(graph) if self._seconds(op) <= CHEAP * seconds]
        if not shared:
            return
        peak = orders(graph, self.budget)[1].peak
        numbers = count()
        families = [_copies(op, graph, numbers) for op in shared]
        graph = MemoryGraph(graph.block, self.target)
        best = orders(graph, self.budget)[1]
        merged = _mergeable(graph, best, families)
        again = [op for family in families for op in family[1:]]
        more = sum(map(self._seconds, again)) - sum(map(self._seconds, merged))
        if best.peak <= GAIN * peak and more <= MORE * seconds:
            graph.run_in([task for task in best.tasks if graph.tasks[task] not in merged])
        else:
            merged = {op: family[0] for family in families for op in family[1:]}
        for op, by in merged.items():
            op.results[0].replace_all_uses_with(by.results[0])
            op.detach()
            op.erase()

    def _seconds(self, op: Operation) -> float:
        """About how long an op takes; a convolution as the product of patches that it becomes."""
        if not isinstance(op, EdgeOp) or isinstance(op, edge.ViewCopyOp) or not _makes_tensors(op):
            return 0.0
        work = work_of(op)
        if isinstance(op, edge.ConvolutionOp):
            taps = prod(tensor_type(op.operands[1]).get_shape()[2:])
            product = self.model.table.seconds(replace(work, kernel=PRODUCT))
            return (product or 0.0) + UNKNOWN * taps * work.written
        known = self.model.table.seconds(work)
        return UNKNOWN * (work.read + work.written) if known is None else known


def _makes_tensors(op: Operation) -> bool:
    return bool(op.results) and all(is_tensor(result.type) for result in op.results)


def _shared(graph: MemoryGraph) -> list[EdgeOp]:
    """Pointwise ops and pools whose results several ops use, in memory of their own."""
    largest = max((bytes_of_value(value) for op in graph.tasks for value in op.results), default=0)
    viewed = set(graph.roots.values())
    return [
        op
        for op in graph.tasks
        if isinstance(op, EdgeOp)
        and (isinstance(op, POOLS) or (op.operator.is_pointwise and len(op.operands) == 1))
        and op.has_trait(Pure)
        and bytes_of_value(op.results[0]) * SMALL > largest
        and all(result.first_use is None for result in op.results[1:])
        and op.results[0] not in graph.roots
        and op.results[0] not in viewed
        and len(users := _users(op)) > 1
        and all(user in graph.number for user in users)
    ]


def _users(op: Operation) -> list[Operation]:
    """The ops that use the first result of one."""
    return list(dict.fromkeys(use.operation for use in op.results[0].uses))


def _copies(op: EdgeOp, graph: MemoryGraph, numbers: Iterator[int]) -> list[EdgeOp]:
    """An op, and one right before each of the ops that use it but the first, for that one."""
    family = [op]
    for user in sorted(_users(op), key=graph.number.__getitem__)[1:]:
        copy = op.clone()
        copy.attributes[APART] = IntegerAttr(next(numbers), 64)
        assert op.parent is not None
        op.parent.insert_op_before(copy, user)
        for index, operand in enumerate(user.operands):
            if operand is op.results[0]:
                user.operands[index] = copy.results[0]
        family.append(copy)
    return family


def _mergeable(
    graph: MemoryGraph, order: Order, families: Sequence[Sequence[EdgeOp]]
) -> dict[Operation, Operation]:
    """The copies that need not be computed, as an order has memory for the earlier ones; and those."""
    import numpy as np

    problem = graph.concatenated
    place = {graph.tasks[task]: at for at, task in enumerate(order.tasks)}
    needs = np.array(needs_of(problem, order.tasks))
    merged: dict[Operation, Operation] = {}
    for family in families:
        size = bytes_of_value(family[0].results[0])
        first, *others = sorted(family, key=place.__getitem__)
        last = max(place[user] for user in _users(first))
        for copy in others:
            # To the end of the last user, whose kernel might have written over it; nothing if that comes later.
            kept = needs[last : place[copy] + 1]
            if (kept + size <= order.peak).all():
                kept += size
                merged[copy] = first
                last = max(last, *(place[user] for user in _users(copy)))
            else:
                first, last = copy, max(place[user] for user in _users(copy))
    return merged
