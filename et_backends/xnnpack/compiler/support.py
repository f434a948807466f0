"""Operator support of the XNNPACK backend.

An op is supported if there is a rule for its operator and XNNPACK knows its element types and shapes.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from et_backends.xnnpack.compiler.constants import DATATYPES, is_constant
from et_backends.xnnpack.compiler.dynamic import dynamic_layers
from et_backends.xnnpack.compiler.rules import RULES
from et_backends.xnnpack.format.nodes import MAX_RANK
from et_ir.analysis.bounds import SizeBounds
from et_ir.analysis.integer_operations import integer_operations, is_one_scale, is_quantized_constant
from et_ir.analysis.quantization import DEQUANTIZE, QUANTIZE, Quantization, quantization_of
from et_ir.delegation.support import OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_schema.wording import worded

__all__ = ["XnnpackSupport"]

_CONVERTS: Final = frozenset({"dim_order_ops._to_dim_order_copy"})
"""Operators whose result may be of another element type than their operand."""


class XnnpackSupport(OperatorSupport):
    """Says of each op of one method whether there are nodes for it."""

    def __init__(self, method: FuncOp):
        self._bounds = SizeBounds(method.body.block)
        module = method.get_toplevel_object()
        assert isinstance(module, ModuleOp)
        symbols = Globals(module)

        @cache
        def quantization(op: SchemaOp) -> Quantization:
            return quantization_of(op, symbols)

        self._quantization = quantization
        self._integers = integer_operations(method.body.block.ops, self._quantization, symbols)
        self.dynamic = dynamic_layers(method.body.block.ops, self._quantization, self._takes_layer)
        """The layers whose activations are quantized while they run."""

    def _takes_layer(self, op: SchemaOp) -> bool:
        """Whether nodes compute a layer, were its weight and its operand floats."""
        tensors = [value for value in (*op.operands, *op.results) if is_tensor(value.type)]
        if any(self._of_value(value) for value in tensors):
            return False
        return all(tensor_type(value).element_type == f32 for value in tensors) and not RULES[
            op.name.removeprefix("edge.")
        ].refuse(op)

    def refusal(self, op: Operation) -> Diagnostic | None:
        if not isinstance(op, SchemaOp):
            return Diagnostic("no operator", op.name)
        name = op.name.removeprefix("edge.")
        rule = RULES.get(name)
        if isinstance(op, (*QUANTIZE, *DEQUANTIZE)):
            return self._of_quantization(op)
        if rule is None and name.startswith("quantized_decomposed."):
            return Diagnostic("XNNPACK has no such node", name)
        if rule is None:
            return Diagnostic("XNNPACK has no such node", name)
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
            return Diagnostic("element types differ", ", ".join(sorted(map(element_type_name, types))))
        if op not in self._integers and op not in self.dynamic.layers:
            for value in op.operands:
                if is_quantized_constant(value):
                    fix = worded(
                        python="EdgeCompileConfig(dequantize_weights=True)", command="--dequantize-weights"
                    )
                    return Diagnostic("weights are quantized, and activations are not", f"compile with {fix}")
        return rule.refuse(op)

    def _of_quantization(self, op: SchemaOp) -> Diagnostic | None:
        """Whether integers are of a type that values of a graph have."""
        if is_quantized_constant(op.results[0]):
            read = [use.operation for use in op.results[0].uses]
            if all(user in self._integers and self.refusal(user) is None for user in read):
                return None
            return Diagnostic("restores weights of an op that is not delegated in integers")
        how = self._quantization(op)
        if not is_one_scale(how):
            return Diagnostic(
                "only i8 with one scale and zero point is supported",
                f"{how.dtype.name} by {how.granularity.value}",
            )
        other = _quantizing(op.operands[0]) if isinstance(op, DEQUANTIZE) else op
        if other is not op:
            there = self._quantization(other)
            if not is_one_scale(there) or (there.scale, there.zero_point) != (how.scale, how.zero_point):
                # A value of a graph has one quantization.
                return Diagnostic("restored with another scale or zero point than it is quantized with")
        floats = op.results[0] if isinstance(op, DEQUANTIZE) else op.operands[0]
        is_f32 = tensor_type(floats).element_type == f32
        return self._of_value(floats) if is_f32 else Diagnostic("only f32 is quantized")

    def _of_value(self, value: SSAValue) -> Diagnostic | None:
        type = value.type
        assert is_tensor(type)
        if type.element_type not in DATATYPES:
            taken = ", ".join(map(element_type_name, DATATYPES))
            return Diagnostic("element type", f"{element_type_name(type.element_type)}, it takes {taken}")
        shape = type.get_shape()
        if len(shape) > MAX_RANK:
            return Diagnostic("rank", f"{len(shape)}, the limit is {MAX_RANK}")
        if not shape and not is_constant(value):
            return Diagnostic("rank", "0, of a value that is not a constant")
        if 0 in shape:
            return Diagnostic("empty tensor", str(type))
        if not type.has_static_shape() and None in self._bounds.sizes(value):
            return Diagnostic("unbounded size", str(type))
        return None


def _quantizing(integers: SSAValue) -> SchemaOp:
    """The op with the quantization of a value: one that quantizes it, or else always the same that restores it."""
    owner = integers.owner
    if isinstance(owner, QUANTIZE):
        return owner
    return next(use.operation for use in integers.uses if isinstance(use.operation, DEQUANTIZE))
