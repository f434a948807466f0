"""Symbolic tensor sizes: integer expressions of named symbols.

They are in types what `torch.export` knows of a size: `s0`, `2*s0 + 1`. Expressions are polynomials over symbols, and
over quotients, remainders, maxima and minima of expressions, in a normal form, so that equal ones are found to be equal
in most cases. `SymbolicSize` stands for one in a shape rule, which computes with it as with a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, reduce
from typing import Any, Final, NamedTuple, cast

from et_ops.intervals import ANY, Interval, computed

__all__ = [
    "Expression",
    "Ranges",
    "SymbolicSize",
    "Undecided",
    "exact_quotient",
    "maximum",
    "minimum",
    "unequal",
]

Ranges = Mapping[str, Interval]
"""The ranges of the symbols of a method."""

_MOST_TERMS: Final = 64
"""Products of longer sums are of no use to anyone."""


_MOST_FACTORS: Final = 64
"""Factors of a product: tensors have fewer dimensions."""


class Undecided(Exception):
    """Whether sizes compare in some way depends on their values."""


class _Application(NamedTuple):
    """A function of expressions that is no polynomial."""

    function: str
    operands: tuple[Expression, ...]

    def __str__(self) -> str:
        if self.function in _INFIX:
            left, right = (str(each) if each.is_simple else f"({each})" for each in self.operands)
            return f"{left} {self.function} {right}"
        return f"{self.function}({', '.join(map(str, self.operands))})"


_INFIX: Final = ("floordiv", "mod")

_Atom = str | _Application
_Monomial = tuple[_Atom, ...]


def _is_closed(atom: _Atom) -> bool:
    """Whether the text of an atom needs no parentheses in a product."""
    return isinstance(atom, str) or atom.function not in _INFIX


def _order(monomial: _Monomial) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Terms of a high degree first, and short names before long ones: `s2` before `s10`."""
    return -len(monomial), tuple((len(str(atom)), str(atom)) for atom in monomial)


