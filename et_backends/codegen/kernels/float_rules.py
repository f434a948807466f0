"""Rules of f32 operators that are made of other functions: remainders, hyperbolic inverses.

Remainders of any two numbers are exact: they are computed in f64, some bits of the quotient at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log, nan
from typing import Final, TypeAlias

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import VectorType, f64
from xdsl.ir import Operation, SSAValue

from et_backends.codegen.dialect import CompareOp, SelectOp
from et_backends.codegen.dialect.types import vector_type
from et_backends.codegen.loop_builder import LoopBuilder
from et_ir.dialects.schema import SchemaOp

__all__ = ["FLOATS", "Floats"]

_Rule: TypeAlias = Callable[[LoopBuilder, SchemaOp, Sequence[SSAValue]], SSAValue]

STEPS: Final = 6
"""Times 52 bits of a quotient: as many as that of the largest f32 by the smallest has."""
LARGE: Final = 2.0**30
"""From here on what is added to a square does not matter, and before it squares are finite."""


class Floats:
    """Arithmetic on vectors of floats."""

    def __init__(self, b: LoopBuilder):
        self.b = b

    def _as(self, x: SSAValue | float, like: SSAValue) -> SSAValue:
        return x if isinstance(x, SSAValue) else self.b.number(x, like.type)

    def _binary(
        self, op: Callable[[SSAValue, SSAValue], Operation], x: SSAValue, y: SSAValue | float
    ) -> SSAValue:
        return self.b.value(op(x, self._as(y, x)))

    def add(self, x: SSAValue, y: SSAValue | float) -> SSAValue:
        return self._binary(arith.AddfOp, x, y)

    def sub(self, x: SSAValue, y: SSAValue | float) -> SSAValue:
        return self._binary(arith.SubfOp, x, y)

    def mul(self, x: SSAValue, y: SSAValue | float) -> SSAValue:
        return self._binary(arith.MulfOp, x, y)

    def div(self, x: SSAValue, y: SSAValue | float) -> SSAValue:
        return self._binary(arith.DivfOp, x, y)

    def abs(self, x: SSAValue) -> SSAValue:
        return self.b.value(math.AbsFOp(x))

    def signed(self, size: SSAValue, sign: SSAValue) -> SSAValue:
        return self.b.value(math.CopySignOp(size, sign))

    def choose(
        self, x: SSAValue, predicate: str, y: SSAValue | float, yes: SSAValue | float, no: SSAValue | float
    ) -> SSAValue:
        mask = self.b.value(CompareOp(predicate, x, self._as(y, x)))
        return self.b.value(SelectOp(mask, self._as(yes, x), self._as(no, x)))


def _operands(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
    return x[0], x[1] if len(x) == 2 else b.number(float(op.arg("other")), x[0].type)


def _remainder(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """x - trunc(x / y) y, exactly, with the sign of x.

    Each step subtracts a multiple that has the first bits of the quotient. It is at most one unit in the last of them
    too large, and the difference has few bits, so that it is exact; one that is below 0 is made good at the end.
    """
    v = Floats(b)
    wide = VectorType(f64, vector_type(x).get_shape())
    size, divisor = (b.value(arith.ExtFOp(v.abs(one), wide)) for one in (x, y))
    rest = size
    for _ in range(STEPS):
        quotient = b.value(math.TruncOp(v.div(rest, divisor)))
        rest = b.value(vector.FMAOp(b.value(arith.NegfOp(quotient)), divisor, rest))
    rest = v.choose(rest, "olt", 0.0, v.add(rest, divisor), rest)
    rest = v.choose(rest, "oge", divisor, v.sub(rest, divisor), rest)
    # Of a number by infinity it is the number.
    rest = v.choose(divisor, "oeq", inf, v.choose(size, "oeq", inf, nan, size), rest)
    narrow = b.value(arith.TruncFOp.build(operands=[rest], result_types=[x.type]))
    return v.signed(narrow, x)


def _fmod(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return _remainder(b, *_operands(b, op, x))


def _modulo(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """The remainder with the sign of the divisor."""
    v = Floats(b)
    value, other = _operands(b, op, x)
    rest = _remainder(b, value, other)
    signs = v.mul(_unit(b, rest), _unit(b, other))
    return v.choose(v.choose(rest, "une", 0.0, signs, 1.0), "olt", 0.0, v.add(rest, other), rest)


def _unit(b: LoopBuilder, x: SSAValue) -> SSAValue:
    """One, with the sign of x."""
    return Floats(b).signed(b.number(1.0, x.type), x)


def _division(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """A quotient rounded toward zero, or down; down as Python's `//`, from the exact remainder."""
    v = Floats(b)
    value, other = _operands(b, op, x)
    quotient = v.div(value, other)
    if op.arg("rounding_mode") is None:
        return quotient
    if op.arg("rounding_mode") == "trunc":
        return b.value(math.TruncOp(quotient))
    rest = _remainder(b, value, other)
    whole = v.div(v.sub(value, rest), other)
    signs = v.mul(_unit(b, rest), _unit(b, other))
    below = v.choose(signs, "olt", 0.0, v.sub(whole, 1.0), whole)
    whole = v.choose(rest, "une", 0.0, below, whole)
    floor = b.value(math.FloorOp(whole))
    nearest = v.choose(v.sub(whole, floor), "ogt", 0.5, v.add(floor, 1.0), floor)
    # Zero has the sign of the quotient.
    nearest = v.choose(whole, "oeq", 0.0, v.signed(b.number(0.0, rest.type), quotient), nearest)
    return v.choose(other, "oeq", 0.0, quotient, nearest)


def _log1p(b: LoopBuilder, x: SSAValue) -> SSAValue:
    return b.value(math.Log1pOp(x))


def _log_of_double(b: LoopBuilder, x: SSAValue) -> SSAValue:
    return Floats(b).add(b.value(math.LogOp(x)), log(2))


def _asinh(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """log(|x| + sqrt(x**2 + 1)), with the sign of x."""
    v = Floats(b)
    (value,) = x
    size = v.abs(value)
    square = v.mul(size, size)
    root = b.value(math.SqrtOp(v.add(square, 1.0)))
    near = _log1p(b, v.add(size, v.div(square, v.add(root, 1.0))))
    return v.signed(v.choose(size, "ogt", LARGE, _log_of_double(b, size), near), value)


def _acosh(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """log(x + sqrt(x**2 - 1)), with t = x - 1."""
    v = Floats(b)
    (value,) = x
    t = v.sub(value, 1.0)
    root = b.value(math.SqrtOp(b.value(vector.FMAOp(t, t, v.add(t, t)))))  # of t**2 + 2 t, rounded once
    near = v.choose(value, "olt", 1.0, nan, _log1p(b, v.add(t, root)))
    return v.choose(value, "ogt", LARGE, _log_of_double(b, value), near)


def _atanh(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """log((1 + |x|) / (1 - |x|)) / 2, with the sign of x."""
    v = Floats(b)
    size = v.abs(x[0])
    ratio = v.div(v.add(size, size), v.sub(b.number(1.0, size.type), size))
    return v.signed(v.choose(size, "ogt", 1.0, nan, v.mul(_log1p(b, ratio), 0.5)), x[0])


FLOATS: Final[dict[str, _Rule]] = {
    "acosh": _acosh,
    "asinh": _asinh,
    "atanh": _atanh,
    "div.Scalar_mode": _division,
    "div.Tensor_mode": _division,
    "fmod.Scalar": _fmod,
    "fmod.Tensor": _fmod,
    "remainder.Scalar": _modulo,
    "remainder.Tensor": _modulo,
}
"""Rules by operator."""
