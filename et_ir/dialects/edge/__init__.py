"""The `edge` dialect: what targets have kernels for, with one dtype per computation and explicit memory layout."""

from __future__ import annotations

from xdsl.ir import Dialect

from et_ir.dialects.edge.base import EdgeOp
from et_ir.dialects.edge.generated.ops import OPS

__all__ = ["OP_BY_NAME", "Edge", "EdgeOp"]

Edge = Dialect("edge", list(OPS))
OP_BY_NAME: dict[str, type[EdgeOp]] = {op.name.removeprefix("edge."): op for op in OPS}
"""Op classes by name without the dialect, with the namespace where it is not `aten`: `add.Tensor`, `dim_order_ops._clone_dim_order`."""
