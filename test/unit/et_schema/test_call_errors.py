"""Errors of calls that do not fit a function."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import pytest

from et_schema.call_errors import called_as


@called_as("called as twice(2)")
def twice(number: int, *, times: int = 2) -> int:
    """A product."""
    return int(number) * times


class Counter:
    @called_as("called as Counter().add(1)")
    def add(self, number: int) -> int:
        return number

    @called_as("called as Counter().clear()")
    def clear(self) -> None:
        raise TypeError("not to be cleared")


def message(call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(TypeError) as raised:
        call(*args, **kwargs)
    assert raised.value.__context__ is None
    return str(raised.value)


def test_usage() -> None:
    assert (
        message(twice) == "twice() missing 1 required positional argument: 'number'; it is called as twice(2)"
    )
    assert message(twice, 1, 2) == (
        "twice() takes 1 positional argument but 2 were given; it is called as twice(2)"
    )
    assert message(Counter.add, 1) == (
        "Counter.add() missing 1 required positional argument: 'number'; it is called as Counter().add(1)"
    )


def test_unknown_argument() -> None:
    assert message(twice, 1, time=3) == "twice() has no argument 'time', did you mean 'times'?"
    assert message(twice, 1, base=3) == "twice() has no argument 'base'; its arguments are number, times"
    assert (
        message(Counter().add, 1, base=3) == "Counter.add() has no argument 'base'; its arguments are number"
    )
    assert message(Counter().clear, now=True) == (
        "Counter.clear() has no argument 'now'; it is called as Counter().clear()"
    )


@dataclass
class Settings:
    speed: int = 1


@called_as("called as run()", {"run(Settings(…))": Settings})
def run(settings: Settings | None = None) -> None:
    """A call that is configured."""


def test_options_in_the_place_of_arguments() -> None:
    assert message(run, speed=2) == "run() has no argument 'speed'; it is an option: run(Settings(speed=…))"
    assert message(run, place=2) == "run() has no argument 'place'; its arguments are settings"


def test_errors_from_within_are_kept() -> None:
    assert message(twice, []).startswith("int() argument must be")
    assert message(Counter().clear) == "not to be cleared"


def test_function_is_described_as_before() -> None:
    assert twice(2) == 4
    assert twice(2, times=3) == 6
    assert twice.__doc__ == "A product."
    assert str(inspect.signature(twice)) == "(number: 'int', *, times: 'int' = 2) -> 'int'"
