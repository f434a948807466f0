"""Sizes of tensors as operands."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["size_operand"]


def size_operand(value: SSAValue, dim: int, rewriter: PatternRewriter) -> int | SSAValue:
    """A size of a tensor: a number, or the result of a new op where it is known at run time only. `dim` may count from
    the end.
    """
    shape = tensor_type(value).get_shape()
    known = shape[dim]
    if known >= 0:
        return known
    return rewriter.insert(edge.SymSizeIntOp.make(value, dim % len(shape))).results[0]
