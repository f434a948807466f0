"""Drop operators that give their operand back: dropout in inference, copies, conversions to the type a tensor
has.

Values of the IR are not memory, so a copy of a value is the value. Kept are copies that say a memory layout,
and copies of inputs, constants and state that a method returns: an output needs memory of its own.

```mlir
%1 = aten.dropout %x {p = 0.1, train = false} : tensor<4xf32>        // before
%2 = aten._to_copy %1 {dtype = f32} : tensor<4xf32>
%3 = aten.relu %2 : tensor<4xf32>

%3 = aten.relu %x : tensor<4xf32>                                    // after
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.aten.generated import ops as aten
from et_ir.dialects.schema import SchemaOp
from et_ir.passes.counterparts import forms
from et_ir.passes.rewriting import rewrite

__all__ = ["PATTERNS", "RemoveNoopsPass", "needs_own_memory"]


def needs_own_memory(source: SSAValue, result: SSAValue) -> bool:
    """Whether `result`, a copy of `source`, has to stay: a method returns it, and the source is no op's
    result.
    """
    if isinstance(source.owner, SchemaOp):
        return False
    return any(isinstance(use.operation, ReturnOp) for use in result.uses)


class RemoveCopy(RewritePattern):
    """Copies, and conversions, that change neither type nor layout."""

    roots = forms(
        "_to_copy",
        "alias",
        "clone",
        "contiguous",
        "detach",
        "lift_fresh_copy",
        "to.device",
        "to.dtype",
        "to.dtype_layout",
    )

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source = op.operands[0]
        if source.type != op.result.type or needs_own_memory(source, op.result):
            return
        # Whatever layout the operand has: one that a kernel does not take is converted in front of it.
        format_ = op.arg("memory_format") if "memory_format" in op.schema().by_name else None
        if format_ in (None, "preserve_format", "contiguous_format"):
            rewriter.replace(op, [], [source])


class RemoveDropout(RewritePattern):
    """Dropout that is off, or has probability zero."""

    roots = (aten.DropoutOp, aten.FeatureDropoutOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source = op.operands[0]
        if (not op.arg("train") or op.arg("p") == 0.0) and not needs_own_memory(source, op.result):
            rewriter.replace(op, [], [source])


class RemoveNativeDropout(RewritePattern):
    """Dropout with a mask, that is off, and whose mask is not used."""

    roots = forms("native_dropout")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source, (result, mask) = op.operands[0], op.results
        if op.arg("train") is False and mask.first_use is None and not needs_own_memory(source, result):
            rewriter.replace(op, [], [source, None])


PATTERNS: Final = (RemoveCopy, RemoveDropout, RemoveNativeDropout)


@dataclass(frozen=True)
class RemoveNoopsPass(ModulePass):
    """Drop operators that give their operand back."""

    name = "remove-noops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [pattern() for pattern in PATTERNS])
