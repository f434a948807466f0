"""The kernel that an edge operator comes down to, as runtimes name it."""

from __future__ import annotations

from functools import cache

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.schema.schema import parse_schema

__all__ = ["kernel_of"]


def kernel_of(op: EdgeOp) -> str:
    """`aten::add.out` for an `edge.add.Tensor`: the out variant, or the operator itself if it has none."""
    return _kernel_name(op.name, op.schema_text, op.out_schema)


@cache
def _kernel_name(name: str, schema_text: str, out_schema: str | None) -> str:
    functional = parse_schema(schema_text)
    # `edge.dim_order_ops._clone_dim_order` names its namespace, `edge.add.Tensor` stands for torch's own.
    namespace = name.removeprefix("edge.").removesuffix(functional.qualified_name).rstrip(".") or "aten"
    schema = parse_schema(out_schema) if out_schema else functional
    return f"{namespace}::{schema.qualified_name}"
