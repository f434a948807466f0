"""Replace views by the operators that copy: at the edge level every result has memory of its own.

```mlir
%1 = aten.permute %x {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>          // before
%1 = aten.permute_copy %x {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>     // after
```

Copies whose result may alias the operand in memory after all are found later, by `copies-to-views`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.aten import OP_BY_NAME, AtenOp
from et_ir.rewriting import rewrite

__all__ = ["ViewsToCopiesPass", "copying_form"]


def copying_form(cls: type[AtenOp]) -> type[AtenOp] | None:
    """The op class of the copying form of a view operator, which takes the same arguments; `None` for no view."""
    name = cls.operator.copying_form
    return None if name is None else OP_BY_NAME[name]


class ViewToCopy(RewritePattern):
    """Replace one view."""

    roots = (AtenOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, AtenOp)
        copy = copying_form(type(op))
        if copy is not None:
            made = copy.create(operands=op.operands, result_types=op.result_types, properties=op.properties)
            rewriter.replace(op, made)


@dataclass(frozen=True)
class ViewsToCopiesPass(ModulePass):
    """Replace views by the operators that copy."""

    name = "views-to-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [ViewToCopy()])
