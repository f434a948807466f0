"""Diagnostics of operations, and the reports that passes raise.

The class itself is below compiler and runtime, in `et_schema.diagnostics`; here is what ties it to xDSL's operations
and exceptions.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError, PassFailedException

from et_ir.locations import place_of
from et_schema.diagnostics import Diagnostic, Frame, Location, Report
from et_schema.errors import ExecutorchError

__all__ = ["Diagnostic", "PassRaised", "PassReport", "diagnose", "diagnostics_of"]


class PassReport(Report, PassFailedException):
    """A pass failed because of the operations in `diagnostics`, all of which the text lists in program order."""


class PassRaised(PassReport):
    """A pass, or a pattern of it, raised what is no report; the cause is that exception."""


def diagnose(op: Operation, message: str, fix: str = "", *, subject: str = "") -> Diagnostic:
    """A diagnostic of an operation, called `subject` where that is not its name."""
    return Diagnostic(message, subject=subject or op.name, fix=fix, at=place_of(op.location))


def diagnostics_of(error: BaseException, file: str = "", line_offset: int = 0) -> list[Diagnostic]:
    """The diagnostics that an exception carries, one of its text where it carries none.

    `file` and `line_offset` place parse errors: the name of the text, and the lines before the parsed chunk in it.
    """
    if isinstance(error, ParseError):
        content, start = str(error.span.input.content), error.span.start
        line = content.count("\n", 0, start) + 1 + line_offset
        column = start - content.rfind("\n", 0, start)
        return [Diagnostic(error.msg, at=Location((Frame(file, line, column=column),)))]
    if isinstance(error, Report):
        return list(error.diagnostics)
    if isinstance(error, ExecutorchError):
        return [error.diagnostic.in_file(file)]
    return [Diagnostic(str(error).strip() or type(error).__name__).in_file(file)]