class Expression:
    """A sum of products of symbols and applications, with integer coefficients. Immutable; equal if written alike.

    The operators `+ - * // %` and the methods `maximum` and `minimum` are those of integers. Division by what may be
    0 is the caller's to avoid.
    """

    __slots__ = ("__dict__", "terms")

    def __init__(self, terms: Mapping[_Monomial, int]):
        if len(terms) > _MOST_TERMS:
            raise Undecided("the expression has too many terms")
        self.terms: Final = tuple(
            (monomial, factor)
            for monomial, factor in sorted(terms.items(), key=lambda term: _order(term[0]))
            if factor
        )

    @staticmethod
    def of(value: int | str | Expression) -> Expression:
        """That of a number, or of the name of a symbol."""
        if isinstance(value, Expression):
            return value
        return Expression({(value,): 1} if isinstance(value, str) else {(): value})

    # -- what it is

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.terms == other.terms

    @cached_property
    def _hash(self) -> int:
        return hash(self.terms)

    def __hash__(self) -> int:
        return self._hash

    @property
    def constant(self) -> int | None:
        """The number that it is, `None` if it is none."""
        match self.terms:
            case ():
                return 0
            case (((), number),):
                return number
            case _:
                return None

    @property
    def symbol(self) -> str | None:
        """The name of the symbol that it is, `None` if it is none."""
        match self.terms:
            case ((((str() as name),), 1),):
                return name
            case _:
                return None

    @property
    def is_simple(self) -> bool:
        """Whether it is a symbol, a number from 0 on, or a function that is written with parentheses."""
        match self.terms:
            case (((atom,), 1),):
                return _is_closed(atom)
            case _:
                return (self.constant or 0) >= 0 and self.constant is not None

    @property
    def is_polynomial(self) -> bool:
        """Whether it is a sum of products of symbols, some of which may be subtracted."""
        return all(isinstance(atom, str) for monomial, _ in self.terms for atom in monomial)

    @property
    def is_sum(self) -> bool:
        """Whether it is a sum of products of symbols, none of which is subtracted."""
        return self.is_polynomial and all(factor >= 0 for _, factor in self.terms)

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The names of the symbols in it."""
        found: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, str):
                    found.add(atom)
                else:
                    found.update(*(operand.symbols for operand in atom.operands))
        return frozenset(found)

    @cached_property
    def _text(self) -> str:
        parts: list[str] = []
        for monomial, factor in self.terms:
            alone = (len(self.terms), len(monomial), factor) == (1, 1, 1)
            factors = [str(atom) if alone or _is_closed(atom) else f"({atom})" for atom in monomial]
            if abs(factor) != 1 or not monomial:
                factors.insert(0, str(abs(factor)))
            sign = "-" if factor < 0 else "+"
            parts.append(
                f" {sign} {'*'.join(factors)}" if parts else f"{sign}{'*'.join(factors)}".removeprefix("+")
            )
        return "".join(parts) or "0"

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Expression({self})"

    # -- arithmetic

    def __add__(self, other: Expression | int) -> Expression:
        terms = dict(self.terms)
        for monomial, factor in Expression.of(other).terms:
            terms[monomial] = terms.get(monomial, 0) + factor
        return Expression(terms)

    def __neg__(self) -> Expression:
        return Expression({monomial: -factor for monomial, factor in self.terms})

    def __sub__(self, other: Expression | int) -> Expression:
        return self + -Expression.of(other)

    def __mul__(self, other: Expression | int) -> Expression:
        terms: dict[_Monomial, int] = {}
        for left, a in self.terms:
            for right, b in Expression.of(other).terms:
                if len(left) + len(right) > _MOST_FACTORS:
                    raise Undecided("the expression has too many factors")
                product = tuple(sorted((*left, *right), key=lambda atom: (len(str(atom)), str(atom))))
                terms[product] = terms.get(product, 0) + a * b
        return Expression(terms)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Expression | int) -> Expression:
        return -self + other

    def __floordiv__(self, other: Expression | int) -> Expression:
        other = Expression.of(other)
        by = other.constant
        if by is None or by <= 0:
            mine = self.constant
            if by and mine is not None:
                return Expression.of(mine // by)
            return _applied("floordiv", self, other)
        whole, rest = self._divided(by)
        return whole if not rest.terms else whole + _quotient(rest, by)

    def __mod__(self, other: Expression | int) -> Expression:
        other = Expression.of(other)
        by = other.constant
        if by is None or by <= 0:
            mine = self.constant
            if by and mine is not None:
                return Expression.of(mine % by)
            return _applied("mod", self, other)
        _, rest = self._divided(by)
        number = rest.constant
        return _applied("mod", rest, other) if number is None else Expression.of(number)

    def _divided(self, by: int) -> tuple[Expression, Expression]:
        """The quotient by a positive number as far as it comes out term by term, and what remains."""
        whole = {monomial: factor // by for monomial, factor in self.terms}
        return Expression(whole), Expression({monomial: factor % by for monomial, factor in self.terms})

    def divided_by(self, other: Expression) -> Expression | None:
        """The quotient by an expression that is not 0, if there is one for all values of the symbols."""
        if len(other.terms) != 1:
            return Expression.of(1) if self == other else None
        ((divisor, by),) = other.terms
        found: dict[_Monomial, int] = {}
        for monomial, factor in self.terms:
            rest = list(monomial)
            for atom in divisor:
                if atom not in rest:
                    return None
                rest.remove(atom)
            if factor % by:
                return None
            found[tuple(rest)] = factor // by
        return Expression(found)

    def maximum(self, *others: Expression) -> Expression:
        """The largest of several."""
        return _extreme("max", (self, *others))

    def minimum(self, *others: Expression) -> Expression:
        """The smallest of several."""
        return _extreme("min", (self, *others))

    # -- values

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The number for numbers in the place of the symbols. Raises `KeyError` and `ZeroDivisionError`."""
        return self.folded(values.__getitem__, int, _computed)

    def interval(self, ranges: Ranges) -> Interval:
        """The range of the expression; a symbol without a range can be anything."""
        return self.folded(
            lambda name: ranges.get(name, ANY),
            lambda number: Interval(number, number),
            computed,
        )

    def substituted(self, values: Mapping[str, Expression]) -> Expression:
        """The expression with others in the place of its symbols. Raises `KeyError` and `Undecided`."""
        return self.folded(values.__getitem__, Expression.of, _computed)

    def folded(
        self, symbol: Callable[[str], Any], number: Callable[[int], Any], apply: Callable[..., Any]
    ) -> Any:
        """The value for those of symbols and numbers, given what functions of such values are."""

        def atom(found: _Atom) -> Any:
            if isinstance(found, str):
                return symbol(found)
            operands = (operand.folded(symbol, number, apply) for operand in found.operands)
            return reduce(lambda a, b: apply(found.function, a, b), operands)

        total = number(0)
        for monomial, factor in self.terms:
            product = number(factor)
            for each in monomial:
                product = apply("mul", product, atom(each))
            total = apply("add", total, product)
        return total


