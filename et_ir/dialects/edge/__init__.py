"""The `edge` dialect: what targets have kernels for, one dtype per computation, explicit memory layout."""

from __future__ import annotations

from xdsl.ir import Dialect

from et_ir.dialects.edge.attributes import DimOrderAttr
from et_ir.dialects.edge.base import EdgeOp
from et_ir.dialects.edge.generated.ops import OPS

__all__ = ["OP_BY_NAME", "DimOrderAttr", "Edge", "EdgeOp"]

Edge = Dialect("edge", list(OPS), [DimOrderAttr])
OP_BY_NAME: dict[str, type[EdgeOp]] = {op.name.removeprefix("edge."): op for op in OPS}
"""Op classes by name, with the namespace where it is not `aten`: `dim_order_ops._clone_dim_order`."""
