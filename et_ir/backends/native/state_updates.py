"""Updates of mutable buffers: the ops between a load of state and the store of what replaces it.

Outside of a partition they become kernels that write the new elements in place. Taken into one, all of the buffer would
be copied out of it.
"""

from __future__ import annotations

from typing import Final

from xdsl.ir import Operation, SSAValue

from et_ir.backends.native.forms import VIEWS
from et_ir.backends.native.kernels.pointwise_rules import operator_name
from et_ir.dialects.program import LoadOp, StoreOp
from et_ir.dialects.schema import SchemaOp

__all__ = ["updates_state"]

UPDATES: Final = frozenset(
    {
        "index_copy",
        "index_fill.int_Scalar",
        "index_put",
        "masked_fill.Scalar",
        "scatter.src",
        "scatter.value",
        "scatter_add",
        "select_scatter",
        "slice_scatter",
    }
)
"""Operators that give their first operand with other elements in some places."""


def updates_state(op: SchemaOp) -> bool:
    """Whether an op is between a load of a mutable buffer and the store to it."""
    return _passes(op) and _is_loaded(op.operands[0]) and _is_stored(op.results[0])


def _passes(op: Operation) -> bool:
    return isinstance(op, SchemaOp) and operator_name(op) in VIEWS | UPDATES


def _is_loaded(value: SSAValue) -> bool:
    while isinstance(value.owner, Operation) and _passes(value.owner):
        value = value.owner.operands[0]
    return isinstance(value.owner, LoadOp)


def _is_stored(value: SSAValue) -> bool:
    pending = [value]
    while pending:
        for use in pending.pop().uses:
            if isinstance(use.operation, StoreOp):
                return True
            if use.index == 0 and _passes(use.operation):
                pending.append(use.operation.results[0])
    return False
