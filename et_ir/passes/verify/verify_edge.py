"""Check the contract of the `edge` level.

Beside the rules of `program_rules.py` and `quantization_rules.py`, and those of `et_ir/dialects/edge/rules.py`
(`edge_c2` to `edge_c5`), which each op also verifies by itself:

| label | rule |
|---|---|
| `edge_c1` | an op of a method belongs to `edge`, or to a dialect that all levels share |
| `edge_c6` | memory layout is in types and dim-order ops, not in literals such as `memory_format` |
| `edge_c7` | a tensor is contiguous or channels-last |
| `edge_c8` | tensors are on the CPU and dense |

Views are no ops of the dialect: an `aten.view` that is left breaks `edge_c1`.

```mlir
%1 = edge.mul.Tensor %x, %y : tensor<4xf32>                                            // passes
%2 = edge.mul.Tensor %x, %n : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>          // edge_c3
%3 = edge.clone %z {memory_format = "channels_last"} : tensor<1x2x3x4xf32>             // edge_c6
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NoneAttr, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge.attributes import is_channels_last
from et_ir.dialects.edge.rules import violations
from et_ir.dialects.program import Globals
from et_ir.dialects.schema.tensors import is_tensor, layout_of
from et_ir.passes.verify.program_rules import ProgramRules
from et_ir.passes.verify.quantization_rules import quantization_findings

__all__ = ["VerifyEdgePass", "edge_findings"]


@dataclass(frozen=True)
class VerifyEdgePass(ModulePass):
    """Check the contract of the edge level."""

    name = "verify-edge"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Globals(op)

        def rule(inner: Operation) -> Iterator[Diagnostic]:
            yield from edge_findings(inner)
            yield from quantization_findings(inner, symbols)

        findings = ProgramRules(op, "edge").check(rule)
        PassReport.raise_if("the program breaks the contract of the edge level", findings)


def edge_findings(op: Operation) -> Iterator[Diagnostic]:
    """Violations of the level's rules at one op of the dialect."""
    if not isinstance(op, EdgeOp):
        return
    for violation in violations(op):
        yield diagnose(op, violation.message, violation.fix)
    if "memory_format" in op.properties:
        fix = "run memory-formats-to-dim-orders, or use an op of dim_order_ops"
        yield diagnose(op, f"[edge_c6] has the literal memory_format = {op.properties['memory_format']}", fix)
    for result in op.results:
        type = result.type
        if is_tensor(type) and not isinstance(layout_of(type), NoneAttr) and not is_channels_last(type):
            fix = "kernels support contiguous and channels-last tensors only: copy with dim_order_ops._clone_dim_order"
            yield diagnose(op, f"[edge_c7] result has type {type}", fix)
    for literal, allowed in (("device", "cpu"), ("layout", "torch.strided")):
        value = op.properties.get(literal)
        if isinstance(value, StringAttr) and value.data not in (allowed, allowed.removeprefix("torch.")):
            fix = f"drop the literal, or export with {allowed}"
            yield diagnose(op, f"[edge_c8] has the literal {literal} = {value}", fix)
