"""Arithmetic on sizes in graphs of torch: calls of Python's operators, and of torch's functions on symbolic numbers.

Those that no runtime has are written with others: the remainder has the sign of the divisor, as in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final, cast

from xdsl.ir import Operation, SSAValue

from et_ir.dialects.program import FUNCTIONS, ComputeOp, LiteralOp

__all__ = ["SizeArithmetic"]

_LARGEST_POWER: Final = 8
"""Up to which powers are products."""

Number = int | float | SSAValue


class SizeArithmetic:
    """Builds what computes a number; each op is given to `place`."""

    def __init__(self, place: Callable[[Operation], None]):
        self.place = place

    def call(self, name: str, arguments: Sequence[Any]) -> SSAValue | None:
        """The result of a function by its name in Python; `None` where it is none that can be computed."""
        match name.removeprefix("sym_"), arguments:
            case "mod", (a, b):
                return self._apply("sub", a, self._apply("mul", self._apply("floordiv", a, b), b))
            case "floor", (a,):
                return self._apply("int", self._apply("floordiv", a, 1.0))
            case "pow", (a, int(exponent)) if 1 <= exponent <= _LARGEST_POWER:
                return self._value(
                    reduce(lambda power, _: self._apply("mul", power, a), range(exponent - 1), a)
                )
            case "sum", (list() | tuple(),) if arguments[0]:
                terms = cast("Sequence[Number]", arguments[0])
                return self._value(reduce(lambda total, term: self._apply("add", total, term), terms))
            case function, _ if function in FUNCTIONS and FUNCTIONS[function].arity == len(arguments):
                return self._apply(function, *arguments)
            case _:
                return None

    def _apply(self, function: str, *arguments: Number) -> SSAValue:
        op = ComputeOp(function, [self._value(argument) for argument in arguments])
        self.place(op)
        return op.result

    def _value(self, number: Number) -> SSAValue:
        if isinstance(number, SSAValue):
            return number
        literal = LiteralOp(number)
        self.place(literal)
        return literal.result
