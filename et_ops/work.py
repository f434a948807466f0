"""Arithmetic of operators, counted from the sizes of their operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from et_ops.library import Operator

__all__ = ["Sizes", "is_transposed", "multiply_adds", "operations"]

Sizes = Callable[[str], Sequence[int] | None]
"""The sizes of a tensor by the argument's name; None where it is not given."""


def is_transposed(operator: Operator, argument: Callable[[str], object]) -> bool:
    """Whether a call is of a transposed convolution. `argument` gives the value of an argument by its name."""
    if operator.facts.convolves is None:
        return False
    by_argument = "transposed" in operator.schema.by_name and argument("transposed") is True
    return by_argument or "transpose" in operator.overload_name


def multiply_adds(operator: Operator, sizes: Sizes, made: int, *, transposed: bool = False) -> int | None:
    """The multiply-adds of a product or a convolution, None for other operators.

    Args:
        operator: the operator.
        sizes: those of its operands.
        made: the number of elements of its result.
        transposed: whether it is a transposed convolution.
    """
    facts = operator.facts
    if facts.contracts is not None:
        return made * next(iter((sizes(facts.contracts) or ())[-1:]), 1)
    if facts.convolves is not None:
        filters = sizes(facts.convolves) or ()
        # Each element of a transposed convolution's input meets as many weights as its outputs do otherwise.
        met = prod(sizes("input") or ()) if transposed else made
        return met * prod(filters[1:])
    return None


def operations(operator: Operator, sizes: Sizes, made: int, *, transposed: bool = False) -> int | None:
    """Operations of a call, two for each multiply-add; None where there is no formula.

    The arguments are those of `multiply_adds`.
    """
    products = multiply_adds(operator, sizes, made, transposed=transposed)
    if products is None:
        return made if operator.facts.is_simple else None
    addend = operator.facts.addend
    return 2 * products + (made if addend is not None and sizes(addend) is not None else 0)
