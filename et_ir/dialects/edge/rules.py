"""Verification rules of edge ops, with a fix for each violation.

| label | rule |
|---|---|
| `edge_c2` | tensor slots hold tensors, not numbers |
| `edge_c3` | operands that are computed together have one element type |
| `edge_c4` | element types are those that the operator takes |
| `dim_order_c3` | a dim order has as many dimensions as its tensor |
| `edge_c5` | operands have a memory layout that the operator takes, and results the one it gives |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.ir import Attribute

from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.edge.dtypes import dtype_problems
from et_ir.dialects.edge.layout import layout_problems
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["Violation", "violations"]

_FIXES = {
    "edge_c2": "run scalars-to-tensors before aten-to-edge",
    "edge_c3": "use one type, in PyTorch with x.to(dtype) or module.to(dtype); where eager PyTorch converts by itself, "
    "run promote-types before aten-to-edge",
    "edge_c4": "convert the operand, in PyTorch with x.to(dtype), in text with dim_order_ops._to_dim_order_copy",
    "edge_c5": "run propagate-dim-order, or convert the operand with dim_order_ops._clone_dim_order",
}
_RESULT_FIX = (
    "use one type for the operands, in PyTorch with x.float() or module.double(), or correct the result type"
)


class Violation(NamedTuple):
    """A rule that an op breaks: the message with the rule's label, and the fix."""

    message: str
    fix: str


def _fits(type: Attribute) -> bool:
    return not is_tensor(type) or len(dim_order_of(type)) == type.get_num_dims()


def violations(op: SchemaOp) -> Iterator[Violation]:
    """The rules of this module that an edge op breaks."""
    tensors = len(op.operands) - len(op.symbols)
    for index, value in enumerate(op.operands[:tensors]):
        if not is_tensor(value.type):
            message = f"[edge_c2] operand {index} is a number of type {value.type}, expected a tensor"
            yield Violation(message, _FIXES["edge_c2"])
    wrong_ranks = [type for type in (*op.operand_types, *op.result_types) if not _fits(type)]
    if wrong_ranks:
        yield Violation(
            f"[dim_order_c3] the dim order of {wrong_ranks[0]} does not match its rank", "correct the type"
        )
        return
    for message in dtype_problems(op):
        yield Violation(message, _RESULT_FIX if "] returns " in message else _FIXES[message[1:8]])
    for message in layout_problems(op):
        yield Violation(message, _FIXES[message[1:8]])
