"""Arguments of debugger commands: registers with indices, breakpoints, literals."""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from et_schema.whole_numbers import shortened, whole_number
from et_vm.devtools.debugger import AtInstruction, AtLine, AtOperator, Breakpoint, InModule, NonFinite

__all__ = ["CommandError", "Selection", "breakpoint_of", "literal_of", "number_of", "selection_of"]


class CommandError(Exception):
    """A command that cannot be carried out."""


class Selection(NamedTuple):
    """A register, and a numpy index of its elements."""

    register: int
    index: Any
    """Ellipsis for all elements."""


_SELECTION = re.compile(r"%?(\d+)\s*(?:\[(.*)\])?$", re.DOTALL)
_LINE = re.compile(r"(.+):(\d+)$")
_ITEM = re.compile(r"(-?\d+)?(:)?(-?\d+)?(?::(-?\d+))?$")


def selection_of(text: str) -> Selection:
    """`%12` or `%12[0, 2:4]`. Raises CommandError."""
    match = _SELECTION.match(text.strip())
    if match is None:
        raise CommandError(f"expected a register such as %12 or %12[0, 2:4], got {text.strip()!r}")
    register, index = match.groups()
    return Selection(number_of(register, "a register"), ... if index is None else _index_of(index))


def _index_of(text: str) -> Any:
    items: list[Any] = []
    for part in text.split(","):
        item = part.replace(" ", "")
        match = _ITEM.match(item)
        if item == "...":
            items.append(...)
        elif match is None or not item:
            raise CommandError(f"expected an index such as 0, 2:4 or ..., got {part.strip()!r}")
        else:
            start, colon, stop, step = match.groups()
            numbers = [None if number is None else _signed(number) for number in (start, stop, step)]
            items.append(slice(*numbers) if colon else numbers[0])
    return tuple(items)


def _signed(text: str) -> int:
    number = number_of(text.removeprefix("-"), "a place")
    return -number if text.startswith("-") else number


def number_of(text: str, what: str, default: int | None = None) -> int:
    """A non-negative number. Raises CommandError."""
    text = text.strip().replace(",", "")
    if not text and default is not None:
        return default
    number = whole_number(text)
    if number is None:
        raise CommandError(f"expected {what}, got {shortened(text)!r}" if text else f"expected {what}")
    return number


def literal_of(text: str) -> Any:
    """A number, `nan`, `inf`, a bool, or nested lists of these. Raises CommandError."""
    plain = re.sub(r"\b(nan|inf)\b", lambda match: "1e999" if match[1] == "inf" else "(1e999-1e999j)", text)
    try:
        return _evaluated(ast.parse(plain.strip(), mode="eval").body)
    except (SyntaxError, ValueError) as error:
        raise CommandError(f"expected a number or a list of numbers, got {text.strip()!r}") from error


def _evaluated(node: ast.expr) -> Any:
    if isinstance(node, ast.List):
        return [_evaluated(item) for item in node.elts]
    if isinstance(node, ast.BinOp):
        # How `nan` has been written above.
        return float("nan")
    value = ast.literal_eval(node)
    if not isinstance(value, (bool, int, float)):
        raise ValueError(value)
    return value


def breakpoint_of(text: str) -> Breakpoint:
    """The argument of `break`: an instruction, an operator, `file.py:line`, `module PATH`, `nan` or `inf`.

    Raises CommandError.
    """
    text = text.strip()
    if text in ("nan", "inf"):
        return NonFinite(infinities=text == "inf")
    if text.isdecimal():
        return AtInstruction(number_of(text, "an instruction"))
    kind, _, rest = text.partition(" ")
    if kind == "module" and rest.strip():
        return InModule(rest.strip())
    line = _LINE.match(text)
    if line is not None and "::" not in text:
        return AtLine(line[1], number_of(line[2], "a line"))
    if "::" in text or re.fullmatch(r"[\w*?\[\]!.:-]+", text):
        return AtOperator(text)
    raise CommandError("expected an instruction, an operator, FILE:LINE, module PATH, nan or inf")
