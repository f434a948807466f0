"""Check the contract of the `aten` level.

A program at this level is what `torch.export` yields: a functional graph of torch operators. Beside the rules
of `program_rules.py` and those that each op verifies by itself:

| label | rule |
|---|---|
| `aten_c1` | an op of a method belongs to `aten`, or to a dialect that all levels share |
| `aten_c2` | tensors have a rank and an element type that torch has |
| `aten_c3` | tensors say nothing of their memory layout, which becomes part of the type at the edge level |
| `aten_c4` | a number in a tensor slot, and a literal known at run time only, is an i64, f64 or i1 |

```mlir
%1 = aten.relu %0 : tensor<4x?xf32>                                    // passes
%2 = aten.relu %0 : tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>   // aten_c3
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NoneAttr, f64, i1, i64
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.edge.attributes import DimOrderAttr
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.dialects.schema.storage import storage_of
from et_ir.dialects.schema.tensors import is_tensor, layout_of
from et_ir.passes.verify.program_rules import ProgramRules

__all__ = ["VerifyAtenPass", "aten_findings"]

_NUMBERS: Final = (i64, f64, i1)
_ELEMENT_TYPES: Final = frozenset(ELEMENT_TYPES.values())


@dataclass(frozen=True)
class VerifyAtenPass(ModulePass):
    """Check the contract of the aten level."""

    name = "verify-aten"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        findings = ProgramRules(op, "aten").check(aten_findings)
        PassReport.raise_if("the program breaks the contract of the aten level", findings)


def aten_findings(op: Operation) -> Iterator[Diagnostic]:
    """Violations of the level's own rules at one op of the dialect."""
    for type in dict.fromkeys(value.type for value in (*op.operands, *op.results)):
        problem = _type_problem(type)
        if problem is not None:
            yield diagnose(op, *problem)
    if isinstance(op, SchemaOp):
        for symbol in op.symbols:
            if is_tensor(symbol.type):
                yield diagnose(
                    op,
                    f"[aten_c4] a literal is given as a tensor of type {symbol.type}",
                    "take its element with aten._local_scalar_dense",
                )


@lru_cache(maxsize=4096)
def _type_problem(type: Attribute) -> tuple[str, str] | None:
    """Message and fix for the type of an operand or result, or `None`."""
    if is_tensor(type):
        if storage_of(type.element_type) not in _ELEMENT_TYPES:
            fix = f"element types are {', '.join(ELEMENT_TYPES)}"
            return f"[aten_c2] {type.element_type} is not a tensor element type", fix
        encoding = layout_of(type)
        if isinstance(encoding, DimOrderAttr):
            fix = "drop it from the type; an input's layout is its attribute 'program.dim_order'"
            return f"[aten_c3] type {type} has a layout encoding", fix
        if not isinstance(encoding, NoneAttr) and encoding.name == "strided":
            return f"[aten_c3] type {type} has a layout encoding", "drop the encoding"
        return None
    if type in _NUMBERS:
        return None
    if type.name in ("unranked_tensor", "tensor_ref"):
        return f"[aten_c2] {type} has no rank", "give its sizes, '?' for dynamic ones"
    return f"[aten_c4] {type} is neither a tensor nor an i64, f64 or i1", "use one of these types"
