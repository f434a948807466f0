"""Result types of edge operators: those of the torch operator, with memory layout."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Attribute

from et_ir.dialects.edge.layout import apply_layout, is_dim_order_op
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.inference import infer as infer_torch
from et_ir.dialects.schema.tensors import is_tensor, layout_of

__all__ = ["infer"]


def infer(op: SchemaOp) -> Sequence[Attribute] | None:
    """The result types of an edge op, or `None` where no rule tells them.

    Raises `ValueError` if the operator does not take such operands.
    """
    if is_dim_order_op(op) and op.info().tensors and not is_tensor(op.operands[0].type):
        raise ValueError(f"takes a tensor, got {op.operands[0].type}")
    types = infer_torch(op)
    laid_out = is_dim_order_op(op) or any(_has_layout(type) for type in op.operand_types)
    return apply_layout(op, types) if types is not None and laid_out else types


def _has_layout(type: Attribute) -> bool:
    return is_tensor(type) and not isinstance(layout_of(type), NoneAttr)
