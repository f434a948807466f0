"""Steps: the prepared calls that executing a method consists of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar, cast

__all__ = ["NOTHING", "Step", "nothing", "resizes", "resizing"]

Step: TypeAlias = tuple[Callable[..., object], tuple[object, ...]]
"""A prepared call, executed as `fn(*args)`; the result is ignored."""


def nothing() -> None:
    """A step with nothing to do."""


NOTHING: Step = (nothing, ())
"""The step of a call whose outputs need no work; the loops leave it out."""

_Function = TypeVar("_Function", bound=Callable[..., object])
_RESIZING: set[Callable[..., object]] = set()


def resizing(function: _Function) -> _Function:
    """Mark a function of steps that gives outputs their shapes while it runs: the data tells them."""
    _RESIZING.add(function)
    return function


def resizes(step: Step) -> bool:
    """Whether a step, or one of those it consists of, gives outputs their shapes while it runs."""
    function, arguments = step
    return function in _RESIZING or any(map(_holds_resizing, arguments))


def _holds_resizing(argument: object) -> bool:
    if callable(argument):
        return argument in _RESIZING
    return isinstance(argument, (tuple, list)) and any(
        map(_holds_resizing, cast("Sequence[object]", argument))
    )
