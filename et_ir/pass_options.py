"""Options of passes, as their classes state them: the source of `et-opt --help-pass` and of docs/passes.md.

An option is a field of the pass's dataclass; the string below its declaration says what it means.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass

__all__ = ["PassOption", "pass_options"]


@dataclass(frozen=True)
class PassOption:
    """An option of a pass."""

    name: str
    """The name in a pipeline, `plan-inputs`."""
    type: Any
    default: str | None
    """The default value as `et-opt` reads it, empty for an empty list or none; `None` where a value is required."""
    meaning: str
    """What the string below the field says, in a line; empty where there is none, or no source."""

    @property
    def choices(self) -> Sequence[str]:
        """The values, where there are only some."""
        return tuple(map(str, get_args(self.type))) if get_origin(self.type) is Literal else ()


def pass_options(cls: type[ModulePass]) -> list[PassOption]:
    """The options of a pass, in the order of its fields."""
    types = get_type_hints(cls)
    meanings: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        meanings |= _field_docstrings(base)
    return [
        PassOption(
            field.name.replace("_", "-"),
            types[field.name],
            _default(field.default),
            meanings.get(field.name, ""),
        )
        for field in fields(cls)
    ]


def _default(value: object) -> str | None:
    if value is MISSING:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value in (None, "", ()) else str(value)


def _field_docstrings(cls: type) -> dict[str, str]:
    """The string after the declaration of each field, in a line."""
    if cls.__module__ == "builtins" or cls is ModulePass:
        return {}
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    except (OSError, TypeError):
        return {}  # made without a file
    found: dict[str, str] = {}
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for field, after in pairwise(body):
        match field, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
            case _:
                pass
    return found
