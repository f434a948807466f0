"""Updates of mutable buffers: the ops between a load of state and the store of what replaces it.

Outside of a partition they become kernels that write the new elements in place. Taken into one, all of the buffer would
be copied out of it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from xdsl.ir import Operation, SSAValue

from et_ir.codegen.forms import VIEWS
from et_ir.codegen.kernels.pointwise_rules import operator_name
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

_PASSING: Final = VIEWS | UPDATES
NESTED: Final = frozenset({"select_scatter", "slice_scatter"})
"""Those whose second operand is the part to replace, which may itself be the part with updates."""


def updates_state(op: SchemaOp) -> bool:
    """Whether an op is between a load of a mutable buffer and the store to it."""
    return _passes(op) and _is_loaded(op.operands[0]) and _is_stored(op.results[0])


def _is_named(op: Operation, names: Collection[str]) -> bool:
    return isinstance(op, SchemaOp) and operator_name(op) in names


def _passes(op: Operation) -> bool:
    return _is_named(op, _PASSING)


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
            nested = use.index == 1 and _is_named(use.operation, NESTED)
            if nested or (use.index == 0 and _passes(use.operation)):
                pending.append(use.operation.results[0])
    return False
