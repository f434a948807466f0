"""Operator support of the Core ML backend."""

from __future__ import annotations

from typing import Final

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_backends.coreml.compiler.rules import RULES
from et_ir.backends.operator_rules import RuleSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.program import Globals
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.evaluation.arrays import array_of

__all__ = ["CoremlSupport"]

_HIGHEST_RANK: Final = 5
_LIMITS: Final = np.iinfo(np.int32)


class CoremlSupport(RuleSupport):
    """Ops that ML programs can compute: tensors of rank 5 at most, 32-bit integers."""

    def __init__(self, method: FuncOp):
        super().__init__(RULES, "Core ML", highest_rank=_HIGHEST_RANK)
        module = method.parent_op()
        assert isinstance(module, ModuleOp)
        self._symbols = Globals(module)

    def refusal(self, op: Operation) -> Diagnostic | None:
        refusal = super().refusal(op)
        if refusal is None and self._has_large_integers(op):
            return Diagnostic("a constant has integers that 32 bits do not hold")
        return refusal

    def _has_large_integers(self, op: Operation) -> bool:
        for value in op.operands:
            if not is_tensor(value.type) or tensor_type(value).element_type != i64:
                continue
            symbol = self._symbols.constant_of(value)
            if symbol is None or symbol.value is None:
                continue
            array = array_of(tensor_type(value), symbol.value.blob)
            if array.size and (int(array.min()) < _LIMITS.min or int(array.max()) > _LIMITS.max):
                return True
        return False
