"""Replace operators of `aten` by those of `edge` with the same schema.

Literals that mean nothing to a runtime of one device go: `device`, `layout` and `pin_memory` of dense tensors
on the CPU. An operator that the edge dialect does not have is an error; the report lists them all.

```mlir
%1 = aten.full {size = [4], fill_value = 0.0, dtype = f32, device = "cpu"} : () -> tensor<4xf32>     // before
%1 = edge.full {size = [4], fill_value = 0.0, dtype = f32} : () -> tensor<4xf32>                     // after
```

Operators that the program declares (`program.operator`) are at both levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.aten import AtenOp
from et_ir.dialects.edge import OP_BY_NAME as EDGE_OPS
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.program import DeclareOperatorOp
from et_ir.passes.core_to_edge.views_to_copies import copying_form
from et_ir.report import Finding, PassReport
from et_ir.rewriting import rewrite

__all__ = ["AtenToEdgePass"]

_DROPPED: Final[dict[str, frozenset[str]]] = {
    "device": frozenset({"cpu"}),
    "layout": frozenset({"strided", "torch.strided"}),
}
"""Literals that are dropped where they have one of these values."""


class ReplaceByEdge(RewritePattern):
    """Replaces one op; collects what cannot be replaced."""

    roots = (AtenOp,)

    def __init__(self, module: ModuleOp) -> None:
        declared = [op for op in module.body.block.ops if isinstance(op, DeclareOperatorOp) and op.classes()]
        self.declared: dict[type[AtenOp], type[EdgeOp]] = {
            op.aten_class(): op.edge_class() for op in declared
        }
        self.findings: list[Finding] = []

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, AtenOp)
        cls = self.declared.get(type(op)) or EDGE_OPS.get(op.operator.name)
        if cls is None:
            self.findings.append(_unknown(op))
            return
        kept = {name: attr for name, attr in op.properties.items() if not _is_dropped(name, attr)}
        rewriter.replace(
            op,
            cls.create(
                operands=op.operands,
                result_types=op.result_types,
                properties=kept,
                attributes=op.attributes,
            ),
        )


def _is_dropped(name: str, attr: Attribute) -> bool:
    if name == "pin_memory":
        return True
    return isinstance(attr, StringAttr) and attr.data in _DROPPED.get(name, ())


def _unknown(op: AtenOp) -> Finding:
    if copying_form(type(op)) is not None:
        return Finding.at(op, "is a view, which has no edge operator", "run views-to-copies first")
    name = op.name.removeprefix("aten.")
    return Finding.at(
        op,
        f"the edge level has no operator {name}",
        "decompose it first, or avoid it in the model: no known target has a kernel for it",
    )


@dataclass(frozen=True)
class AtenToEdgePass(ModulePass):
    """Replace operators of aten by those of edge."""

    name = "aten-to-edge"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pattern = ReplaceByEdge(op)
        rewrite(op, [pattern])
        PassReport.raise_if("operators without an edge form", pattern.findings)
