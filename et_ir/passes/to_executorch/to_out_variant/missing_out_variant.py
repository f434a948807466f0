"""Diagnostics for operators without an out variant.

They are for operators of which a kernel has to be called.
"""

from __future__ import annotations

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.schema.custom import is_custom
from et_ops.variants import out_variant_definition

__all__ = ["missing_out_variant"]


def missing_out_variant(op: EdgeOp) -> tuple[str, str]:
    """Fault of the op, and its fix."""
    if is_custom(type(op)):
        namespace = op.operator.namespace
        text = f"{namespace}::{op.operator.schema_text}"
        return (
            f"[out_variant_c1] '{namespace}::{op.schema().qualified_name}' has no out variant, which runtimes need, "
            "and does not decompose into ATen operators",
            f"define one, write its kernel, and export again: {out_variant_definition(text)}",
        )
    name = op.schema().qualified_name
    return (
        f"[out_variant_c1] torch has no out variant of '{name}'",
        "decompose the operator, or register an out variant of it",
    )
