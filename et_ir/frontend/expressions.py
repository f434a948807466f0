"""Translation of sympy expressions of sizes into those of the IR.

A graph that is traced for the call of an operator has symbols of its own, in the place of which come the call's sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, Final

from et_ir.dialects.schema.tensors import Size
from et_ir.frontend.roundings import ROUNDINGS, whole_number
from et_ops.sizes import Expression, Ranges, Undecided

__all__ = ["Translation", "expression_of", "translation_of_trace"]

Translation = Callable[[Any], Expression | None]
"""The expression of the IR for one of sympy, `None` where there is none."""

_LARGEST_POWER: Final = 8


@lru_cache(maxsize=4096)
def expression_of(expression: Any) -> Expression | None:
    """The expression of sympy in the words of the IR; `None` if it has none for it."""
    try:
        return _converted(expression)
    except Undecided:
        return None


def translation_of_trace(
    operands: Iterable[tuple[Sequence[Any], Sequence[Size]]], ranges: Ranges
) -> Translation:
    """That of a graph traced with symbols for the sizes of its operands, given these and the call's sizes.

    Torch took no symbol for 0 or 1. Where the call's size may be, sums of sizes hold nevertheless; the rest is unknown.
    """
    known: dict[str, Expression] = {}
    for shape, sizes in operands:
        for traced, size in zip(shape, sizes, strict=True):
            if isinstance(size, Expression) and type(traced) is not int and traced.node.expr.is_Symbol:
                known.setdefault(str(traced.node.expr), size)
    least = {name: size.interval(ranges).least for name, size in known.items()}

    def translated(expression: Any) -> Expression | None:
        found = expression_of(expression)
        if found is None or not found.symbols <= known.keys():
            return None
        if not found.is_sum and any((least[name] or 0) < 2 for name in found.symbols):
            return None
        try:
            return found.substituted(known)
        except Undecided:
            return None

    return translated


def _converted(expression: Any) -> Expression:
    if expression.is_Symbol:
        return Expression.of(str(expression))
    if expression.is_Integer:
        return Expression.of(int(expression))
    name = type(expression).__name__
    if name in ROUNDINGS:
        whole = whole_number(ROUNDINGS[name], expression.args[0])
        if whole is not None:
            return _converted(whole)
    function = _FUNCTIONS.get(name)
    if function is None:
        raise Undecided(f"{expression} is not an expression of sizes")
    return function(*map(_converted, expression.args))


def _power(base: Expression, exponent: Expression) -> Expression:
    power = exponent.constant
    if power is None or not 0 <= power <= _LARGEST_POWER:
        raise Undecided("a power of a size is too large")
    return reduce(Expression.__mul__, [base] * power, Expression.of(1))


def _magnitude(number: Expression) -> Expression:
    return number.maximum(-number)


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
    "Abs": _magnitude,
    "Identity": Expression.of,
    "Max": Expression.maximum,
    "Min": Expression.minimum,
}
"""Functions by their classes in sympy and torch."""
