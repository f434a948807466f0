"""Operator support of the TOSA backend: an op is supported if it can be legalized, which is tried."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from et_ir.backends.tosa.integers import Integers
from et_ir.backends.tosa.legalizer import Legalizer
from et_ir.backends.tosa.passes.legalize_to_tosa import results_of
from et_ir.backends.tosa.specification import TosaSpecification
from et_ir.delegation.support import OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.dialects.tosa.attributes import dtype_of
from et_schema.tosa_graph import DType

__all__ = ["TosaSupport"]

_INTEGERS: Final = (DType.INT8, DType.INT16, DType.INT32)


class TosaSupport(OperatorSupport):
    """Says of each op of one method whether operators of TOSA compute it."""

    def __init__(self, method: FuncOp, specification: TosaSpecification):
        module = method.get_toplevel_object()
        assert isinstance(module, ModuleOp)
        self._symbols = Globals(module)
        self._supports_integers = specification.supports_integer
        self._integers = (
            Integers.of(method, self._symbols) if self._supports_integers else Integers(self._symbols)
        )
        self._types = {DType.BOOL}
        if specification.supports_float:
            self._types |= {DType.FP32, DType.FP16}
        if specification.supports_integer:
            self._types |= set(_INTEGERS)

    def refusal(self, op: Operation) -> Diagnostic | None:
        if not isinstance(op, SchemaOp):
            return Diagnostic("no operator", op.name)
        if self._integers.is_border(op):
            return None
        t = Legalizer(self._symbols, dry=True)
        try:
            if self._integers.reads(op) and self._supports_integers:
                self._integers.lower(t, op)
                return None
            refusal = self._of_values(op)
            if refusal is None:
                results_of(t, op)
        except ValueError as error:
            return Diagnostic("TOSA does not compute it", str(error))
        finally:
            for made in reversed(list(t.block.ops)):
                t.block.erase_op(made, safe_erase=False)
        return refusal

    def _of_values(self, op: SchemaOp) -> Diagnostic | None:
        results = [value for value in op.results if value.uses] or [op.results[0]]
        for value in (*op.operands, *results):
            found = self._of_value(value)
            if found is not None:
                return found
        return None

    def _of_value(self, value: SSAValue) -> Diagnostic | None:
        type = value.type
        if not is_tensor(type):
            return Diagnostic("a number that is known at run time only", str(type))
        if not type.has_static_shape():
            return Diagnostic("dynamic size", str(type))
        if 0 in type.get_shape():
            return Diagnostic("empty tensor", str(type))
        is_constant = isinstance(value.owner, GetOp)
        if not type.get_shape() and not is_constant:
            return Diagnostic("rank 0", str(type))
        try:
            dtype = dtype_of(type.element_type)
        except ValueError as error:
            return Diagnostic("element type", str(error))
        if dtype not in self._types and not is_constant:
            return Diagnostic(
                "element type", f"{element_type_name(type.element_type)} is not in the profiles of the target"
            )
        return None
