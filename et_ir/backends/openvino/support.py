"""Operator support of the OpenVINO backend.

An op is supported if there is a rule for its operator, and all sizes and element types are what models have.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Operation, SSAValue

from et_ir.backends.openvino.rules import RULES
from et_ir.backends.openvino.rules.rule import Rule, only_literals
from et_ir.delegation.support import OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = ["OpenvinoSupport"]


class OpenvinoSupport(OperatorSupport):
    """Says of each op whether there are nodes for it."""

    def refusal(self, op: Operation) -> Diagnostic | None:
        if not isinstance(op, SchemaOp):
            return Diagnostic("no operator", op.name)
        name = op.name.removeprefix("edge.")
        rule = RULES.get(name)
        if rule is None:
            return Diagnostic("OpenVINO has no such node", name)
        unused = () if rule.results < 0 else op.results[rule.results :]
        if any(result.uses for result in unused):
            return Diagnostic("a result that is not computed is used", name)
        results = [result for result in op.results if result not in unused]
        tensors = [value for value in (*op.operands, *results) if is_tensor(value.type)]
        refusal = _of_types(op, rule, tensors)
        if refusal is not None:
            return refusal
        for argument, value in op.args().items():
            if argument not in op.info().positions and not only_literals(value):
                return Diagnostic("an argument that is known at run time only", argument)
        return rule.refuse(op)


def _of_types(op: SchemaOp, rule: Rule, tensors: list[SSAValue]) -> Diagnostic | None:
    places = [op.arg(name) for name in rule.indices]
    seen: set[object] = set()
    for value in tensors:
        type = tensor_type(value)
        if not type.has_static_shape():
            return Diagnostic("dynamic size", str(type))
        if 0 in type.get_shape():
            return Diagnostic("empty tensor", str(type))
        if list(dim_order_of(type)) != sorted(dim_order_of(type)):
            return Diagnostic("dim order", str(type))
        if value in places:
            if type.element_type not in (i1, i32, i64):
                return Diagnostic("element type of places", element_type_name(type.element_type))
            continue
        seen.add(type.element_type)
        result_of_comparison = rule.mixes and type.element_type == i1
        if type.element_type not in rule.types and not result_of_comparison:
            taken = ", ".join(sorted(map(element_type_name, rule.types)))
            return Diagnostic("element type", f"{element_type_name(type.element_type)}, it takes {taken}")
    operands = {tensor_type(value).element_type for value in tensors if value not in op.results}
    operands -= {tensor_type(value).element_type for value in places}
    mixed = len(operands) > 1 if rule.mixes else len(seen) > 1
    return Diagnostic("element types differ") if mixed else None
