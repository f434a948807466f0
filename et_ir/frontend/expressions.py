"""Translation of sympy expressions of sizes into those of the IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from typing import Any, Final

from et_ops.sizes import Expression, Undecided

__all__ = ["expression_of"]

_LARGEST_POWER: Final = 8


@lru_cache(maxsize=4096)
def expression_of(expression: Any) -> Expression | None:
    """The expression of sympy in the words of the IR; `None` if it has none for it."""
    try:
        return _converted(expression)
    except Undecided:
        return None


def _converted(expression: Any) -> Expression:
    if expression.is_Symbol:
        return Expression.of(str(expression))
    if expression.is_Integer:
        return Expression.of(int(expression))
    function = _FUNCTIONS.get(type(expression).__name__)
    if function is None:
        raise Undecided(f"{expression} is no expression of sizes")
    return function(*map(_converted, expression.args))


def _power(base: Expression, exponent: Expression) -> Expression:
    power = exponent.constant
    if power is None or not 0 <= power <= _LARGEST_POWER:
        raise Undecided("a power of a size is too large")
    return reduce(Expression.__mul__, [base] * power, Expression.of(1))


def _digit(base: Expression, divisor: Expression, modulus: Expression) -> Expression:
    return (base // divisor) % modulus


_FUNCTIONS: Final[Mapping[str, Callable[..., Expression]]] = {
    "Add": lambda *terms: reduce(Expression.__add__, terms),
    "Mul": lambda *factors: reduce(Expression.__mul__, factors),
    "Pow": _power,
    "PowByNatural": _power,
    "FloorDiv": Expression.__floordiv__,
    "CleanDiv": Expression.__floordiv__,
    "Mod": Expression.__mod__,
    "PythonMod": Expression.__mod__,
    "ModularIndexing": _digit,
    "Max": Expression.maximum,
    "Min": Expression.minimum,
}
"""Functions by their classes in sympy and torch."""
