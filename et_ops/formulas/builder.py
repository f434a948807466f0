"""Interface by which formulas make arithmetic: of arrays, of a back end's nodes, of a kernel's instructions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeAlias, TypeVar, cast

from et_ops.formulas.registry import FORMULAS

__all__ = ["Builder", "LacksFunction", "Literal", "Value", "lacking"]

Value = TypeVar("Value")
Literal: TypeAlias = float | str | None
"""An argument that is no tensor: numbers and bools, a mode, or none."""

_LITERALS = (bool, int, float, str, type(None))


class LacksFunction(Exception):
    """A function that a back end has not, nor what it could be made of. The message is its name."""


class Builder(ABC, Generic[Value]):
    """Arithmetic on values of floats.

    A back end says which functions it has (`native`) and how it writes a number (`number`). All others are made of
    these by the formulas of the library. Functions have the names and the semantics of torch's operators; `add`, `lt`
    and `select` are those of two tensors, without `alpha`, and `where`. They broadcast, and a NaN stays one.
    """

    def __init__(self) -> None:
        self._expanded: list[str] = []

    @abstractmethod
    def number(self, value: float, like: Value) -> Value:
        """A number of the element type of a value, which broadcasts with it."""

    @abstractmethod
    def native(self, name: str, literals: Sequence[Literal]) -> Callable[..., Value] | None:
        """The back end's own function of a name, with the arguments that are no tensors in the schema's order.

        It takes the tensors. None without such a function, or where it takes other arguments only.
        """

    def operator(self, name: str, *arguments: Value | Literal) -> Value:
        """An operator, by the back end's own function or else by a formula. Raises `LacksFunction`."""
        values = [cast("Value", one) for one in arguments if not isinstance(one, _LITERALS)]
        literals = [one for one in arguments if isinstance(one, _LITERALS)]
        made = self.native(name, literals)
        if made is not None:
            return made(*values)
        if name in self._expanded:
            raise LacksFunction(name)
        self._expanded.append(name)
        try:
            return self._formula(name, arguments)(self, *arguments)
        finally:
            self._expanded.pop()

    def _formula(self, name: str, arguments: Sequence[Value | Literal]) -> Callable[..., Value]:
        """The first of the formulas of an operator of which all is there."""
        found = FORMULAS.get(name)
        if found is None:
            raise LacksFunction(name)
        first, *others = found.ways
        if not others:
            return first
        reasons: list[LacksFunction] = []
        for way in found.ways:
            try:
                way(_Trial(self.native, self._expanded), *map(_placeholder, arguments))
            except LacksFunction as reason:
                reasons.append(reason)
            else:
                return way
        raise reasons[0]

    def value(self, given: Value | float, like: Value) -> Value:
        """A value, or a number as one."""
        return self.number(float(given), like) if isinstance(given, (bool, int, float)) else given

    def _binary(self, name: str, x: Value, y: Value | float) -> Value:
        return self.operator(name, x, self.value(y, x))

    # -- arithmetic

    def add(self, x: Value, y: Value | float) -> Value:
        return self._binary("add", x, y)

    def sub(self, x: Value, y: Value | float) -> Value:
        return self._binary("sub", x, y)

    def mul(self, x: Value, y: Value | float) -> Value:
        return self._binary("mul", x, y)

    def div(self, x: Value, y: Value | float) -> Value:
        return self._binary("div", x, y)

    def neg(self, x: Value) -> Value:
        return self.operator("neg", x)

    def abs(self, x: Value) -> Value:
        return self.operator("abs", x)

    def copysign(self, size: Value, sign: Value) -> Value:
        """A size that is not negative, with the sign of another value, also of -0.0."""
        return self.operator("copysign", size, sign)

    def reciprocal(self, x: Value) -> Value:
        return self.operator("reciprocal", x)

    def maximum(self, x: Value, y: Value | float) -> Value:
        """The larger one; a NaN where one of both is."""
        return self._binary("maximum", x, y)

    def minimum(self, x: Value, y: Value | float) -> Value:
        """The smaller one; a NaN where one of both is."""
        return self._binary("minimum", x, y)

    def clamp(self, x: Value, low: float | None, high: float | None) -> Value:
        """Between bounds, and the upper one where they cross; a NaN stays one."""
        return self.operator("clamp", x, low, high)

    def floor(self, x: Value) -> Value:
        return self.operator("floor", x)

    def ceil(self, x: Value) -> Value:
        return self.operator("ceil", x)

    def trunc(self, x: Value) -> Value:
        return self.operator("trunc", x)

    # -- functions

    def exp(self, x: Value) -> Value:
        return self.operator("exp", x)

    def expm1(self, x: Value) -> Value:
        """`exp(x) - 1`, exact near zero."""
        return self.operator("expm1", x)

    def log(self, x: Value) -> Value:
        return self.operator("log", x)

    def log1p(self, x: Value) -> Value:
        """`log(1 + x)`, exact near zero."""
        return self.operator("log1p", x)

    def pow(self, x: Value, y: Value | float) -> Value:
        return self._binary("pow", x, y)

    def square(self, x: Value) -> Value:
        return self.operator("square", x)

    def sqrt(self, x: Value) -> Value:
        return self.operator("sqrt", x)

    def rsqrt(self, x: Value) -> Value:
        return self.operator("rsqrt", x)

    def sin(self, x: Value) -> Value:
        return self.operator("sin", x)

    def cos(self, x: Value) -> Value:
        return self.operator("cos", x)

    def tanh(self, x: Value) -> Value:
        return self.operator("tanh", x)

    def erf(self, x: Value) -> Value:
        return self.operator("erf", x)

    def sigmoid(self, x: Value) -> Value:
        return self.operator("sigmoid", x)

    # -- comparisons, which give masks, and selection by them

    def eq(self, x: Value, y: Value | float) -> Value:
        return self._binary("eq", x, y)

    def ne(self, x: Value, y: Value | float) -> Value:
        """Whether two values differ: a NaN does from all, itself too."""
        return self._binary("ne", x, y)

    def lt(self, x: Value, y: Value | float) -> Value:
        return self._binary("lt", x, y)

    def le(self, x: Value, y: Value | float) -> Value:
        return self._binary("le", x, y)

    def gt(self, x: Value, y: Value | float) -> Value:
        return self._binary("gt", x, y)

    def ge(self, x: Value, y: Value | float) -> Value:
        return self._binary("ge", x, y)

    def select(self, mask: Value, yes: Value, no: Value) -> Value:
        """`yes` where a mask holds, `no` elsewhere, whatever the other one is there."""
        return self.operator("select", mask, yes, no)


class _Trial(Builder[object]):
    """A builder that makes nothing: it has what another one has."""

    def __init__(
        self,
        native: Callable[[str, Sequence[Literal]], Callable[..., object] | None],
        expanded: Sequence[str] = (),
    ):
        super().__init__()
        self._native = native
        self._expanded = list(expanded)

    def number(self, value: float, like: object) -> object:
        return _VALUE

    def native(self, name: str, literals: Sequence[Literal]) -> Callable[..., object] | None:
        return None if self._native(name, literals) is None else lambda *_: _VALUE


_VALUE = object()


def _placeholder(argument: object) -> object:
    return argument if isinstance(argument, _LITERALS) else _VALUE


def lacking(
    native: Callable[[str, Sequence[Literal]], Callable[..., object] | None],
    name: str,
    arguments: Sequence[object],
) -> str | None:
    """The function for lack of which a back end cannot compute an operator; None if it can.

    `arguments` are literals, and anything else for tensors.
    """
    try:
        _Trial(native).operator(name, *map(_placeholder, arguments))
    except LacksFunction as reason:
        return str(reason)
    return None
