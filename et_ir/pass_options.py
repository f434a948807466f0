"""Options of passes, as their classes state them: the source of `et-opt --help-pass` and of docs/passes.md.

An option is a field of the pass's dataclass; the string below its declaration says what it means.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass

__all__ = ["PassOption", "docstrings_after_assignments", "field_docstrings", "pass_options"]


@dataclass(frozen=True)
class PassOption:
    """An option of a pass."""

    name: str
    """The name in a pipeline, `plan-inputs`."""
    type: Any
    default: str | None
    """The default value as `et-opt` reads it, empty for an empty list or none; `None` where a value is required."""
    meaning: str
    """The string below the field, in a line; empty where there is none, or no source."""

    @property
    def choices(self) -> Sequence[str]:
        """The values, where there are only some."""
        return tuple(map(str, get_args(self.type))) if get_origin(self.type) is Literal else ()


def pass_options(cls: type[ModulePass]) -> list[PassOption]:
    """The options of a pass, in the order of its fields."""
    types = get_type_hints(cls)
    meanings = field_docstrings(cls)
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


def field_docstrings(cls: type) -> dict[str, str]:
    """The string after each assignment in the body of a class and its bases, in a line, by the names assigned.

    The source is asked, as decorators may have made another class of the one that is written there.
    """
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__ != "builtins" and base is not ModulePass:
            written = _classes(base.__module__).get(base.__name__)
            found |= docstrings_after_assignments(written.body) if written is not None else {}
    return found


def docstrings_after_assignments(body: Sequence[ast.stmt]) -> dict[str, str]:
    """The strings after assignments, in a line, by the names that are assigned."""
    found: dict[str, str] = {}
    for statement, after in pairwise(body):
        match statement, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
            case _:
                pass
    return found


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """The classes that a module defines; none for one without source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, KeyError):
        return {}
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
