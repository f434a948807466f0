"""Operator support of the TOSA backend: an op is supported if it can be legalized, which is tried."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from et_backends.tosa.compiler.integers import Integers
from et_backends.tosa.compiler.legalizer import Legalizer
from et_backends.tosa.compiler.specification import TosaSpecification
from et_backends.tosa.dialect.attributes import dtype_of
from et_backends.tosa.format.graph import DType
from et_backends.tosa.passes.legalize_to_tosa import results_of as legalized
from et_ir.analysis.integer_operations import results_of
from et_ir.analysis.quantization import DEQUANTIZE, QUANTIZE
from et_ir.delegation.support import OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name
from et_ir.dialects.schema.tensors import is_tensor

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
        self._owners = {
            result: op
            for op in self._integers.operations
            if isinstance(op, SchemaOp)
            for result in results_of(op)
        }
        self._needs_integers = not specification.supports_float
        self._refusals: dict[Operation, Diagnostic | None] = {}
        self._types = {DType.BOOL}
        if specification.supports_float:
            self._types |= {DType.FP32, DType.FP16}
        if specification.supports_integer:
            self._types |= set(_INTEGERS)

    def refusal(self, op: Operation) -> Diagnostic | None:
        if not isinstance(op, SchemaOp):
            return Diagnostic("no operator", op.name)
        if self._integers.is_border(op):
            if self._needs_integers and not all(map(self.is_in_integers, self._inside(op))):
                return Diagnostic(
                    "the target does not compute with floats", "what it quantizes for is left out"
                )
            return None
        if op not in self._refusals:
            self._refusals[op] = self._legalized(op)
        return self._refusals[op]

    def is_in_integers(self, op: Operation) -> bool:
        """Whether an op is computed in integers, behind dequantized operands."""
        return self._integers.reads(op) and self.refusal(op) is None

    def _inside(self, border: SchemaOp) -> Iterable[Operation]:
        """The ops in integers that an op quantizes or dequantizes for."""
        if isinstance(border, DEQUANTIZE):
            return (use.operation for use in border.results[0].uses)
        value = border.operands[0] if isinstance(border, QUANTIZE) else border.results[0]
        return (self._owners[value],)

    def _legalized(self, op: SchemaOp) -> Diagnostic | None:
        t = Legalizer(self._symbols, dry=True)
        try:
            if self._integers.reads(op) and self._supports_integers:
                self._integers.lower(t, op)
                return self.refusal_of(t.block.ops)
            refusal = self._of_values(op)
            if refusal is None:
                legalized(t, op)
                refusal = self.refusal_of(t.block.ops)
        except ValueError as error:
            return Diagnostic("TOSA does not compute it", str(error))
        finally:
            for made in reversed(list(t.block.ops)):
                t.block.erase_op(made, safe_erase=False)
        return refusal

    def refusal_of(self, made: Iterable[Operation]) -> Diagnostic | None:
        """Why a target does not take what an op becomes, None if it does: for targets that do not take all of TOSA."""
        return None

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
