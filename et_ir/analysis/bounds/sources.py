"""Provenance of result sizes in operands.

What is known of the size of a result is then known of its operand.

A check stands behind the operator that the program calls. What that comes down to makes the size elsewhere:
`repeat_interleave(x, n)` is a selection of rows by indices, of which there are as many as the result has rows.
"""

from __future__ import annotations

from typing import cast

from xdsl.ir import SSAValue

from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = ["sources"]


def sources(op: SchemaOp, dim: int) -> list[tuple[SSAValue, int]]:
    """The dimensions of operands that have the size that a dimension of the only result has."""
    name = op.operator.view_form
    if name == "index_select":
        source = cast(SSAValue, op.arg("self"))
        rank = tensor_type(source).get_num_dims()
        if rank == 0 or dim != op.arg("dim") % rank:
            return [(source, dim)]
        index = cast(SSAValue, op.arg("index"))
        return [(index, 0)] if tensor_type(index).get_num_dims() else []
    facts = op.operator.facts
    if facts.keeps_shape:
        return [(value, dim) for value in op.operands[:1] if is_tensor(value.type)]
    if facts.sizes:
        argument, place = facts.sizes[dim]
        return [(cast(SSAValue, op.arg(argument)), place)]
    if name == "permute":
        order = cast("tuple[int, ...]", op.arg("dims"))
        return [(op.operands[0], order[dim])]
    if op.operator.is_pointwise:
        rank = tensor_type(op.results[0]).get_num_dims()
        return [
            (value, dim - rank + tensor_type(value).get_num_dims())
            for value in op.operands
            if is_tensor(value.type)
            and tensor_type(value).get_num_dims() > rank - dim - 1
            # Any other size than that of the result is 1.
            and tensor_type(value).get_shape()[dim - rank] < 0
        ]
    return []
