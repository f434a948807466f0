"""Docstrings as pages show them: of classes and functions, and of the fields of classes."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache

from et_ir.pass_options import docstrings_after_assignments
from et_ir.pass_options import field_docstrings as docstrings_of_fields

__all__ = ["constant_docstrings", "field_docstrings", "first_sentence", "in_a_line", "paragraphs"]


def constant_docstrings(module: str) -> dict[str, str]:
    """The string after the assignment of each constant of a module, as a line of a Markdown table."""
    return _cells(docstrings_after_assignments(_module(module).body))


def field_docstrings(cls: type) -> dict[str, str]:
    """The string after the assignment of each field, of the class and its bases, as a line of a Markdown table."""
    return _cells(docstrings_of_fields(cls))


@cache
def _module(name: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[name]))


def _cells(texts: dict[str, str]) -> dict[str, str]:
    return {name: in_a_line(text) for name, text in texts.items()}


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
