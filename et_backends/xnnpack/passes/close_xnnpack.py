"""Make blobs for XNNPACK of graphs of the `xnnpack` dialect.

```mlir
xnnpack.graph @lowered_0 version "0" table […] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  …
}
// becomes
backend.lowered @lowered_0 "XnnpackBackend" = #program.data<ui8, 832, "lowered_0", "…">
```

The bytes are those that `et-compile` writes for such a graph. Stock's compiler lays the same tables
out in other places.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from et_backends.xnnpack.dialect import GraphOp
from et_backends.xnnpack.dialect.graphs import closed

__all__ = ["CloseXnnpackPass"]


@dataclass(frozen=True)
class CloseXnnpackPass(ModulePass):
    """Make blobs of the graphs for XNNPACK."""

    name = "close-xnnpack"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for graph in list(op.body.block.ops):
            if isinstance(graph, GraphOp):
                lowered = closed(graph)
                lowered.location = graph.location
                Rewriter.replace_op(graph, lowered, [])