def _computed(function: str, a: Any, b: Any) -> Any:
    """A function of two numbers or of two expressions."""
    match function:
        case "add":
            return a + b
        case "mul":
            return a * b
        case "floordiv":
            return a // b
        case "mod":
            return a % b
        case "max":
            return max(a, b) if isinstance(a, int) else a.maximum(b)
        case _:
            return min(a, b) if isinstance(a, int) else a.minimum(b)


def _applied(function: str, *operands: Expression) -> Expression:
    return Expression({(_Application(function, operands),): 1})


def _quotient(dividend: Expression, by: int) -> Expression:
    number = dividend.constant
    if number is not None:
        return Expression.of(number // by)
    match dividend.terms:
        case (((_Application(function="floordiv", operands=(inner, divisor)),), 1),) if (
            divisor.constant or 0
        ) > 0:
            return inner // (divisor * by)
        case _:
            return _applied("floordiv", dividend, Expression.of(by))


def _extreme(function: str, operands: Iterable[Expression]) -> Expression:
    chosen = max if function == "max" else min
    known: list[int] = []
    others: set[Expression] = set()
    for operand in operands:
        match operand.terms:
            case (((_Application(function=same, operands=inner),), 1),) if same == function:
                parts = inner
            case _:
                parts = (operand,)
        for part in parts:
            if part.constant is None:
                others.add(part)
            else:
                known.append(part.constant)
    if known:
        others.add(Expression.of(chosen(known)))
    if len(others) == 1:
        return others.pop()
    return _applied(
        function, *sorted(others, key=lambda each: (each.constant is not None, len(str(each)), str(each)))
    )


# -- in shape rules


class SymbolicSize:
    """A size in a shape rule that is an expression of symbols, and not negative.

    It computes as a number does; where both operands are numbers in the end, so is the result. Comparisons have an
    answer if it is the same for all values in the symbols' ranges, and raise `Undecided` if not; so does all that would
    need the number itself: indexing, hashing, true division.
    """

    __slots__ = ("expression", "ranges")

    def __init__(self, expression: Expression, ranges: Ranges):
        self.expression = expression
        self.ranges = ranges

    @staticmethod
    def of(expression: Expression, ranges: Ranges) -> Any:
        """The size of an expression, as a rule takes it: a number if it is one."""
        number = expression.constant
        return SymbolicSize(expression, ranges) if number is None else number

    def _with(self, other: object, function: Callable[[Expression, Expression], Expression]) -> Any:
        return self.of(function(self.expression, _expression(other)), self.ranges)

    def __add__(self, other: object) -> Any:
        return self._with(other, Expression.__add__)

    def __sub__(self, other: object) -> Any:
        return self._with(other, Expression.__sub__)

    def __rsub__(self, other: object) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: object) -> Any:
        return self._with(other, Expression.__mul__)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return SymbolicSize(-self.expression, self.ranges)

    def __floordiv__(self, other: object) -> Any:
        return self._with(other, self._quotient)

    def __rfloordiv__(self, other: object) -> Any:
        return self._with(other, lambda a, b: self._quotient(b, a))

    def __mod__(self, other: object) -> Any:
        return self._with(other, self._remainder)

    def __rmod__(self, other: object) -> Any:
        return self._with(other, lambda a, b: self._remainder(b, a))

    def __pow__(self, other: object) -> Any:
        if type(other) is not int or other < 0:
            raise Undecided
        return reduce(lambda product, _: product * self, range(other), cast(Any, 1))

    def _quotient(self, a: Expression, b: Expression) -> Expression:
        self._divisor(b)
        exact = a.divided_by(b)
        return a // b if exact is None else exact

    def _remainder(self, a: Expression, b: Expression) -> Expression:
        self._divisor(b)
        return a % b if a.divided_by(b) is None else Expression.of(0)

    def _divisor(self, divisor: Expression) -> None:
        least = divisor.interval(self.ranges).least
        if divisor.constant == 0:
            raise ZeroDivisionError
        if least is None or least <= 0:
            raise Undecided

    # -- comparisons

    def _difference(self, other: object) -> Interval:
        theirs = _expression(other)
        difference = (self.expression - theirs).interval(self.ranges)
        number = theirs.constant
        # No size is negative.
        return difference if number is None else difference & Interval(-number, None)

    def __eq__(self, other: object) -> bool:
        if other is None or isinstance(other, str):
            return False
        least, most = self._difference(other)
        if least == most == 0:
            return True
        if (least is not None and least > 0) or (most is not None and most < 0):
            return False
        raise Undecided

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return self._below(other, 0)

    def __le__(self, other: object) -> bool:
        return self._below(other, 1)

    def __gt__(self, other: object) -> bool:
        return not self <= other

    def __ge__(self, other: object) -> bool:
        return not self < other

    def _below(self, other: object, by: int) -> bool:
        least, most = self._difference(other)
        if most is not None and most < by:
            return True
        if least is not None and least >= by:
            return False
        raise Undecided

    def __bool__(self) -> bool:
        return self != 0

    def _number(self, *_: object) -> Any:
        raise Undecided

    def __hash__(self) -> int:
        raise Undecided

    __index__ = __int__ = __float__ = __truediv__ = __rtruediv__ = _number
    __abs__ = __round__ = __rpow__ = __divmod__ = __rdivmod__ = _number

    def __repr__(self) -> str:
        return str(self.expression)


