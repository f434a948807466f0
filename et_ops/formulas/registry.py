"""Registry of formulas by operator name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

__all__ = ["FORMULAS", "Formula", "formula"]

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Formula:
    """The formulas of an operator, in the order of preference."""

    ways: tuple[Callable[..., Any], ...]
    """Functions of a builder and of the arguments of the operator's schema, in its order."""
    gives_mask: bool = False
    """Whether the results are truth values."""


FORMULAS: Final[dict[str, Formula]] = {}
"""Formulas by operator name, `add.Tensor`; and of functions that are no operators of torch, by theirs."""


def formula(*names: str, gives_mask: bool = False) -> Callable[[_F], _F]:
    """Register a formula of operators. A further one is for back ends that lack what those before it are made of."""

    def register(function: _F) -> _F:
        for name in names:
            before = FORMULAS[name].ways if name in FORMULAS else ()
            FORMULAS[name] = Formula((*before, function), gives_mask)
        return function

    return register
