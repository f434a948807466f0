"""Docstrings as pages show them: of classes and functions, and of the fields of classes."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise

__all__ = ["constant_docstrings", "field_docstrings", "first_sentence", "in_a_line", "paragraphs"]


@cache
def _module(name: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[name]))


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.walk(_module(module)) if isinstance(node, ast.ClassDef)}


def _after_assignments(body: list[ast.stmt]) -> dict[str, str]:
    """The strings after assignments, as lines of a Markdown table, by the names that are assigned."""
    found: dict[str, str] = {}
    for statement, after in pairwise(body):
        match statement, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = in_a_line(text)
            case _:
                pass
    return found


def constant_docstrings(module: str) -> dict[str, str]:
    """The string after the assignment of each constant of a module, as a line of a Markdown table."""
    return _after_assignments(_module(module).body)


def field_docstrings(cls: type) -> dict[str, str]:
    """The string after the assignment of each field, of the class and its bases, as a line of a Markdown table.

    The source is asked, as decorators may have made another class of the one that is written there.
    """
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__ != "builtins" and base.__name__ in _classes(base.__module__):
            found |= _after_assignments(_classes(base.__module__)[base.__name__].body)
    return found


def in_a_line(text: str) -> str:
    """Text as a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def paragraphs(item: object) -> str:
    """The docstring of an object. Raises ValueError if it has none of its own."""
    text = item.__doc__
    if not text or (isinstance(item, type) and "__doc__" not in vars(item)):
        raise ValueError(f"{item} has no docstring")
    return inspect.cleandoc(text)


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, without its full stop."""
    return in_a_line(text.partition("\n\n")[0]).partition(". ")[0].rstrip(".")
