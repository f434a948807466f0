"""Inline the elements of TOSA constants into the text.

Other tools have no data beside a text.

```mlir
%0 = "tosa.const"() <{values = #program.data<f32, 96, "filters", "…">}> : () -> tensor<96xf32>      // before
%0 = "tosa.const"() <{values = dense<"0x…"> : tensor<96xf32>}> : () -> tensor<96xf32>               // after
```

Attributes of the program's signature go too: the text is one that MLIR's `tosa-opt` reads.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from et_backends.tosa.dialect import ConstOp

__all__ = ["InlineTosaConstantsPass"]


@dataclass(frozen=True)
class InlineTosaConstantsPass(ModulePass):
    """Write the elements of TOSA constants into the text."""

    name = "inline-tosa-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in op.walk():
            if isinstance(one, ConstOp):
                one.properties["values"] = one.dense()
            elif isinstance(one, FuncOp):
                one.attributes.clear()
                one.properties.pop("arg_attrs", None)
                one.properties.pop("res_attrs", None)
