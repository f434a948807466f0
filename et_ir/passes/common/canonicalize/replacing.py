"""Replacements that many patterns make."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from et_ir.dialects.counterparts import sibling
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import may_be_same_type, same_type, tensor_type
from et_ir.passes.core_to_edge.remove_noops import needs_own_memory

__all__ = ["by_operand", "by_view", "view_sizes"]


def by_operand(
    op: SchemaOp, value: SSAValue, rewriter: PatternRewriter, *, keeps_sizes: bool = False
) -> None:
    """Replace the only result of an op by a value of the same type, unless it needs memory of its own.

    With `keeps_sizes` the definition of the operator says that the result has the sizes of the value.
    """
    is_same = may_be_same_type if keeps_sizes else same_type
    if is_same(value.type, op.results[0].type) and not needs_own_memory(value, op.results[0]):
        rewriter.replace(op, [], [value])


def view_sizes(type: TensorType[Attribute]) -> Sequence[int] | None:
    """The sizes that `view` takes for a result type, -1 for one that is unknown; `None` if more are."""
    shape = type.get_shape()
    unknown = sum(size < 0 for size in shape)
    if unknown > 1 or (unknown and 0 in shape):
        return None
    return [max(size, -1) for size in shape]


def by_view(op: SchemaOp, value: SSAValue, rewriter: PatternRewriter) -> None:
    """Replace the only result of an op by a view of a value with the same elements in the same order."""
    type = tensor_type(op.results[0])
    sizes = view_sizes(type)
    if same_type(value.type, type):
        by_operand(op, value, rewriter)
    elif sizes is not None:
        rewriter.replace(op, sibling(op, "view").make(value, sizes, result_types=[type]))
