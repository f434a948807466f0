"""The `edge` dialect: what targets have kernels for, one dtype per computation, explicit memory layout."""

from __future__ import annotations

from et_ir.dialects.edge.attributes import DimOrderAttr
from et_ir.dialects.edge.base import EdgeOp
from et_ir.dialects.schema.classes import OperatorClasses, OperatorDialect

__all__ = ["OP_BY_NAME", "DimOrderAttr", "Edge", "EdgeOp"]

OP_BY_NAME = OperatorClasses("edge", EdgeOp, lambda operator: operator.is_edge)
"""Op classes by name, with the namespace where it is not `aten`: `dim_order_ops._clone_dim_order`."""
Edge = OperatorDialect(OP_BY_NAME, [DimOrderAttr])
