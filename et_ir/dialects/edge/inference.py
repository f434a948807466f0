"""Result types of edge operators: those of the torch operator, with memory layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import NoneAttr, TensorType, f32
from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.edge.layout import apply_layout, is_dim_order_op
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.inference import infer as infer_torch
from et_ir.dialects.schema.inference import size_of
from et_ir.dialects.schema.tensors import is_tensor, layout_of, sized_tensor, sizes_of

__all__ = ["infer"]


def infer(op: SchemaOp) -> Sequence[Attribute] | None:
    """The result types of an edge op, or `None` where no rule tells them.

    Raises `ValueError` if the operator does not take such operands.
    """
    if is_dim_order_op(op):
        return apply_layout(op, [_dim_order_result(op)])
    types = infer_torch(op)
    if types is None or not any(_has_layout(type) for type in op.operand_types):
        return types
    return apply_layout(op, types)


def _has_layout(type: Attribute) -> bool:
    return is_tensor(type) and not isinstance(layout_of(type), NoneAttr)


def _dim_order_result(op: SchemaOp) -> TensorType[Attribute]:
    """The contiguous result type of `_clone_dim_order`, `_to_dim_order_copy` or `_empty_dim_order`."""
    dtype = op.properties.get("dtype")
    if not op.info().tensors:
        sizes = cast("Sequence[object]", op.arg("size"))
        return sized_tensor(
            dtype or f32, [size if isinstance(size, int) else size_of(cast(SSAValue, size)) for size in sizes]
        )
    source = op.operands[0].type
    if not is_tensor(source):
        raise ValueError(f"takes a tensor, got {source}")
    return sized_tensor(dtype or source.element_type, sizes_of(source))
