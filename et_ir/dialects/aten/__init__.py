"""The `aten` dialect: functional programs of torch operators, as exported and as Core ATen."""

from __future__ import annotations

from xdsl.ir import Dialect

from et_ir.dialects.aten.base import AtenOp
from et_ir.dialects.aten.generated.ops import OPS

__all__ = ["OP_BY_NAME", "Aten", "AtenOp"]

Aten = Dialect("aten", list(OPS))
OP_BY_NAME: dict[str, type[AtenOp]] = {op.name.removeprefix("aten."): op for op in OPS}
"""Op classes by torch's name, without `.default`, with the namespace where it is not `aten`: `add.Tensor`, `relu`,
`quantized_decomposed.choose_qparams.tensor`.
"""
