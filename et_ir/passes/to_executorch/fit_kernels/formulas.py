"""How functions that no kernel computes are written as formulas: Python arithmetic that builds ops.

    @formula(edge.SpecialSphericalBesselJ0Op)
    def spherical_j0(x: Real) -> Real:
        return (x.sin() / x).filled(x.equals(0), 1)

Formulas are in f64, whatever the types of operands and result are: one formula is for all types, and f32 results are
rounded once. There are no branches: where several formulas hold, all of them are computed, and `where` picks. An op of
a formula is a kernel call, one pass over memory with a temporary of f64; common subexpressions are left to `cse`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from xdsl.dialects.builtin import TensorType, f32, f64, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.fit_kernels.types import converted

__all__ = ["FORMULAS", "Formula", "Real", "Truth", "formula", "where"]

Formula = Callable[..., "Real"]
"""From the tensors of an op, and its literals by name, to its result."""

FORMULAS: Final[dict[type[EdgeOp], Formula]] = {}
"""Formulas by op class."""

_F = TypeVar("_F", bound=Formula)


def formula(*classes: type[EdgeOp]) -> Callable[[_F], _F]:
    """Register a function as the formula of op classes."""

    def register(function: _F) -> _F:
        for cls in classes:
            if cls in FORMULAS:
                raise AssertionError(f"{cls.name} has two formulas")
            FORMULAS[cls] = function
        return function

    return register


class Truth:
    """Where something holds: a tensor of i1."""

    def __init__(self, rewriter: PatternRewriter, value: SSAValue):
        self.rewriter, self.value = rewriter, value

    def _made(self, cls: type[EdgeOp], *args: Any) -> Truth:
        op = cls.make(self.value, *args, result_types=[self.value.type])
        return Truth(self.rewriter, self.rewriter.insert(op).results[0])

    def __and__(self, other: Truth) -> Truth:
        return self._made(edge.LogicalAndOp, other.value)

    def __or__(self, other: Truth) -> Truth:
        return self._made(edge.LogicalOrOp, other.value)

    def __invert__(self) -> Truth:
        return self._made(edge.LogicalNotOp)


class Real:
    """A tensor of f64 in a formula; all of one formula have one shape and layout. `narrow` says that the result will
    be rounded to another type.
    """

    def __init__(self, rewriter: PatternRewriter, value: SSAValue, *, narrow: bool):
        self.rewriter, self.value, self.narrow = rewriter, value, narrow

    def _made(self, cls: type[EdgeOp], *args: Any) -> Real:
        op = cls.make(*args, result_types=[self.value.type])
        return Real(self.rewriter, self.rewriter.insert(op).results[0], narrow=self.narrow)

    def _asked(self, cls: type[EdgeOp], *args: Any) -> Truth:
        type = tensor_type(self.value)
        flags = TensorType[Attribute](i1, type.get_shape(), type.encoding)
        op = cls.make(self.value, *args, result_types=[flags])
        return Truth(self.rewriter, self.rewriter.insert(op).results[0])

    # -- arithmetic

    def __add__(self, other: Real | float) -> Real:
        if isinstance(other, Real):
            return self._made(edge.AddTensorOp, self.value, other.value)
        return self._made(edge.AddScalarOp, self.value, float(other))

    __radd__ = __add__

    def __sub__(self, other: Real | float) -> Real:
        if isinstance(other, Real):
            return self._made(edge.SubTensorOp, self.value, other.value)
        return self + -other

    def __rsub__(self, other: float) -> Real:
        return self._made(edge.RsubScalarOp, self.value, float(other))

    def __mul__(self, other: Real | float) -> Real:
        if isinstance(other, Real):
            return self._made(edge.MulTensorOp, self.value, other.value)
        return self._made(edge.MulScalarOp, self.value, float(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Real | float) -> Real:
        if isinstance(other, Real):
            return self._made(edge.DivTensorOp, self.value, other.value)
        return self._made(edge.DivScalarOp, self.value, float(other))

    def __rtruediv__(self, other: float) -> Real:
        inverse = self._made(edge.ReciprocalOp, self.value)
        return inverse if other == 1 else inverse * other

    def __neg__(self) -> Real:
        return self._made(edge.NegOp, self.value)

    def __pow__(self, exponent: float) -> Real:
        return self._made(edge.PowTensorScalarOp, self.value, float(exponent))

    # -- functions that there are kernels for

    def size(self) -> Real:
        """|x|."""
        return self._made(edge.AbsOp, self.value)

    def exp(self) -> Real:
        return self._made(edge.ExpOp, self.value)

    def log(self) -> Real:
        return self._made(edge.LogOp, self.value)

    def sqrt(self) -> Real:
        return self._made(edge.SqrtOp, self.value)

    def sin(self) -> Real:
        return self._made(edge.SinOp, self.value)

    def cos(self) -> Real:
        return self._made(edge.CosOp, self.value)

    def tan(self) -> Real:
        return self._made(edge.TanOp, self.value)

    def round(self) -> Real:
        """The nearest whole number, the even one of two."""
        return self._made(edge.RoundOp, self.value)

    def as_single(self) -> Real:
        """Rounded to f32."""
        single = converted(self.value, f32, self.rewriter)
        return Real(self.rewriter, converted(single, f64, self.rewriter), narrow=self.narrow)

    def at_most(self, limit: float) -> Real:
        """The smaller one of x and a number; a NaN stays."""
        return self._made(edge.ClampOp, self.value, None, float(limit))

    def polynomial(self, coefficients: Sequence[float]) -> Real:
        """By Horner's scheme; the lowest coefficient first."""
        result = self * coefficients[-1] + coefficients[-2]
        for coefficient in coefficients[-3::-1]:
            result = result * self + coefficient
        return result

    # -- comparisons

    def __lt__(self, other: float) -> Truth:
        return self._asked(edge.LtScalarOp, float(other))

    def __le__(self, other: float) -> Truth:
        return self._asked(edge.LeScalarOp, float(other))

    def equals(self, other: float) -> Truth:
        """x == number."""
        return self._asked(edge.EqScalarOp, float(other))

    def filled(self, mask: Truth, number: float) -> Real:
        """A number where a mask holds."""
        return self._made(edge.MaskedFillScalarOp, self.value, mask.value, number)


def where(mask: Truth, first: Real, second: Real) -> Real:
    """One of two, by a mask."""
    op = edge.WhereSelfOp.make(mask.value, first.value, second.value, result_types=[first.value.type])
    return Real(first.rewriter, first.rewriter.insert(op).results[0], narrow=first.narrow)
