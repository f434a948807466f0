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
Blocks of more than `limit` ops stay as they are: to build and score their graphs takes long, whatever the budget.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir.analysis.memory_orders import memory_graphs, orders
from et_ir.planning.schedule import BUDGET
from et_ir.targets.lookup import DEFAULT

__all__ = ["ReorderPass"]


@dataclass(frozen=True)
class ReorderPass(ModulePass):
    """Run ops in the order of least memory."""

    name = "reorder"

    target: str = DEFAULT
    """The runtime whose kernels there are."""
    budget: int = BUDGET
    """Steps of the search for each block."""
    limit: int | None = None
    """Ops of a block that is searched at most; `None` for any number."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for graph in memory_graphs(op, self.target, self.name, self.limit):
            given, best = orders(graph, self.budget)
            if best.peak < given.peak:
                graph.run_in(best.tasks)
