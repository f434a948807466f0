"""The kernel that an edge operator comes down to, as runtimes name it."""

from __future__ import annotations

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.schema.schema import parse_schema

__all__ = ["kernel_of"]


def kernel_of(op: EdgeOp) -> str:
    """`aten::add.out` for an `edge.add.Tensor`: the out variant, or the operator itself if it has none."""
    functional = op.schema()
    # `edge.dim_order_ops._clone_dim_order` names its namespace, `edge.add.Tensor` stands for torch's own.
    namespace = op.name.removeprefix("edge.").removesuffix(functional.qualified_name).rstrip(".") or "aten"
    schema = parse_schema(op.out_schema) if op.out_schema else functional
    return f"{namespace}::{schema.qualified_name}"
