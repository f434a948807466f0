"""Rules of pointwise arithmetic."""

from __future__ import annotations

from math import log
from typing import Final

from xdsl.ir import SSAValue

from et_ir.backends.tosa.legalizer import FLOATS, CannotLegalize, Legalizer
from et_ir.backends.tosa.rules.rule import Rule, require_float
from et_ir.dialects.schema import SchemaOp
from et_schema.tosa_graph import DType, Op

__all__ = ["RULES"]

_MAX_POWER: Final = 8


def _scaled(t: Legalizer, op: SchemaOp, value: SSAValue | float, like: SSAValue) -> SSAValue:
    """The second operand of a sum, times `alpha`."""
    alpha = op.arg("alpha")
    if not isinstance(value, SSAValue):
        return t.operand(value * alpha, like)
    return value if alpha == 1 else t.mul(value, alpha)


def _add(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    return t.add(x, _scaled(t, op, op.arg("other"), x))


def _sub(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    return t.sub(x, _scaled(t, op, op.arg("other"), x))


def _rsub(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    return t.sub(t.operand(op.arg("other"), x), _scaled(t, op, x, x))


def _mul(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    if t.dtype(x) is DType.BOOL:
        return t.binary(Op.LOGICAL_AND, x, t.operand(op.arg("other"), x))
    if t.dtype(x) in (DType.INT8, DType.INT16):
        raise CannotLegalize("products of narrow integers are wide")
    return t.mul(x, op.arg("other"))


def _div(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    other: SSAValue | float = op.arg("other")
    require_float(t, x)
    if not isinstance(other, SSAValue):
        if not other:
            raise CannotLegalize("a division by zero")
        return t.mul(x, 1.0 / other)
    return t.mul(x, t.emit(Op.RECIPROCAL, other))


def _pow(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    exponent: SSAValue | float = op.arg("exponent")
    require_float(t, x)
    if isinstance(exponent, SSAValue):
        return t.binary(Op.POW, x, exponent)
    if exponent == -0.5:
        return t.emit(Op.RSQRT, x)
    if exponent == -1:
        return t.emit(Op.RECIPROCAL, x)
    if exponent == int(exponent) and 1 <= exponent <= _MAX_POWER:
        power = t.value(x)
        for _ in range(int(exponent) - 1):
            power = t.mul(power, x)
        return power
    if exponent == int(exponent):
        raise CannotLegalize(f"the exponent {exponent}")
    return t.binary(Op.POW, x, t.operand(exponent, x))


def _sqrt(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    return t.binary(Op.POW, x, t.operand(0.5, x))


def _neg(t: Legalizer, op: SchemaOp) -> SSAValue:
    return t.negate(op.arg("self"))


def _float_unary(kind: Op) -> Rule:
    def lower(t: Legalizer, op: SchemaOp) -> SSAValue:
        x: SSAValue = op.arg("self")
        require_float(t, x)
        return t.emit(kind, x)

    return lower


def _abs(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    if t.dtype(x) not in (*FLOATS, DType.INT32):
        raise CannotLegalize(f"element type {t.dtype(x).name}")
    return t.emit(Op.ABS, x)


def _log_of(base: float) -> Rule:
    def lower(t: Legalizer, op: SchemaOp) -> SSAValue:
        x: SSAValue = op.arg("self")
        require_float(t, x)
        return t.mul(t.emit(Op.LOG, x), 1.0 / log(base))

    return lower


def _exp2(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    return t.emit(Op.EXP, t.mul(x, log(2.0)))


def _extremum(kind: Op) -> Rule:
    def lower(t: Legalizer, op: SchemaOp) -> SSAValue:
        x: SSAValue = op.arg("self")
        if t.dtype(x) is DType.BOOL:
            raise CannotLegalize("element type BOOL")
        return t.binary(kind, x, op.arg("other"))

    return lower


RULES: Final[dict[str, Rule]] = {
    "abs": _abs,
    "add.Scalar": _add,
    "add.Tensor": _add,
    "ceil": _float_unary(Op.CEIL),
    "cos": _float_unary(Op.COS),
    "div.Scalar": _div,
    "div.Tensor": _div,
    "erf": _float_unary(Op.ERF),
    "exp": _float_unary(Op.EXP),
    "exp2": _exp2,
    "floor": _float_unary(Op.FLOOR),
    "log": _float_unary(Op.LOG),
    "log10": _log_of(10.0),
    "log2": _log_of(2.0),
    "maximum": _extremum(Op.MAXIMUM),
    "minimum": _extremum(Op.MINIMUM),
    "mul.Scalar": _mul,
    "mul.Tensor": _mul,
    "neg": _neg,
    "pow.Tensor_Scalar": _pow,
    "pow.Tensor_Tensor": _pow,
    "reciprocal": _float_unary(Op.RECIPROCAL),
    "rsqrt": _float_unary(Op.RSQRT),
    "rsub.Scalar": _rsub,
    "sin": _float_unary(Op.SIN),
    "sqrt": _sqrt,
    "sub.Scalar": _sub,
    "sub.Tensor": _sub,
}
