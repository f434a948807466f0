"""Diagnostics of constructs that the frontend cannot import.

They are collected so that the user sees all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import LocationAttr, ModuleOp

from et_ir.locations import place_of
from et_schema.diagnostics import Diagnostic, Report

__all__ = ["Reasons", "UnsupportedNode", "UnsupportedProgram"]


class UnsupportedProgram(Report):
    """The exported program cannot be imported. `diagnostics` lists everything in the way, equal ones once.

    `module` is the rest of it, in which inputs stand in for the results that could not be made: good for finding what
    else is wrong.
    """

    exit_code = 4

    def __init__(self, diagnostics: Iterable[Diagnostic], module: ModuleOp | None = None):
        super().__init__("the exported program is not supported", dict.fromkeys(diagnostics))
        self.module = module


class Reasons(list[Diagnostic]):
    """Obstacles to an import, in the order they are found."""

    def add(self, subject: str, message: str, fix: str, location: LocationAttr | None = None) -> None:
        """Add a reason: the operator or input it is about, where it stands, and what to do."""
        place = None if location is None else place_of(location)
        self.append(Diagnostic(message, subject=subject, fix=fix, at=place))

    def check(self, module: ModuleOp | None = None) -> None:
        """Raise `UnsupportedProgram` if anything was collected."""
        if self:
            raise UnsupportedProgram(self, module)


class UnsupportedNode(Exception):
    """A node cannot be converted; `fix` says what the user can do. Without a message, because an operand
    already was.
    """

    def __init__(self, message: str = "", fix: str = ""):
        super().__init__(message)
        self.fix = fix
