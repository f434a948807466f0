"""Drop the empty operands of `cat`, which kernels need not know.

```mlir
%1 = aten.cat [%e, %x] {dim = 0} : (tensor<0xf32>, tensor<4xf32>) -> tensor<4xf32>      // before; after, uses of %x
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.counterparts import forms
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import may_be_same_type, tensor_type
from et_ir.passes.core_to_edge.remove_noops import needs_own_memory
from et_ir.rewriting import rewrite

__all__ = ["PATTERNS", "PruneEmptyTensorsPass"]


class PruneCat(RewritePattern):
    """`cat` with operands of size 0 in its dimension, or with one operand only."""

    roots = forms("cat")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        tensors, result = op.operands, op.result
        full = [
            value for value in tensors if not _adds_nothing(tensor_type(value).get_shape(), op.arg("dim"))
        ]
        # The type of an empty operand takes part in promotion: pruning it must not change that of the result.
        element_type = tensor_type(result).element_type
        if not full or all(tensor_type(value).element_type != element_type for value in full):
            return
        if (
            len(full) == 1
            and may_be_same_type(full[0].type, result.type)
            and not needs_own_memory(full[0], result)
        ):
            rewriter.replace(op, [], [full[0]])
        elif len(full) < len(tensors):
            rewriter.replace(op, type(op).make(full, op.arg("dim"), result_types=[result.type]))


def _adds_nothing(shape: tuple[int, ...], dim: int) -> bool:
    """Whether a tensor of a shape makes a concatenation no longer: one without elements for another dimension may."""
    return shape == (0,) or shape[dim] == 0


PATTERNS: Final = (PruneCat,)


@dataclass(frozen=True)
class PruneEmptyTensorsPass(ModulePass):
    """Drop the empty operands of cat."""

    name = "prune-empty-tensors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [pattern() for pattern in PATTERNS])
