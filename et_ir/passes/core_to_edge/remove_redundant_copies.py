"""Drop copies that change neither type nor layout, and merge conversions.

```mlir
%1 = edge.dim_order_ops._to_dim_order_copy %x {dtype = f32} : tensor<4xf32>             // before; after, uses of %x
```

Two conversions become one where the first loses nothing: to another layout only, or to a type that holds
every value of its operand's.
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
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import may_be_same_type, tensor_type
from et_ir.passes.core_to_edge.remove_noops import needs_own_memory
from et_ir.rewriting import rewrite
from et_ops.dtypes import BOOL, Category, DType

__all__ = ["PATTERNS", "RemoveRedundantCopiesPass", "holds"]

_COPIES: Final = (
    edge.DimOrderOpsUnderscoreCloneDimOrderOp,
    edge.DimOrderOpsUnderscoreToDimOrderCopyOp,
)
_MANTISSA: Final = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
_EXPONENT: Final = {"f16": 5, "bf16": 8, "f32": 8, "f64": 11}


def holds(wide: DType, narrow: DType) -> bool:
    """Whether every value of one element type is one of another, so that conversion there and back changes
    nothing.
    """
    if wide is narrow or narrow is BOOL:
        return True
    if narrow.is_complex or wide is BOOL:
        return wide.is_complex and narrow.is_complex and wide.bits >= narrow.bits
    if wide.is_complex:
        return holds(_part(wide), narrow)
    if narrow.is_float:
        return (
            wide.is_float
            and _MANTISSA[wide.name] >= _MANTISSA[narrow.name]
            and _EXPONENT[wide.name] >= _EXPONENT[narrow.name]
        )
    unsigned = narrow.name.startswith("ui")
    bits = narrow.bits if unsigned else narrow.bits - 1
    if wide.is_float:
        return _MANTISSA[wide.name] >= bits
    if wide.name.startswith("ui"):
        return unsigned and wide.bits >= narrow.bits
    return wide.category is Category.INTEGER and wide.bits - 1 >= bits


def _part(dtype: DType) -> DType:
    from et_ops.dtypes import real_of

    return real_of(dtype)


class RemoveRedundantCopy(RewritePattern):
    """A copy of the same type and layout."""

    roots = _COPIES

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        source, result = op.operands[0], op.results[0]
        if may_be_same_type(source.type, result.type) and not needs_own_memory(source, result):
            rewriter.replace(op, [], [source])


class MergeConversions(RewritePattern):
    """A conversion of a conversion."""

    roots = (*_COPIES, *forms("_to_copy"))

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        first = op.operands[0].owner
        if not isinstance(first, self.roots):
            return
        source, result = first.operands[0], op.results[0]
        between, before = tensor_type(first.results[0]), tensor_type(source)
        if not holds(dtype_of(between.element_type), dtype_of(before.element_type)):
            return
        after = tensor_type(result)
        if isinstance(op, EdgeOp):
            merged = edge.DimOrderOpsUnderscoreToDimOrderCopyOp.make(
                source, dtype=after.element_type, dim_order=dim_order_of(after), result_types=[after]
            )
        elif "memory_format" in op.properties or "memory_format" in first.properties:
            return
        else:
            merged = type(op).create(operands=[source], result_types=[after], properties=op.properties)
        rewriter.replace(op, merged)


PATTERNS: Final = (RemoveRedundantCopy, MergeConversions)


@dataclass(frozen=True)
class RemoveRedundantCopiesPass(ModulePass):
    """Drop copies and conversions that change nothing."""

    name = "remove-redundant-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [pattern() for pattern in PATTERNS], recursive=True)
