"""Diagnostics of constructs that the frontend cannot import.

They are collected so that the user sees all of them at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import LocationAttr, ModuleOp

from et_ir.locations import source_line

__all__ = ["Reason", "Reasons", "UnsupportedNode", "UnsupportedProgram"]


@dataclass(frozen=True)
class Reason:
    """One thing that cannot be imported: the operator or input it is about, where it stands, and what to
    do.
    """

    subject: str
    location: LocationAttr | None
    message: str
    fix: str

    def __str__(self) -> str:
        place = "" if self.location is None else f" at {source_line(self.location)}"
        return f"{self.subject}{place}: {self.message}\n      fix: {self.fix}"


class UnsupportedProgram(Exception):
    """The exported program cannot be imported. `reasons` lists everything in the way.

    `module` is the rest of it, in which inputs stand in for the results that could not be made: good for finding what
    else is wrong.
    """

    exit_code: ClassVar[int] = 4

    def __init__(self, reasons: list[Reason], module: ModuleOp | None = None):
        count = f"{len(reasons)} reason" + ("s" if len(reasons) != 1 else "")
        lines = [f"  {number}. {reason}" for number, reason in enumerate(reasons, 1)]
        super().__init__("\n".join([f"the exported program is not supported, for {count}:", *lines]))
        self.reasons = reasons
        self.module = module


class Reasons:
    """Collects reasons; equal ones count once."""

    def __init__(self) -> None:
        self._found: dict[Reason, None] = {}

    def add(self, subject: str, message: str, fix: str, location: LocationAttr | None = None) -> None:
        self._found.setdefault(Reason(subject, location, message, fix))

    def __bool__(self) -> bool:
        return bool(self._found)

    def check(self, module: ModuleOp | None = None) -> None:
        """Raise `UnsupportedProgram` if anything was collected."""
        if self._found:
            raise UnsupportedProgram(list(self._found), module)


class UnsupportedNode(Exception):
    """A node cannot be converted; `fix` says what the user can do. Without a message, because an operand
    already was.
    """

    def __init__(self, message: str = "", fix: str = ""):
        super().__init__(message)
        self.fix = fix
