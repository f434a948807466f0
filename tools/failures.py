"""Turning what the compiler raises for bad input into messages and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.utils.exceptions import DiagnosticException, ParseError

from et_ir.backends import MissingBackend
from et_ir.data import MissingData
from et_ir.data.store import StoreError
from et_ir.diagnostics import diagnostics_of, render
from et_schema.errors import ExecutorchError
from et_tools.exit_codes import ExitCode
from et_tools.loading import ProgramError

__all__ = ["INPUT_ERRORS", "Outcome", "exit_code_of", "report_failures"]

INPUT_ERRORS = (
    ParseError,
    DiagnosticException,
    MissingData,
    StoreError,
    ExecutorchError,
    MissingBackend,
    ProgramError,
)
"""What is raised for bad input; everything else is a bug and shows as one."""


@dataclass
class Outcome:
    """How the work inside of `report_failures` ended."""

    exit_code: ExitCode = ExitCode.OK


def exit_code_of(error: BaseException) -> ExitCode:
    """The exit code of an input error: its own, or that of invalid input."""
    return ExitCode(getattr(error, "exit_code", ExitCode.INVALID_INPUT))


@contextmanager
def report_failures(file: str = "", source: str | None = None) -> Iterator[Outcome]:
    """Print input errors raised inside to stderr as diagnostics; `file` and `source` are the text they may quote."""
    outcome = Outcome()
    try:
        yield outcome
    except INPUT_ERRORS as error:
        name = file or str(getattr(error, "file", ""))
        sources = {name: source} if source is not None else getattr(error, "sources", None)
        print(render(diagnostics_of(error, name), sources), file=sys.stderr)
        outcome.exit_code = exit_code_of(error)
