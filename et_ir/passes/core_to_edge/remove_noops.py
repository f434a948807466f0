"""Drop operators that give their operand back: dropout in inference, copies, conversions to the type a tensor
has.

Values of the IR are not memory, so a copy of a value is the value. Kept are copies that say a memory layout: to
channels-last, and back to contiguous in programs that have channels-last tensors, which types do not say before the
edge level. Copies of inputs, constants and state that a method returns are kept too: an output needs memory of its own.

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
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.aten import ops as aten
from et_ir.dialects.counterparts import forms
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge.attributes import is_channels_last
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor, may_be_same_type
from et_ir.passes.core_to_edge.memory_formats_to_dim_orders import INPUT_DIM_ORDER
from et_ir.rewriting import rewrite

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

    def __init__(self) -> None:
        self.has_layouts: bool | None = None

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source = op.operands[0]
        if not may_be_same_type(source.type, op.result.type) or needs_own_memory(source, op.result):
            return
        format_ = op.arg("memory_format") if "memory_format" in op.schema().by_name else None
        if isinstance(op, aten.ContiguousOp):
            format_ = format_ or "contiguous_format"
        if format_ in (None, "preserve_format") or (
            format_ == "contiguous_format" and not self._has_layouts(op)
        ):
            rewriter.replace(op, [], [source])

    def _has_layouts(self, op: Operation) -> bool:
        """Whether a tensor of the program that an op is in may be other than contiguous."""
        if self.has_layouts is None:
            root = op
            while (parent := root.parent_op()) is not None:
                root = parent
            self.has_layouts = any(map(_says_layout, root.walk()))
        return self.has_layouts


def _says_layout(op: Operation) -> bool:
    """Whether an op, or an input of a method, says that a tensor is not contiguous."""
    if isinstance(op, FuncOp):
        return op.arg_attrs is not None and any(INPUT_DIM_ORDER in entry.data for entry in op.arg_attrs)
    if not isinstance(op, SchemaOp):
        return False
    if isinstance(op, EdgeOp):
        return any(is_tensor(type) and is_channels_last(type) for type in op.result_types)
    format_ = op.properties.get("memory_format")
    return format_ is not None and op.arg("memory_format") in ("channels_last", "channels_last_3d")


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
