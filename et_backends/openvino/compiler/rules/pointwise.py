"""Pointwise operators: by formula of the nodes there are, and those of bools and integers."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
from xdsl.dialects.builtin import f32, i1, i8, i32, i64
from xdsl.ir import Attribute

from et_backends.openvino.compiler.arithmetic import NODES, NodeBuilder
from et_backends.openvino.compiler.rules.rule import Rule
from et_backends.openvino.compiler.translation import Node, Translation
from et_ir.backends import formula_rules
from et_ir.backends.operator_rules import is_constant, refuse_integers_of_floats
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.library import OPERATORS

__all__ = ["RULES"]

_BOOLS: Final = frozenset({i1})
_EVERY: Final[frozenset[Attribute]] = frozenset({f32, i1, i8, ui8, i32})
_REFUSAL: Final = partial(formula_rules.refusal, nodes=NODES, device="OpenVINO")


def _by_formula(t: Translation, op: SchemaOp) -> Node:
    return formula_rules.lower(NodeBuilder(t), op, t.value)


def _refuse_scalar(op: SchemaOp) -> Diagnostic | None:
    """Numbers that the element type of the tensor does not hold are computed in another one."""
    if op.name.endswith("Scalar") and tensor_type(op.operands[0]).element_type != f32:
        return Diagnostic("a number with a tensor that is not f32", str(op.arg("other")))
    return None


def _rule(name: str) -> Rule:
    """The rule of an operator with a formula, of floats; a comparison is one of integers too."""
    if not formula_rules.gives_mask(name):
        return Rule(_by_formula, _REFUSAL)
    if "other" in OPERATORS[name].schema.by_name:
        return Rule(_by_formula, _refuse_scalar, frozenset({f32, i32}), mixes=True)
    return Rule(_by_formula, _REFUSAL, mixes=True)


def _logical(name: str) -> Rule:
    def lower(t: Translation, op: SchemaOp) -> Node:
        return getattr(t.nodes, name)(*map(t.value, op.operands))

    return Rule(lower, types=_BOOLS)


def _copy(t: Translation, op: SchemaOp) -> Node:
    x, wanted = t.read(op, "self"), tensor_type(op.result).element_type
    if tensor_type(op.operands[0]).element_type == i64 and wanted == i1:
        # 32 bits of other numbers than 0 may be 0, floats of them are not.
        floats = t.converted(x, f32)
        return t.nodes.not_equal(floats, t.nodes.constant(np.array(0, np.float32)))
    return t.converted(x, wanted)


def _refuse_conversion(op: SchemaOp) -> Diagnostic | None:
    """The CPU device computes i64 in 32 bits, but for conversions of a model's inputs to floats.

    No operator has results of i64, so that operands are inputs unless they are constants.
    """
    source, target = (tensor_type(value).element_type for value in (op.operands[0], op.result))
    if i64 in (source, target) and (target not in (f32, i1) or is_constant(op.operands[0])):
        return Diagnostic("64-bit integers, which OpenVINO computes in 32 bits")
    return refuse_integers_of_floats(op)


_CONVERTS: Final = Rule(_copy, _refuse_conversion, _EVERY | {i64}, mixes=True)

RULES: Final[dict[str, Rule]] = {
    **{name: _rule(name) for name in formula_rules.operators_of(NODES)},
    **{
        name: _logical(f"logical_{operation}")
        for operation in ("and", "or", "xor")
        for name in (f"logical_{operation}", f"bitwise_{operation}.Tensor")
    },
    "logical_not": _logical("logical_not"),
    "bitwise_not": _logical("logical_not"),
    "where.self": Rule(_by_formula, types=frozenset({f32}), indices=("condition",)),
    "clone": Rule(_copy, types=_EVERY),
    "dim_order_ops._clone_dim_order": Rule(_copy, types=_EVERY),
    "dim_order_ops._to_dim_order_copy": _CONVERTS,
}
