"""Operator support of the XNNPACK backend.

An op is supported if there is a rule for its operator and XNNPACK knows its element types and shapes.
"""

from __future__ import annotations

from typing import Final

from xdsl.ir import Operation, SSAValue

from et_ir.analysis.bounds import SizeBounds
from et_ir.backends.xnnpack.constants import DATATYPES, is_constant
from et_ir.backends.xnnpack.rules import RULES
from et_ir.delegation.refusals import Refusal
from et_ir.delegation.support import OperatorSupport
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name
from et_ir.dialects.schema.tensors import is_tensor
from et_schema.xnnpack_nodes import MAX_RANK

__all__ = ["XnnpackSupport"]

_CONVERTS: Final = frozenset({"dim_order_ops._to_dim_order_copy"})
"""Operators whose result may be of another element type than their operand."""


class XnnpackSupport(OperatorSupport):
    """Says of each op of one method whether there are nodes for it."""

    def __init__(self, bounds: SizeBounds):
        self._bounds = bounds

    def refusal(self, op: Operation) -> Refusal | None:
        if not isinstance(op, SchemaOp):
            return Refusal("no operator", op.name)
        name = op.name.removeprefix("edge.")
        rule = RULES.get(name)
        if rule is None and name.startswith("quantized_decomposed."):
            return Refusal("quantized values are not supported, only f32 and f16", name)
        if rule is None:
            return Refusal("XNNPACK has no such node", name)
        results = [
            result for place, result in enumerate(op.results) if result.uses and place not in rule.places
        ]
        results = results or [op.results[0]]
        tensors = [value for value in (*op.operands, *results) if is_tensor(value.type)]
        for value in tensors:
            refusal = self._of_value(value)
            if refusal is not None:
                return refusal
        types = {value.type.element_type for value in tensors if is_tensor(value.type)}
        if len(types) > 1 and name not in _CONVERTS:
            return Refusal("element types differ", ", ".join(sorted(map(element_type_name, types))))
        return rule.refuse(op)

    def _of_value(self, value: SSAValue) -> Refusal | None:
        type = value.type
        assert is_tensor(type)
        if type.element_type not in DATATYPES:
            taken = ", ".join(map(element_type_name, DATATYPES))
            return Refusal("element type", f"{element_type_name(type.element_type)}, it takes {taken}")
        shape = type.get_shape()
        if len(shape) > MAX_RANK:
            return Refusal("rank", f"{len(shape)}, the limit is {MAX_RANK}")
        if not shape and not is_constant(value):
            return Refusal("rank", "0, of a value that is no constant")
        if 0 in shape:
            return Refusal("empty tensor", str(type))
        if not type.has_static_shape() and None in self._bounds.sizes(value):
            return Refusal("unbounded size", str(type))
        return None
