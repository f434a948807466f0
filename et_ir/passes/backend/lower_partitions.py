"""Have the backends compile their partitions: each becomes a symbol with what the backend made of it, and a call.

```mlir
%1 = backend.partition "demo" specs [#backend.compile_spec<"k", "v">](%x) : (tensor<4xf32>) -> tensor<4xf32> { … }
// becomes
backend.lowered @lowered_0 "demo" specs [#backend.compile_spec<"k", "v">] = #program.data<ui8, [1, 2]>
%1 = backend.call @lowered_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
```

A backend gets each partition as a program of its own. Data that it gives a name becomes `backend.named_data`, once for
all partitions and methods. Constants that only partitions read, and buffers that a partition owns, are no symbols of
the program any more. Nothing changes unless all backends can compile all of their partitions.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from et_ir.delegation.backends_by_name import details_of
from et_ir.delegation.errors import BackendError, MissingBackend
from et_ir.delegation.lowering import lower_partitions

__all__ = ["LowerPartitionsPass"]


@dataclass(frozen=True)
class LowerPartitionsPass(ModulePass):
    """Compile partitions by their backends."""

    name = "lower-partitions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        try:
            lower_partitions(op, details_of)
        except (BackendError, MissingBackend) as error:
            failure = PassFailedException(f"lower-partitions: {error}")
            failure.exit_code = error.exit_code  # pyright: ignore[reportAttributeAccessIssue]
            raise failure from error
