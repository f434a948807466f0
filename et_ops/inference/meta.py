"""Operand metadata of shape inference, and the table of shape rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from et_ops.dtypes import BOOL, F64, I64, DType
from et_ops.sizes import SymbolicSize

__all__ = [
    "RULES",
    "UNKNOWN",
    "Meta",
    "Mismatch",
    "Number",
    "Result",
    "Rule",
    "check_number",
    "number_dtype",
    "rule",
]

UNKNOWN: Final = -(2**63)
"""A size that is known at run time only: the same mark in shapes, where it prints as `?`, as in arguments."""


class Meta(NamedTuple):
    """Shape and element type of a tensor; `wrapped` says that it is a Python number in a tensor's place."""

    shape: tuple[int, ...]
    dtype: DType
    wrapped: bool = False

    @property
    def rank(self) -> int:
        return len(self.shape)


Number = bool | int | float | Meta
"""A `Scalar` argument. One that is known at run time only is a wrapped `Meta`."""


class Mismatch(ValueError):
    """An argument that an operator does not take: which one, what is expected of it, and what it is."""

    def __init__(self, arg: str, expected: object, got: object) -> None:
        shown = list(got.shape) if isinstance(got, Meta) else got
        super().__init__(f"argument '{arg}': expected {expected}, got {shown}")


Result = Meta | DType | Sequence[Meta | None] | None
Rule = Callable[..., Result]

RULES: Final[dict[str, Rule]] = {}
"""Inference rules by operator name. A rule takes the schema's arguments in order.

Tensors are `Meta`, element types `DType`, sizes known at run time only `UNKNOWN`. The result is a `Meta` or a
sequence of them (`None` for a result that is not asked for), a `DType` where the result is a number, and `None` where
the types cannot be told. A rule raises `ValueError` for operands that the operator does not take.
"""

_F = TypeVar("_F", bound=Rule)


def rule(*names: str) -> Callable[[_F], _F]:
    """Register a function as the rule of operators, given one by one or several in a text."""

    def register(function: _F) -> _F:
        for name in " ".join(names).split():
            if name in RULES:
                raise AssertionError(f"{name} has two inference rules")
            RULES[name] = function
        return function

    return register


def number_dtype(number: Number) -> DType:
    """The type of a Python number as its wrapped tensor has it: i1, i64 or f64."""
    if isinstance(number, Meta):
        return number.dtype
    if isinstance(number, bool):
        return BOOL
    return I64 if isinstance(number, int | SymbolicSize) else F64


def check_number(arg: str, number: Number, dtype: DType) -> None:
    """Raise `Mismatch` for a number that a type does not hold. One known at run time only passes."""
    if not isinstance(number, Meta | SymbolicSize) and not dtype.holds(number):
        raise Mismatch(arg, f"a number that fits {dtype.torch_name}", number)
