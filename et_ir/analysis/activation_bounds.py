"""Fusion of activations into the nodes whose output they bound."""

from __future__ import annotations

from math import inf
from typing import cast

from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["activation_bounds"]


def activation_bounds(op: SchemaOp) -> tuple[float, float] | None:
    """The least and the largest number that an activation lets through, `None` for an op that does anything else, or
    whose bounds are known at run time only.
    """
    if any(not is_tensor(value.type) for value in op.operands):
        return None
    match op.name.removeprefix("edge."):
        case "relu":
            return 0.0, inf
        case "hardtanh":
            return _number(op, "min_val", -inf), _number(op, "max_val", inf)
        case "clamp":
            least, most = _number(op, "min", -inf), _number(op, "max", inf)
            # Where they cross, `clamp` gives the largest throughout, and XNNPACK takes no such bounds.
            return (least, most) if least <= most else None
        case _:
            return None


def _number(op: SchemaOp, name: str, default: float) -> float:
    value = cast("float | int | None", op.arg(name))
    return default if value is None else float(value)
