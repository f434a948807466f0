"""Loop structures of edge ops: what `native.kernel` calls its form."""

from __future__ import annotations

from typing import Final

from et_ir.backends.native.kernels.pointwise_rules import POINTWISE, operator_name
from et_ir.backends.native.kernels.rows import ROWS
from et_ir.dialects.schema import SchemaOp

__all__ = ["ALIASES", "form_of"]

ALIASES: Final = frozenset(
    {
        "clone",
        "dim_order_ops._clone_dim_order",
        "squeeze_copy.dim",
        "squeeze_copy.dims",
        "unsqueeze_copy",
        "view_copy",
    }
)
"""Operators whose result has the elements of their operand in the same order: it is the same memory."""

_PRODUCTS: Final = frozenset({"addmm", "bmm", "linear", "mm"})


def form_of(op: SchemaOp) -> str | None:
    """The form of a kernel that computes an op, None where no code does: `ALIASES`."""
    name = operator_name(op)
    if name in POINTWISE:
        return "pointwise"
    if name in _PRODUCTS:
        return "product"
    # Statistics that a normalization has beside its result are not made.
    if name in ROWS and not any(result.uses for result in op.results[1:]):
        return "rows"
    return None