def _expression(value: object) -> Expression:
    if isinstance(value, SymbolicSize):
        return value.expression
    if isinstance(value, int):
        return Expression.of(int(value))
    raise Undecided


def unequal(a: Any, b: Any) -> bool:
    """Whether two sizes differ, whatever the values of their symbols."""
    try:
        return a != b
    except Undecided:
        return False


def exact_quotient(a: Any, b: Any) -> Any:
    """The quotient of two sizes, `None` where the second is 0 or does not divide the first.

    Of expressions it is what they come to in every run in which the second does. Raises `Undecided`.
    """
    if isinstance(a, int) and isinstance(b, int):
        return None if b == 0 or a % b else a // b
    found = _expression(a).divided_by(_expression(b))
    if found is None:
        return a // b
    return SymbolicSize.of(found, (a if isinstance(a, SymbolicSize) else b).ranges)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two sizes, which may be an expression of both."""
    return _chosen(a, b, Expression.maximum, lambda: a if a >= b else b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two sizes, which may be an expression of both."""
    return _chosen(a, b, Expression.minimum, lambda: a if a <= b else b)


def _chosen(a: Any, b: Any, function: Callable[..., Expression], decide: Callable[[], Any]) -> Any:
    try:
        return decide()
    except Undecided:
        ranges = next(each.ranges for each in (a, b) if isinstance(each, SymbolicSize))
        return SymbolicSize.of(function(_expression(a), _expression(b)), ranges)
