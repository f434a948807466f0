"""Memory layout through edge operators: which operators keep the dim order of their operands.

Layout is no part of what an operator computes; it is what its kernel can be given. Three kinds of operators:

- *sharing*: all tensors, operands and results, have one dim order, contiguous or channels-last. These are the pointwise
  operators, for operands of one shape, and those that declare it, whose operands of other ranks (bias) do not count.
- *dim-order operators*: take any order and give the one their `dim_order` says.
- all others: contiguous operands and results. Broadcasting is among them: stock's kernels take channels-last operands
  of different shapes, and compute wrong results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from et_ir.dialects.edge.attributes import contiguous, dim_order_of, is_channels_last, with_dim_order
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["apply_layout", "is_dim_order_op", "layout_problems", "shared_order", "shares_layout"]


_DIM_ORDER: Final = "edge.dim_order_ops."


def is_dim_order_op(op: SchemaOp) -> bool:
    """Whether an op says the layout of its result."""
    return op.name.startswith(_DIM_ORDER)


def shares_layout(op: SchemaOp) -> bool:
    """Whether an op's operands and results have one dim order, as far as the operator and the operands' shapes say."""
    if op.operator.facts.shares_layout:
        return True
    return op.operator.is_pointwise and len({t.get_shape() for t in _tensor_types(op.operand_types)}) == 1


def _tensor_types(types: Sequence[Attribute]) -> Iterator[TensorType[Attribute]]:
    for type in types:
        if is_tensor(type):
            yield type


def shared_order(op: SchemaOp) -> tuple[int, ...] | None:
    """The channels-last order that a sharing op's operands ask for; `None` where they are contiguous.

    The first operand that has more than two dimensions decides, as it is the one that flows; the others are
    constants more often.
    """
    if not shares_layout(op):
        return None
    for type in _tensor_types(op.operand_types):
        if type.get_num_dims() > 2:
            return dim_order_of(type) if is_channels_last(type) else None
    return None


def apply_layout(op: SchemaOp, types: Sequence[Attribute]) -> Sequence[Attribute]:
    """Result types with the dim order that the op gives them, from types without one."""
    if is_dim_order_op(op):
        result = types[0]
        if not is_tensor(result):
            return types
        order = cast("Sequence[int] | None", op.arg("dim_order"))
        if order is None:
            source = op.operand_types[0] if op.operands else result
            order = dim_order_of(source) if is_tensor(source) else contiguous(result.get_num_dims())
        return [with_dim_order(result, order)]
    shared = shared_order(op)
    if shared is None:
        return types
    return [
        with_dim_order(type, shared) if is_tensor(type) and type.get_num_dims() == len(shared) else type
        for type in types
    ]


def layout_problems(op: SchemaOp) -> Iterator[str]:
    """The violations of `edge_c5` at an op, as messages with the label."""
    if is_dim_order_op(op):
        order = cast("Sequence[int] | None", op.arg("dim_order"))
        for result in _tensor_types(op.result_types):
            if order is not None and tuple(order) != dim_order_of(result):
                yield f"[edge_c5] 'dim_order' is {list(order)}, but the result is {result}"
        return
    wanted = shared_order(op)
    types = [*_tensor_types(op.operand_types), *_tensor_types(op.result_types)]
    if wanted is None:
        for type in types:
            if dim_order_of(type) != contiguous(type.get_num_dims()):
                yield f"[edge_c5] takes and returns contiguous tensors here, got {type}"
                return
        return
    for type in types:
        if type.get_num_dims() == len(wanted) and dim_order_of(type) != wanted:
            yield f"[edge_c5] tensors must share the dim order {list(wanted)} here, got {type}"
            return
