"""Fusion of activations into the nodes whose output they bound."""

from __future__ import annotations

from xdsl.ir import Operation

from et_ir.dialects.schema import SchemaOp

__all__ = ["activation_bounds"]


def activation_bounds(op: Operation) -> tuple[float, float] | None:
    """The least and the largest number that an activation lets through, `None` for an op that does anything else, or
    whose bounds are known at run time only, or cross.
    """
    return op.operator.limits(op.arg) if isinstance(op, SchemaOp) else None
