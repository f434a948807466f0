"""The rows of the table in `test_hostile.py`: a fault, and when it is refused with which error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from et_schema.errors import Error, ExecutorchError, InvalidFile, Trap

INVALID = Error.InvalidProgram


class Row(NamedTuple):
    """A fault: `make()` is a file with it."""

    name: str
    make: Callable[[], Any]
    stage: str
    kind: type[ExecutorchError]
    code: Error
    match: str


def program(name: str, make: Callable[[], Any], match: str, code: Error = INVALID) -> Row:
    return Row(name, make, "program", InvalidFile, code, match)


def method(
    name: str,
    make: Callable[[], Any],
    match: str,
    code: Error = INVALID,
    kind: type[ExecutorchError] = InvalidFile,
) -> Row:
    return Row(name, make, "method", kind, code, match)


def execute(name: str, make: Callable[[], Any], match: str, code: Error = Error.InvalidArgument) -> Row:
    return Row(name, make, "execute", Trap, code, match)


def data(name: str, make: Callable[[], Any], match: str) -> Row:
    return Row(name, make, "data", InvalidFile, Error.InvalidExternalData, match)


def bundled(name: str, make: Callable[[], Any], match: str) -> Row:
    return Row(name, make, "bundle", InvalidFile, INVALID, match)
