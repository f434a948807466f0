"""Pointwise operators of TOSA, by the operator of torch that each computes."""

from __future__ import annotations

from math import inf, isnan
from typing import TYPE_CHECKING, Final

import numpy as np
from xdsl.ir import SSAValue

from et_backends.tosa.format.graph import Op
from et_backends.tosa.format.operators import numpy_name
from et_ir.backends.formula_rules import Maker, Nodes, always

if TYPE_CHECKING:
    from et_backends.tosa.compiler.legalizer import Legalizer

__all__ = ["NODES"]


def _unary(kind: Op) -> Maker:
    def make(t: Legalizer, x: SSAValue) -> SSAValue:
        return t.emit(kind, x)

    return make


def _binary(kind: Op) -> Maker:
    def make(t: Legalizer, x: SSAValue, y: SSAValue) -> SSAValue:
        return t.binary(kind, x, y)

    return make


def _swapped(kind: Op) -> Maker:
    def make(t: Legalizer, x: SSAValue, y: SSAValue) -> SSAValue:
        return t.binary(kind, y, x)

    return make


def _differs(t: Legalizer, x: SSAValue, y: SSAValue) -> SSAValue:
    return t.emit(Op.LOGICAL_NOT, t.binary(Op.EQUAL, x, y))


def _quotient(t: Legalizer, x: SSAValue, y: SSAValue) -> SSAValue:
    return t.mul(x, t.reciprocal(y))


def _negated(t: Legalizer, x: SSAValue) -> SSAValue:
    zero = t.zero_point(x)
    return t.emit(Op.NEGATE, x, zero, zero)


def _root(t: Legalizer, x: SSAValue) -> SSAValue:
    return t.pow(x, 0.5)


def _select(t: Legalizer, mask: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
    rank = max(len(t.shape_of(value)) for value in (mask, yes, no))
    return t.emit(Op.SELECT, *(t.ranked(value, rank) for value in (mask, yes, no)))


def _clamp(low: float | None, high: float | None = None) -> Maker | None:
    if any(bound is not None and isnan(bound) for bound in (low, high)):
        return None

    def make(t: Legalizer, x: SSAValue) -> SSAValue:
        kind = np.dtype(numpy_name(t.dtype(x)))
        least, greatest = (-inf, inf) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
        least, greatest = least if low is None else low, greatest if high is None else high
        return t.emit(Op.CLAMP, x, min_val=min(least, greatest), max_val=greatest)

    return make


_UNARY: Final = "abs ceil cos erf exp floor log reciprocal rsqrt sigmoid sin tanh"
_BINARY: Final = "add maximum minimum mul pow sub"

NODES: Final[Nodes] = {
    **{name: always(_unary(Op[name.upper()])) for name in _UNARY.split()},
    **{name: always(_binary(Op[name.upper()])) for name in _BINARY.split()},
    "eq": always(_binary(Op.EQUAL)),
    "ge": always(_binary(Op.GREATER_EQUAL)),
    "gt": always(_binary(Op.GREATER)),
    "clamp": _clamp,
    "div": always(_quotient),
    "le": always(_swapped(Op.GREATER_EQUAL)),
    "lt": always(_swapped(Op.GREATER)),
    "ne": always(_differs),
    "neg": always(_negated),
    "select": always(_select),
    "sqrt": always(_root),
}
"""Operators by operator of torch. Roots are powers, and quotients of floats products with a reciprocal."""
