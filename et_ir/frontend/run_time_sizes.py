"""Sizes that are known at run time only, in graphs of torch.

A size is a symbol, or computed from symbols. One that is computed is read off a tensor that has it, or, in a view,
left for the view to make out: so shapes need no arithmetic while the program runs. Only what no tensor has is computed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, Final, cast

import sympy
import torch
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StrictMinMaxConstraint
from torch.utils._sympy import numbers
from torch.utils._sympy.value_ranges import ValueRanges
from xdsl.ir import SSAValue

from et_ir.frontend.ranges import range_of
from et_ops.intervals import ANY, Interval
from et_ops.sizes import Expression, Ranges

__all__ = [
    "Like",
    "Numbering",
    "SizedTensors",
    "SymbolicSizes",
    "UnknownNumber",
    "expression",
    "numberings",
]


# It has no types that a checker could follow.
_sympy: Any = cast(Any, sympy)


def expression(size: Any) -> Any:
    """A key of a size, equal for equal sizes; `None` for a number."""
    symbolic: Any = size
    return symbolic.node.expr if isinstance(size, torch.SymInt) else None


class SizedTensors:
    """The first tensor that has each size, as a program goes along."""

    def __init__(self) -> None:
        self._found: dict[Any, tuple[SSAValue, int]] = {}

    def add(self, value: SSAValue, fake: Any) -> None:
        """Note the sizes of a value that torch knows as `fake`."""
        for dim, size in enumerate(fake.shape if isinstance(fake, torch.Tensor) else ()):
            if isinstance(size, torch.SymInt):
                self._found.setdefault(expression(size), (value, dim))

    def copy(self) -> SizedTensors:
        """The same, to be added to on its own."""
        made = SizedTensors()
        made._found = dict(self._found)
        return made

    def find(self, size: Any) -> tuple[SSAValue, int] | None:
        """A tensor, and which of its dimensions is of a size."""
        return self._found.get(expression(size))


# -- tracing


def is_dynamic(size: int | Expression) -> bool:
    """Whether a size is known at run time only."""
    return isinstance(size, Expression) or size < 0


@dataclass(frozen=True)
class Like:
    """A tensor to trace with: its shape and dtype. A size known at run time only is an expression, or -1."""

    shape: tuple[int | Expression, ...]
    dtype: torch.dtype

    @property
    def is_static(self) -> bool:
        """Whether all sizes are known."""
        return not any(is_dynamic(size) for size in self.shape)

    def without_expressions(self) -> Like:
        """One whose sizes known at run time only may be any."""
        return replace(self, shape=tuple(-1 if is_dynamic(size) else size for size in self.shape))

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Like:
        """That of a (fake) tensor."""
        return cls(tuple(size if type(size) is int else -1 for size in tensor.shape), tensor.dtype)


class UnknownNumber(Like):
    """A number known at run time only: it is read from a tensor without dimensions."""

    @classmethod
    def number(cls, *, is_float: bool) -> UnknownNumber:
        """An integer, or a float."""
        return cls((), torch.float64 if is_float else torch.int64)


Numbering = Callable[[int, int, int], int]
"""The number of the symbol for a dimension, given the tensor's place among the operands, the dimension, and the
tensor's rank: dimensions of one number are of one size.
"""

_NUMBERINGS: Final[tuple[Numbering, ...]] = (
    lambda tensor, dim, rank: 16 * tensor + dim,
    lambda tensor, dim, rank: dim,
    lambda tensor, dim, rank: rank - 1 - dim,
    lambda tensor, dim, rank: 0,
)
"""From all sizes differ to all are the same: operators that demand equal sizes refuse the first ones."""


def numberings(tensors: Sequence[Like]) -> Iterator[Numbering]:
    """Ways to tell sizes of tensors apart, without those that come to the same, and those that take sizes of different
    expressions for one.
    """
    dims = [
        (i, dim, len(like.shape))
        for i, like in enumerate(tensors)
        for dim, n in enumerate(like.shape)
        if is_dynamic(n)
    ]
    sizes = [tensors[i].shape[dim] for i, dim, _ in dims]
    seen: set[tuple[int, ...]] = set()
    for numbering in _NUMBERINGS:
        numbers = [numbering(*place) for place in dims]
        groups = tuple(numbers.index(number) for number in numbers)
        known = {
            (group, size) for group, size in zip(groups, sizes, strict=True) if isinstance(size, Expression)
        }
        if groups not in seen and len(known) == len({group for group, _ in known}):
            seen.add(groups)
            yield numbering


_SMALLEST: Final = 1013
"""The example of the first symbol. Large, so that no comparison with a size that programs have says that it is less."""

_MOST_NUMBERS: Final = 1 << 16
"""The most combinations of sizes for which a condition is evaluated."""


class SymbolicSizes:
    """The symbols of one trace, in the fake mode of `env`: those of expressions, which have `ranges`, and one for each
    number of a `numbering`, which as in `torch.export` is neither 0 nor 1.
    """

    def __init__(self, env: ShapeEnv, numbering: Numbering, ranges: Ranges) -> None:
        self._env = env
        self._numbering = numbering
        self._ranges = ranges
        self._numbered: dict[int, torch.SymInt] = {}
        self._named: dict[str, torch.SymInt] = {}

    def tensors(self, likes: Sequence[Like]) -> list[torch.Tensor]:
        """Tensors without data."""
        return [
            torch.empty(
                [self._size(size, i, dim, len(like.shape)) for dim, size in enumerate(like.shape)],
                dtype=like.dtype,
            )
            for i, like in enumerate(likes)
        ]

    def _size(self, size: int | Expression, tensor: int, dim: int, rank: int) -> Any:
        if isinstance(size, Expression):
            return size.folded(self._symbol, int, _computed)
        if size >= 0:
            return size
        number = self._numbering(tensor, dim, rank)
        if number not in self._numbered:
            hint = _SMALLEST + 2 * len(self._numbered)
            self._numbered[number] = self._made(f"s{number}", hint)
        return self._numbered[number]

    def _symbol(self, name: str) -> torch.SymInt:
        if name not in self._named:
            range = self._ranges.get(name, ANY)
            least = max(range.least or 0, 0)
            hint = _SMALLEST + 2 * len(self._named)
            if range.most is not None:
                hint = max(least, min(hint, range.most - len(self._named)))
            most: Any = cast(Any, numbers).int_oo if range.most is None else range.most
            self._named[name] = self._made(name, max(hint, least), (least, most))
        return self._named[name]

    def _made(self, name: str, hint: int, range: tuple[int, Any] | None = None) -> torch.SymInt:
        source = ConstantSource(name)
        symbol = self._env.create_symbol(
            hint,
            source,
            dynamic_dim=DimDynamic.DYNAMIC,
            constraint_dim=None
            if range is None
            else StrictMinMaxConstraint(vr=ValueRanges(*range), warn_only=False),
            do_not_specialize_zero_one=range is not None,
        )
        return cast(torch.SymInt, self._env.create_symintnode(symbol, hint=hint, source=source))

    def first_assumption(self) -> str | None:
        """The first condition on sizes that a trace has assumed though it is not known to be so for each of them in its
        range; sizes without a name are called `?`.
        """
        for guard in self._env.guards:
            if not self._always(guard.expr):
                names = {expression(one): sympy.Symbol(name) for name, one in self._named.items()}
                unknown = {symbol: sympy.Symbol("?") for symbol in guard.expr.free_symbols - names.keys()}
                condition: Any = guard.expr
                return _infix(condition.xreplace(names | unknown))
        return None

    def _always(self, condition: Any) -> bool:
        names: dict[Any, str] = {expression(one): name for name, one in self._named.items()}
        symbols = sorted(condition.free_symbols, key=str)
        found = [self._ranges.get(names[symbol], ANY) if symbol in names else ANY for symbol in symbols]
        if _holds_in(condition, dict(zip(symbols, found, strict=True))):
            return True
        ranges = [range(max(each.least or 0, 0), each.most + 1) for each in found if each.most is not None]
        if len(ranges) < len(symbols) or prod(map(len, ranges)) > _MOST_NUMBERS:
            return False
        # As Python's functions of numbers, which is faster than replacing symbols in an expression each time.
        # By other names than sympy's own functions, which it would write as operators, without parentheses.
        renamed = condition.replace(_is_of_table, _renamed)
        table = {f"_{name}": function for name, function in _FUNCTIONS.items()}
        function: Any = _sympy.lambdify(symbols, renamed, modules=[table, "math"])
        try:
            return all(function(*numbers) for numbers in product(*ranges))
        except (NameError, TypeError, ArithmeticError):
            return False  # a function that is not in the table, or a division by a size that is 0


def _holds_in(condition: Any, ranges: Mapping[Any, Interval]) -> bool:
    """Whether a condition on sizes follows from their ranges."""
    most: Any = cast(Any, numbers).int_oo
    known = {
        symbol: ValueRanges(max(range.least or 0, 0), most if range.most is None else range.most)
        for symbol, range in ranges.items()
    }
    try:
        return bool(range_of(condition, known).lower == sympy.true) or _has_sign(condition, ranges)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return False  # a quotient by a size that may be 0, or a function whose range is not known


def _has_sign(condition: Any, ranges: Mapping[Any, Interval]) -> bool:
    """Whether a condition is that a float is not negative, and the real number is not, whose sign rounding keeps. Torch
    has no ranges of powers: `1 / sqrt(n) >= 0`.
    """
    if not isinstance(condition, sympy.Ge) or not condition.rhs.is_zero:
        return False
    # Those of torch may be positive though their ranges begin with 0.
    symbols: dict[Any, Any] = {}
    for at, (symbol, range) in enumerate(ranges.items()):
        sign = {"positive" if (range.least or 0) > 0 else "nonnegative": True}
        symbols[symbol] = _sympy.Symbol(f"n{at}", integer=True, **sign)
    return bool(_real(condition.lhs, symbols).is_nonnegative)


def _real(number: Any, symbols: Mapping[Any, Any]) -> Any:
    """An expression of floats as one of real numbers, with others in the place of its symbols."""
    if not number.args:
        return symbols.get(number, number)
    function: Any = _REAL.get(type(number).__name__, number.func)
    return function(*(_real(argument, symbols) for argument in number.args))


def _is_of_table(one: Any) -> bool:
    return type(one).__name__ in _FUNCTIONS


def _renamed(one: Any) -> Any:
    return _sympy.Function(f"_{type(one).__name__}")(*one.args)


def _infix(condition: Any) -> str:
    """A condition as Python writes it."""
    for relation, sign in ((sympy.Eq, "=="), (sympy.Ne, "!=")):
        if isinstance(condition, relation):  # sympy prints these as calls
            return f"{condition.lhs} {sign} {condition.rhs}"
    return str(condition)


def _computed(function: str, *sizes: Any) -> Any:
    """A function of sizes in a trace."""
    return _SYMBOLIC[function](*sizes)


_SYMBOLIC: Final[dict[str, Callable[..., Any]]] = {
    "add": operator.add,
    "mul": operator.mul,
    "floordiv": cast(Any, operator).floordiv,
    "mod": operator.mod,
    "max": cast(Any, torch).sym_max,
    "min": cast(Any, torch).sym_min,
}
"""The functions of expressions, for symbols of a trace."""

_REAL: Final[dict[str, Callable[..., Any]]] = {
    "ToFloat": _sympy.sympify,
    "IntTrueDiv": cast(Any, operator).truediv,
    "FloatTrueDiv": cast(Any, operator).truediv,
    "FloatPow": _sympy.Pow,
}
"""Functions of floats as those of real numbers."""
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "FloorDiv": cast(Any, operator).floordiv,
    "CleanDiv": cast(Any, operator).floordiv,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "ToFloat": float,
    "IntTrueDiv": cast(Any, operator).truediv,
    "FloatTrueDiv": cast(Any, operator).truediv,
    "FloatPow": cast(Any, operator).pow,
    "PowByNatural": cast(Any, operator).pow,
    "OpaqueUnaryFn_sqrt": math.sqrt,
    "CeilToInt": math.ceil,
    "FloorToInt": math.floor,
    "TruncToInt": math.trunc,
    "RoundToInt": round,
}
"""The functions in expressions of torch that Python has under other names."""
