"""Replace views by the operators that copy: at the edge level every result has memory of its own.

```mlir
%1 = aten.permute %x {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>          // before
%1 = aten.permute_copy %x {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>     // after
```

Copies whose result may alias the operand in memory after all are found later, by `views`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.aten import OP_BY_NAME, AtenOp
from et_ir.dialects.counterparts import copying_name
from et_ir.rewriting import rewrite

__all__ = ["COPIES", "ViewsToCopiesPass"]


def _copies() -> dict[type[AtenOp], type[AtenOp]]:
    found = {
        cls: OP_BY_NAME[copying_name(name)]
        for name, cls in OP_BY_NAME.items()
        if copying_name(name) in OP_BY_NAME and "_copy" not in name and name != "_to"
    }
    found[OP_BY_NAME["_unsafe_view"]] = OP_BY_NAME["view_copy"]
    return found


COPIES: Final = _copies()
"""The copying form of each view operator; both take the same arguments."""


class ViewToCopy(RewritePattern):
    """Replace one view."""

    roots = tuple(COPIES)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        copy = COPIES[type(op)]  # pyright: ignore[reportArgumentType]: roots are all that is matched
        rewriter.replace(
            op,
            copy.create(operands=op.operands, result_types=op.result_types, properties=op.properties),
        )


@dataclass(frozen=True)
class ViewsToCopiesPass(ModulePass):
    """Replace views by the operators that copy."""

    name = "views-to-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [ViewToCopy()])
