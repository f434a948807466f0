"""Pointwise operators: by formula of what TOSA has, and those of bools and whole powers."""

from __future__ import annotations

from typing import Final

from xdsl.ir import SSAValue

from et_backends.tosa.compiler.arithmetic import NODES
from et_backends.tosa.compiler.legalizer import CannotLegalize, Legalizer
from et_backends.tosa.compiler.rules.rule import Rule, require_float
from et_backends.tosa.format.graph import DType, Op
from et_ir.backends import formula_rules
from et_ir.dialects.schema import SchemaOp
from et_ops.formulas import LacksFunction

__all__ = ["RULES"]

_MAX_POWER: Final = 8


def _by_formula(t: Legalizer, op: SchemaOp) -> SSAValue:
    try:
        return formula_rules.lower(t, op, t.operand)
    except LacksFunction as lacks:
        raise CannotLegalize(f"there is no operator for {lacks}") from lacks


def _mul(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    if t.dtype(x) is DType.BOOL:
        return t.binary(Op.LOGICAL_AND, x, t.value(op.arg("other"), x))
    if t.dtype(x) in (DType.INT8, DType.INT16):
        raise CannotLegalize("products of narrow integers are wide")
    return _by_formula(t, op)


def _div_with_mode(t: Legalizer, op: SchemaOp) -> SSAValue:
    """Products with a reciprocal may be just below the whole number that a quotient is."""
    if op.arg("rounding_mode") is not None:
        raise CannotLegalize("a quotient that is rounded")
    return _by_formula(t, op)


def _pow(t: Legalizer, op: SchemaOp) -> SSAValue:
    """Whole powers by products: the operator of TOSA takes no negative base."""
    x: SSAValue = op.arg("self")
    exponent = float(op.arg("exponent"))
    require_float(t, x)
    if not exponent.is_integer() or exponent == -1 or 1 <= exponent <= 3:
        return _by_formula(t, op)
    if not 1 <= exponent <= _MAX_POWER:
        raise CannotLegalize(f"the exponent {exponent}")
    power = t.operand(x)
    for _ in range(int(exponent) - 1):
        power = t.mul(power, x)
    return power


def _pow_of_number(t: Legalizer, op: SchemaOp) -> SSAValue:
    if op.arg("self") < 0:
        raise CannotLegalize(f"the base {op.arg('self')}")
    return _by_formula(t, op)


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(formula_rules.operators_of(NODES), _by_formula),
    "div.Scalar_mode": _div_with_mode,
    "div.Tensor_mode": _div_with_mode,
    "mul.Scalar": _mul,
    "mul.Tensor": _mul,
    "pow.Scalar": _pow_of_number,
    "pow.Tensor_Scalar": _pow,
}
"""Formulas are of floats, but for those of operators of TOSA that take integers."""
