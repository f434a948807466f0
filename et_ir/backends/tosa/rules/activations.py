"""Rules of activation functions."""

from __future__ import annotations

from math import pi, sqrt
from typing import Final

from xdsl.ir import SSAValue

from et_ir.backends.tosa.legalizer import CannotLegalize, Legalizer
from et_ir.backends.tosa.rules.rule import Rule, require_float
from et_ir.dialects.schema import SchemaOp
from et_schema.tosa_graph import DType, Op

__all__ = ["RULES"]


def _numbers_only(t: Legalizer, value: SSAValue) -> None:
    if t.dtype(value) is DType.BOOL:
        raise CannotLegalize("element type BOOL")


def _relu(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    _numbers_only(t, x)
    return t.clamp(x, 0, None)


def _hardtanh(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    _numbers_only(t, x)
    return t.clamp(x, op.arg("min_val"), op.arg("max_val"))


def _clamp(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    _numbers_only(t, x)
    return t.clamp(x, op.arg("min"), op.arg("max"))


def _sigmoid(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    return t.emit(Op.SIGMOID, x)


def _tanh(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    return t.emit(Op.TANH, x)


def _silu(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    return t.mul(x, t.emit(Op.SIGMOID, x))


def _gelu(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    if op.arg("approximate") == "tanh":
        cube = t.mul(t.mul(x, x), x)
        inner = t.mul(t.add(x, t.mul(cube, 0.044715)), sqrt(2 / pi))
        part = t.emit(Op.TANH, inner)
    else:
        part = t.emit(Op.ERF, t.mul(x, sqrt(0.5)))
    return t.mul(t.mul(x, 0.5), t.add(part, 1.0))


def _hardsigmoid(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    return t.mul(t.clamp(t.add(x, 3.0), 0.0, 6.0), 1 / 6)


def _hardswish(t: Legalizer, op: SchemaOp) -> SSAValue:
    return t.mul(op.arg("self"), _hardsigmoid(t, op))


def _leaky_relu(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    positive = t.binary(Op.GREATER_EQUAL, x, t.operand(0.0, x))
    return t.emit(Op.SELECT, positive, x, t.mul(x, op.arg("negative_slope")))


def _elu(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    # Limited above, as the exponential of what is not selected may overflow.
    below = t.mul(t.clamp(x, None, 0.0), op.arg("input_scale"))
    below = t.mul(t.sub(t.emit(Op.EXP, below), 1.0), op.arg("alpha") * op.arg("scale"))
    above = t.mul(x, op.arg("scale"))
    return t.emit(Op.SELECT, t.binary(Op.GREATER, x, t.operand(0.0, x)), above, below)


RULES: Final[dict[str, Rule]] = {
    "clamp": _clamp,
    "elu": _elu,
    "gelu": _gelu,
    "hardsigmoid": _hardsigmoid,
    "hardswish": _hardswish,
    "hardtanh": _hardtanh,
    "leaky_relu": _leaky_relu,
    "relu": _relu,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "tanh": _tanh,
}
