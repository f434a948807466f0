"""Show what is in blobs for XNNPACK: each becomes a graph of the `xnnpack` dialect.

```mlir
backend.lowered @lowered_0 "XnnpackBackend" = #program.data<ui8, 832, "lowered_0", "…">
// becomes
xnnpack.graph @lowered_0 version "0" table […] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  …
}
```

A blob that holds something which the dialect does not say stays as it is. `close-xnnpack` is the way back.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from et_backends.xnnpack.dialect.graphs import BACKEND, opened
from et_ir.dialects.backend import LoweredOp
from et_schema.errors import InvalidFile

__all__ = ["OpenXnnpackPass"]


@dataclass(frozen=True)
class OpenXnnpackPass(ModulePass):
    """Show the graphs in blobs for XNNPACK."""

    name = "open-xnnpack"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for lowered in list(op.body.block.ops):
            if not isinstance(lowered, LoweredOp) or lowered.backend.data != BACKEND:
                continue
            try:
                graph = opened(lowered)
            except InvalidFile as error:
                raise PassFailedException(f"open-xnnpack: @{lowered.key}: {error}") from error
            if graph is not None:
                graph.location = lowered.location
                Rewriter.replace_op(lowered, graph, [])
