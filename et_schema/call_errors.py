"""Call signature errors with the usage of the function.

Python's own say how many arguments are missing, and of a method that is called on its class that `self`'s place is
taken: `Runtime.load_program("model.pte")` lacks `data`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from et_schema.diagnostics import did_you_mean

__all__ = ["called_as", "unknown_argument"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_UNKNOWN: Final = re.compile(r"(.*\)) got an unexpected keyword argument '(\w+)'")


def called_as(
    usage: str, options: Mapping[str, type] | None = None
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Let the `TypeError` of a call that does not fit a function say the `usage`, which follows "it is", and of an
    unknown argument which there are. What the function itself raises stays as it is.

    `options` are dataclasses whose fields are given as arguments by mistake, each by the call that takes it, with `…`
    for the fields.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise  # from within the function
                message = str(error)
            if found := _UNKNOWN.fullmatch(message):
                import inspect  # takes as long as loading a program

                names = [
                    name
                    for name, parameter in inspect.signature(function).parameters.items()
                    if name != "self" and parameter.kind is not inspect.Parameter.VAR_KEYWORD
                ]
                listed = f"; its arguments are {', '.join(names)}" if names else f"; it is {usage}"
                way = _option(found[2], options or {}) or did_you_mean(found[2], names) or listed
                message = unknown_argument(found[1], found[2]) + way
            else:
                message = f"{message}; it is {usage}"
            raise TypeError(message)

        return call

    return decorate


def _option(name: str, options: Mapping[str, type]) -> str:
    """The call that takes an option by this name."""
    for call, configuration in options.items():
        if name in vars(configuration)["__dataclass_fields__"]:
            return f"; it is an option: {call.replace('…', f'{name}=…')}"
    return ""


def unknown_argument(function: str, name: str) -> str:
    """The beginning of the message of an argument by a name that the function does not have."""
    return f"{function} has no argument '{name}'"
