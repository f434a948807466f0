"""Operators of one tensor, element by element: by formula of the nodes there are."""

from __future__ import annotations

from functools import partial
from typing import Final

from xdsl.dialects.builtin import f16

from et_backends.xnnpack.compiler.chain import NODES, make_chain
from et_backends.xnnpack.compiler.rules.rule import Rule
from et_backends.xnnpack.compiler.translation import Translation
from et_backends.xnnpack.format.graph import XNNConvert
from et_ir.backends import formula_rules
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ops.library import OPERATORS

__all__ = ["RULES"]

_LACKS: Final = partial(formula_rules.refusal, nodes=NODES, device="XNNPACK")
_EXPONENTS: Final = (2.0, 3.0, 0.5, -0.5, -1.0)


def _refuse(op: SchemaOp) -> Diagnostic | None:
    for value in op.operands:
        if not is_tensor(value.type):
            return Diagnostic("a number is known at run time only", str(value.type))
    return _LACKS(op)


def _refuse_gelu(op: SchemaOp) -> Diagnostic | None:
    if tensor_type(op.operands[0]).element_type == f16 and op.arg("approximate") == "none":
        return Diagnostic("element type", "f16: XNNPACK has this node for f32 only")
    return None


def _refuse_power(op: SchemaOp) -> Diagnostic | None:
    exponent = op.arg("exponent")
    if isinstance(exponent, (int, float)) and float(exponent) not in _EXPONENTS:
        return Diagnostic("exponents are limited", f"{exponent}, not one of {_EXPONENTS}")
    return _refuse(op)


def _takes_one_tensor(name: str) -> bool:
    return len(OPERATORS[name].schema.tensor_args) == 1


def _same(t: Translation, op: SchemaOp) -> None:
    """A copy, which is memory that is there, or a conversion of its elements."""
    x = op.operands[0]
    if t.element_type(x) == t.element_type(op.result):
        t.alias(op.result, x, {order: order for order in t.orders(x)})
        return
    order = t.order(x)
    source = t.read(x, order)
    t.node(XNNConvert(input_id=source, output_id=t.write(op.result, order)), op)


RULES: Final = {
    **{
        name: Rule(make_chain, _refuse)
        for name in formula_rules.operators_of(NODES)
        if _takes_one_tensor(name) and not formula_rules.gives_mask(name)
    },
    "clone": Rule(_same),
    "dim_order_ops._clone_dim_order": Rule(_same),
    "dim_order_ops._to_dim_order_copy": Rule(_same),
    "gelu": Rule(make_chain, _refuse_gelu),
    "pow.Tensor_Scalar": Rule(make_chain, _refuse_power),
}
