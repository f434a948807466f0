"""Errors over several operations: everything that is wrong at once, each with its place and what to do about
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from et_ir.locations import source_line

__all__ = ["Finding", "PassReport"]


@dataclass(frozen=True)
class Finding:
    """One operation that breaks a rule.

    `message` starts with the rule's label in brackets, as in `[edge_c2] argument 'other' is a number`; `fix`
    says what the user can do, and is empty only where nothing is to be said.
    """

    op_name: str
    location: LocationAttr
    message: str
    fix: str = ""

    @classmethod
    def at(cls, op: Operation, message: str, fix: str = "") -> Self:
        """A finding at an operation."""
        return cls(op.name, op.location, message, fix)

    def __str__(self) -> str:
        text = f"{source_line(self.location)}: '{self.op_name}': {self.message}"
        return f"{text}\n    fix: {self.fix}" if self.fix else text


class PassReport(PassFailedException):
    """A pass failed because of the operations in `findings`, all of which the text lists in program order.

    `title` is one line that says which contract is broken or what could not be done, without the count.
    """

    def __init__(self, title: str, findings: Sequence[Finding]):
        self.title = title
        self.findings = tuple(findings)
        places = "1 place" if len(self.findings) == 1 else f"{len(self.findings)} places"
        super().__init__("\n".join([f"{title} ({places})", *(f"  {finding}" for finding in self.findings)]))

    @classmethod
    def raise_if(cls, title: str, findings: Sequence[Finding]) -> None:
        """Raise a report if there is anything to report."""
        if findings:
            raise cls(title, findings)
