"""Outline the parts of a program that a backend takes. Each becomes a region of its own.

`backend` is the backend and what it is told, as in `et-compile --backend`: `NAME[:key=value[,key=value]]`. Nothing is
compiled yet: passes may still look into the regions, and `lower-partitions` has the backend compile them.

```mlir
%1 = edge.relu %x : tensor<4xf32>                                                      // before
%2 = edge.add.Tensor %1, %w {alpha = 1} : tensor<4xf32>

%2 = backend.partition "NestedProgramBackend"(%x) : (tensor<4xf32>) -> tensor<4xf32> { // after
^bb0(%a: tensor<4xf32>):
  %w = program.get @w : tensor<4xf32>
  %1 = edge.relu %a : tensor<4xf32>
  %2 = edge.add.Tensor %1, %w {alpha = 1} : tensor<4xf32>
  backend.yield %2 : tensor<4xf32>
}
```

A partition reads its constants by itself, and computes sizes by itself; all else that it needs is an argument. No path
leads out of a partition and back, so that it can be run as one: how such partitions are found is said in
`et_ir/delegation/grouping.py`. Branches and loops have partitions of their own. With `method`, only that method is
looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from et_ir.delegation.backends_by_name import make_partitioner
from et_ir.delegation.errors import BackendError, MissingBackend
from et_ir.delegation.partitioning import partition_module

__all__ = ["PartitionPass"]


@dataclass(frozen=True)
class PartitionPass(ModulePass):
    """Make regions of what a backend takes."""

    name = "partition"

    backend: str
    """The backend: `NAME[:key=value[,key=value]]`."""
    method: str = ""
    """The only method to partition; empty for all."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        try:
            partitioner = make_partitioner(self.backend)
        except (BackendError, MissingBackend) as error:
            failure = PassFailedException(f"partition: {error}")
            failure.exit_code = error.exit_code  # pyright: ignore[reportAttributeAccessIssue]
            raise failure from error
        partition_module(op, {self.method: partitioner} if self.method else partitioner)
