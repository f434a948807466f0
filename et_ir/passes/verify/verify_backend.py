"""Check the contract of the `backend` level: the edge level with subgraphs that backends take over.

Beside the rules of `program_rules.py` and those of the edge level, which hold inside of partitions too:

| label | rule |
|---|---|
| `backend_c1` | an op of a method belongs to `edge`, `backend`, or a dialect that all levels share |
| `backend_c2` | a call names a `backend.lowered` |
| `backend_c3` | named data has a name of its own |

```mlir
%1 = backend.call @lowered_0(%x) : (tensor<4xf32>) -> tensor<4xf32>    // backend_c2 unless the module has @lowered_0
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from et_ir.dialects.backend import CallOp, LoweredOp, NamedDataOp
from et_ir.passes.verify.program_rules import ProgramRules
from et_ir.passes.verify.verify_edge import edge_findings
from et_ir.report import Finding, PassReport

__all__ = ["VerifyBackendPass"]


@dataclass(frozen=True)
class VerifyBackendPass(ModulePass):
    """Check the contract of the backend level."""

    name = "verify-backend"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lowered = {symbol.key for symbol in op.body.block.ops if isinstance(symbol, LoweredOp)}

        def rule(inner: Operation) -> Iterator[Finding]:
            if isinstance(inner, CallOp):
                yield from _call(inner, lowered)
            else:
                yield from edge_findings(inner)

        # Named data is no symbol, as nothing in the module refers to it, and belongs to this level all the same.
        program = [
            f for f in ProgramRules(op, "backend", ["edge"]).check(rule) if f.op_name != NamedDataOp.name
        ]
        findings = [*_names(op), *program]
        PassReport.raise_if("the program breaks the contract of the backend level", findings)


def _names(module: ModuleOp) -> Iterator[Finding]:
    seen: set[str] = set()
    for op in module.body.block.ops:
        if isinstance(op, NamedDataOp):
            if op.key in seen:
                yield Finding.at(
                    op, f"[backend_c3] data named '{op.key}' exists already", "rename one of them"
                )
            seen.add(op.key)


def _call(op: CallOp, lowered: set[str]) -> Iterator[Finding]:
    name = op.callee.string_value()
    if name not in lowered:
        close = get_close_matches(name, lowered, n=1)
        fix = f"did you mean @{close[0]}?" if close else "declare it at module level"
        yield Finding.at(op, f"[backend_c2] no backend.lowered is named @{name}", fix)
