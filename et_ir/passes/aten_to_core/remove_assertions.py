"""Drop assertions that hold whatever the inputs are.

Export records what it has assumed of tensors' sizes, types and layout. The types of the IR say the same, and
are checked by the verifier. Assertions on values (`aten._assert_async.msg`) stay.

```mlir
aten._assert_tensor_metadata %x {dtype = f32} : (tensor<4xf32>) -> ()     // before; nothing after
```
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.aten import ops as aten
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["RemoveAssertionsPass"]


class RemoveMetadataAssertion(RewritePattern):
    """Erase `_assert_tensor_metadata`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.UnderscoreAssertTensorMetadataOp, rewriter: PatternRewriter) -> None:
        rewriter.erase(op)


@dataclass(frozen=True)
class RemoveAssertionsPass(ModulePass):
    """Drop assertions on the sizes and types of tensors."""

    name = "remove-assertions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [RemoveMetadataAssertion()])
