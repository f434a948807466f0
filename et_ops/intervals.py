"""Ranges of numbers and bounds of shapes. Any part of them may be unknown."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

__all__ = ["ANY", "Interval", "Sizes", "computed", "element_count", "largest", "smallest"]

Sizes = tuple[int | None, ...]
"""The largest size of each dimension; `None` where there is none."""


class Interval(NamedTuple):
    """The numbers from `least` to `most`, `None` where there is no such end."""

    least: int | None = None
    most: int | None = None

    def __and__(self, other: Interval) -> Interval:
        """The numbers that are in both."""
        return Interval(largest_known(self.least, other.least), smallest(self.most, other.most))


ANY = Interval()
TRUTH = Interval(0, 1)
"""The range of a boolean."""


def computed(function: str, *numbers: Interval) -> Interval:
    """The range of a function of `program.compute` on ranges; `ANY` where it is unknown."""
    match function, numbers:
        case "add", (a, b):
            return Interval(_plus(a.least, b.least), _plus(a.most, b.most))
        case "sub", (a, b):
            return computed("add", a, computed("neg", b))
        case "neg", (a,):
            return Interval(_negative(a.most), _negative(a.least))
        case "max", (a, b):
            return Interval(largest_known(a.least, b.least), largest(a.most, b.most))
        case "min", (a, b):
            least = None if None in (a.least, b.least) else smallest(a.least, b.least)
            return Interval(least, smallest(a.most, b.most))
        case "mul" | "floordiv", (a, b):
            return _at_corners(a, b, quotient=function == "floordiv")
        case "mod", (a, b) if b.least is not None and b.least > 0:
            if a.least is not None and a.least >= 0 and _below(a.most, b.least, 1):
                return a
            return Interval(0, None if b.most is None else b.most - 1)
        case "float" | "int" | "trunc" | "ceil" | "round", (a,):
            return a
        case "eq" | "lt" | "le" | "gt" | "ge", (a, b):
            return _compared(function, a, b)
        case "not", (a,):
            return _compared("eq", a, Interval(0, 0))
        case "ite", (condition, a, b):
            chosen = _compared("eq", condition, Interval(0, 0))
            if chosen != TRUTH:
                return b if chosen.least else a
            least = None if None in (a.least, b.least) else smallest(a.least, b.least)
            return Interval(least, largest(a.most, b.most))
        case "truediv", (a, b) if b.least is not None and b.least > 0:
            below, above = (
                computed("floordiv", a, b),
                computed("neg", computed("floordiv", computed("neg", a), b)),
            )
            return Interval(below.least, above.most)
        case _:
            return ANY


def _compared(function: str, a: Interval, b: Interval) -> Interval:
    """Whether a comparison holds for all numbers of two ranges, for none, or for some."""
    match function:
        case "gt" | "ge":
            return _compared("lt" if function == "gt" else "le", b, a)
        case "lt":
            always, never = _below(a.most, b.least, 1), _below(b.most, a.least, 0)
        case "le":
            always, never = _below(a.most, b.least, 0), _below(b.most, a.least, 1)
        case _:
            always = None not in (*a, *b) and a.least == a.most == b.least == b.most
            never = _below(a.most, b.least, 1) or _below(b.most, a.least, 1)
    return Interval(int(always), int(not never))


def _below(most: int | None, least: int | None, by: int) -> bool:
    """Whether what is at most `most` is less than what is at least `least`, by so much."""
    return most is not None and least is not None and most + by <= least


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _negative(a: int | None) -> int | None:
    return None if a is None else -a


def _at_corners(a: Interval, b: Interval, *, quotient: bool) -> Interval:
    """The range of a function that is monotonic in each number: of products, and of quotients of positive divisors."""
    if quotient and (b.least is None or b.least <= 0):
        return ANY
    corner = _quotient if quotient else _product
    corners = [corner(x, y) for x in _ends(a) for y in _ends(b)]
    least, most = min(corners), max(corners)
    return Interval(
        None if isinstance(least, float) else least,
        None if isinstance(most, float) else most,
    )


def _ends(numbers: Interval) -> tuple[int | float, int | float]:
    """Both ends of a range, infinite where there is none."""
    return -inf if numbers.least is None else numbers.least, inf if numbers.most is None else numbers.most


def _product(x: int | float, y: int | float) -> int | float:
    """The product of two ends of ranges; of a range that has no end and of 0 it is 0."""
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    return 0 if 0 in (x, y) else inf if (x > 0) == (y > 0) else -inf


def _quotient(x: int | float, y: int | float) -> int | float:
    """The floor quotient of two ends of ranges, of which the second is positive."""
    if isinstance(x, int) and isinstance(y, int):
        return x // y
    return x if isinstance(y, int) else -int(x < 0)


def smallest(*bounds: int | None) -> int | None:
    """The tightest of several upper bounds of one size."""
    return min((bound for bound in bounds if bound is not None), default=None)


def largest_known(*bounds: int | None) -> int | None:
    """The tightest of several lower bounds of one number."""
    return max((bound for bound in bounds if bound is not None), default=None)


def largest(*bounds: int | None) -> int | None:
    """An upper bound of the largest of several sizes."""
    return None if None in bounds else max((bound for bound in bounds if bound is not None), default=0)


def element_count(sizes: Iterable[int | None]) -> int | None:
    """An upper bound of the number of elements. No size matters beside one that is 0."""
    count: int | None = 1
    for size in sizes:
        if size == 0:
            return 0
        count = None if size is None or count is None else count * size
    return count
