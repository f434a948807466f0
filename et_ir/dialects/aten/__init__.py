"""The `aten` dialect: functional programs of torch operators, as exported and as Core ATen."""

from __future__ import annotations

from et_ir.dialects.aten.base import AtenOp
from et_ir.dialects.schema.classes import OperatorClasses, OperatorDialect

__all__ = ["OP_BY_NAME", "Aten", "AtenOp"]

OP_BY_NAME = OperatorClasses("aten", AtenOp, lambda operator: operator.is_exported)
"""Op classes by torch's name, without `.default`, with the namespace where it is not `aten`: `add.Tensor`, `relu`,
`quantized_decomposed.choose_qparams.tensor`.
"""
Aten = OperatorDialect(OP_BY_NAME)
