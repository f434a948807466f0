"""Arithmetic on sizes in graphs of torch: calls of Python's operators, and of torch's functions on symbolic numbers.

What no runtime has as a primitive is written with those that are, to the number that Python gives: the remainder has
the sign of the divisor, a negative power of a whole number is a fraction. Where that is not enough, as for roots, a
kernel computes it on a tensor without dimensions, in f64 or i64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final, cast

from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.dialects.program import FUNCTIONS, ComputeOp, LiteralOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import literal_of

__all__ = ["SizeArithmetic"]

Number = int | float | SSAValue

_ON_TENSORS: Final[dict[str, type[SchemaOp]]] = {
    "sqrt": aten.SqrtOp,
    "exp": aten.ExpOp,
    "log": aten.LogOp,
    "log2": aten.Log2Op,
    "sin": aten.SinOp,
    "cos": aten.CosOp,
    "tan": aten.TanOp,
    "asin": aten.AsinOp,
    "acos": aten.AcosOp,
    "atan": aten.AtanOp,
    "sinh": aten.SinhOp,
    "cosh": aten.CoshOp,
    "tanh": aten.TanhOp,
}
"""Functions of one number that kernels compute."""
_ROUNDINGS: Final = frozenset({"ceil", "floor", "trunc", "round"})
_EXPONENT_BITS: Final = 7
"""The number of significant bits of an exponent: no power beyond 2**64 fits 64 bits."""


class SizeArithmetic:
    """Builds what computes a number; each op is given to `place`."""

    def __init__(self, place: Callable[[Operation], None]):
        self.place = place

    def call(self, name: str, arguments: Sequence[Any]) -> SSAValue | None:
        """The result of a function by its name in Python; `None` where it is none that can be computed."""
        if name == "round" and len(arguments) == 2 and arguments[1] is None:
            arguments = arguments[:1]
        return self._call(name.removeprefix("_").removeprefix("sym_").removesuffix("_"), arguments)

    def _call(self, name: str, arguments: Sequence[Any]) -> SSAValue | None:
        if name == "sum" and len(arguments) == 1 and arguments[0]:
            terms = [self._number(term) for term in cast("Sequence[Number]", arguments[0])]
            return reduce(lambda total, term: self._apply("add", total, term), terms)
        values = [self._value(argument) for argument in arguments]
        match name, values:
            case "ite", (condition, a, b) if condition.type == i1:
                return self._select(condition, a, b)
            case "eq" | "ne", (a, b):
                return self._equal(name, a, b)
            case "and" | "or", (a, b) if a.type == b.type == i1:
                return self._select(a, b, False) if name == "and" else self._select(a, True, b)
            case "float" | "int", (a,):
                return self._apply(name, a)
            case "not", (a,) if a.type == i1:
                return self._apply("not", a)
            case _:
                return self._arithmetic(name, [self._number(value) for value in values])

    def _arithmetic(self, name: str, numbers: Sequence[SSAValue]) -> SSAValue | None:
        """A function of integers and floats."""
        whole = all(number.type == i64 for number in numbers)
        match name, numbers:
            case "mod", (a, b):
                return self._remainder(a, b) if whole else self._on_tensors(aten.RemainderTensorOp, f64, a, b)
            case "pow", (a, b):
                return self._power(a, b) if whole else self._float_power(a, b)
            case "abs", (a,) if whole:
                return self._apply("max", a, self._apply("neg", a))
            case "abs", (a,):
                return self._select(self._apply("le", a, 0.0), self._apply("sub", 0.0, a), a)
            case "min" | "max", (a, b) if not whole:
                a, b = self._apply("float", a), self._apply("float", b)
                return self._select(self._apply("lt" if name == "min" else "gt", b, a), b, a)
            case "lshift" | "rshift", (a, b) if whole:
                return self._apply(
                    "mul" if name == "lshift" else "floordiv", a, self._power(self._value(2), b)
                )
            case "and" | "or", (a, b) if whole:
                op = aten.BitwiseAndTensorOp if name == "and" else aten.BitwiseOrTensorOp
                return self._on_tensors(op, i64, a, b)
            case _, (a,) if name in _ROUNDINGS:
                return a if whole else self._rounded(name, a)
            case _, (a,) if name in _ON_TENSORS:
                return self._on_tensors(_ON_TENSORS[name], f64, a)
            case _ if name in FUNCTIONS and FUNCTIONS[name].takes([number.type for number in numbers]):
                return self._apply(name, *numbers)
            case _:
                return None

    # -- functions of several primitives

    def _equal(self, name: str, a: SSAValue, b: SSAValue) -> SSAValue:
        if a.type != b.type and i1 in (a.type, b.type):
            a, b = self._number(a), self._number(b)
        equal = self._apply("eq", a, b)
        return equal if name == "eq" else self._apply("not", equal)

    def _remainder(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._apply("sub", a, self._apply("mul", self._apply("floordiv", a, b), b))

    def _rounded(self, name: str, a: SSAValue) -> SSAValue:
        if name == "floor":
            return self._apply("neg", self._apply("ceil", self._apply("neg", a)))
        return self._apply(name, a)

    def _select(self, condition: SSAValue, a: Number, b: Number) -> SSAValue:
        """One of two numbers, which become of one type."""
        values = [self._value(a), self._value(b)]
        types = {value.type for value in values}
        if len(types) == 2:
            kind = "float" if f64 in types else "int"
            values = [self._apply(kind, value) for value in values]
        return self._apply("ite", condition, *values)

    def _power(self, base: SSAValue, exponent: SSAValue) -> SSAValue:
        """A power of a whole number, by squares. Negative exponents that are known give fractions."""
        known = _known(exponent)
        if isinstance(known, int):
            squares = self._product(base, abs(known))
            return squares if known >= 0 else self._apply("truediv", 1.0, squares)
        # Beyond that all powers but those of -1, 0 and 1 are too large; they depend on whether it is odd.
        odd = self._remainder(exponent, self._value(2))
        limit = self._value(2 ** (_EXPONENT_BITS - 1))
        left = self._apply("min", exponent, self._apply("add", limit, odd))
        power = self._value(1)
        for bit in range(_EXPONENT_BITS):
            if bit:
                # A square that no further bit asks for may be too large for 64 bits.
                base = self._select(self._apply("gt", left, 0), base, 1)
                base = self._apply("mul", base, base)
            odd = self._apply("eq", self._remainder(left, self._value(2)), 1)
            power = self._apply("mul", power, self._select(odd, base, 1))
            left = self._apply("floordiv", left, 2)
        return power

    def _product(self, base: SSAValue, exponent: int) -> SSAValue:
        if exponent == 0:
            return self._value(1)
        half = self._product(base, exponent // 2) if exponent > 1 else None
        square = base if half is None else self._apply("mul", half, half)
        return self._apply("mul", square, base) if exponent > 1 and exponent % 2 else square

    def _float_power(self, base: SSAValue, exponent: SSAValue) -> SSAValue:
        base = self._apply("float", base)
        match _known(exponent):
            case 1:
                return base
            case 2:
                return self._apply("mul", base, base)
            case -1:
                return self._apply("truediv", 1.0, base)
            case _:
                return self._on_tensors(aten.PowTensorTensorOp, f64, base, exponent)

    def _on_tensors(self, cls: type[SchemaOp], dtype: Attribute, *numbers: SSAValue) -> SSAValue:
        """The result of a kernel on tensors that hold the numbers."""
        tensors = [self._placed(aten.FullOp.make((), number, dtype=dtype)) for number in numbers]
        return self._placed(aten.UnderscoreLocalScalarDenseOp.make(self._placed(cls.make(*tensors))))

    # -- ops

    def _apply(self, function: str, *arguments: Number) -> SSAValue:
        return self._placed(ComputeOp(function, [self._value(argument) for argument in arguments]))

    def _placed(self, op: Operation) -> SSAValue:
        self.place(op)
        return op.results[0]

    def _number(self, number: Number) -> SSAValue:
        """An integer or float; what is true counts 1."""
        value = self._value(number)
        return self._apply("int", value) if value.type == i1 else value

    def _value(self, number: Number) -> SSAValue:
        return number if isinstance(number, SSAValue) else self._placed(LiteralOp(number))


def _known(value: SSAValue) -> int | float | None:
    """The number of a literal."""
    number = literal_of(value.owner.value) if isinstance(value.owner, LiteralOp) else None
    return number if isinstance(number, int | float) else None
