"""Pointwise operators: by formula of the operations there are, and those of bools and integers."""

from __future__ import annotations

from functools import partial
from typing import Final

from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.ir import Attribute

from et_backends.coreml.compiler.arithmetic import NODES, MilBuilder
from et_backends.coreml.compiler.rules.rule import Rule
from et_backends.coreml.compiler.translation import Made, Translation, shape_of
from et_backends.coreml.format.mil import MilTypeName
from et_ir.backends import formula_rules
from et_ir.backends.operator_rules import refuse_integers_of_floats
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.library import OPERATORS

__all__ = ["RULES"]

_BOOLS: Final = frozenset({i1})
_EVERY: Final[frozenset[Attribute]] = frozenset({f32, i1, i32, i64})
_REFUSAL: Final = partial(formula_rules.refusal, nodes=NODES, device="Core ML")


def _by_formula(t: Translation, op: SchemaOp) -> Made:
    return formula_rules.lower(MilBuilder(t), op, t.value)


def _refuse_scalar(op: SchemaOp) -> Diagnostic | None:
    """Numbers that the element type of the tensor does not hold are computed in another one."""
    if not op.name.endswith("Scalar") or tensor_type(op.operands[0]).element_type == f32:
        return None
    other = op.arg("other")
    if isinstance(other, int) and not isinstance(other, bool) and abs(other) < 1 << 31:
        return None
    return Diagnostic("a number with a tensor that is not f32", str(other))


def _rule(name: str) -> Rule:
    """The rule of an operator with a formula, of floats; a comparison is one of integers too."""
    if not formula_rules.gives_mask(name):
        return Rule(_by_formula, _REFUSAL)
    if "other" in OPERATORS[name].schema.by_name:
        return Rule(_by_formula, _refuse_scalar, frozenset({f32, i32, i64}), mixes=True)
    return Rule(_by_formula, _REFUSAL, mixes=True)


def _logical(operation: str) -> Rule:
    def lower(t: Translation, op: SchemaOp) -> Made:
        return t.make(operation, shape_of(op.result), x=t.read(op, "self"), y=t.read(op, "other"))

    return Rule(lower, types=_BOOLS)


def _copy(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "self")
    element = t.element(tensor_type(op.result).element_type)
    if element is MilTypeName.BOOL and x.type.name is not MilTypeName.BOOL:
        return t.make("not_equal", x.shape, element, x=x, y=t.number(0, x))
    return t.converted(x, element)


_CONVERTS: Final = Rule(_copy, refuse_integers_of_floats, _EVERY, mixes=True)
_NOT: Final = Rule(
    lambda t, op: t.make("logical_not", shape_of(op.result), x=t.read(op, "self")), types=_BOOLS
)

RULES: Final[dict[str, Rule]] = {
    **{name: _rule(name) for name in formula_rules.operators_of(NODES)},
    **{
        name: _logical(f"logical_{operation}")
        for operation in ("and", "or", "xor")
        for name in (f"logical_{operation}", f"bitwise_{operation}.Tensor")
    },
    "logical_not": _NOT,
    "bitwise_not": _NOT,
    "where.self": Rule(_by_formula, indices=("condition",)),
    "clone": Rule(_copy, types=_EVERY),
    "dim_order_ops._clone_dim_order": Rule(_copy, types=_EVERY),
    "dim_order_ops._to_dim_order_copy": _CONVERTS,
}
