"""Messages and exit codes for errors of the compiler."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.utils.exceptions import DiagnosticException, ParseError

from et_ir.data import MissingData
from et_ir.data.store import StoreError
from et_ir.delegation.errors import BackendError, MissingBackend
from et_ir.diagnostics import diagnostics_of
from et_ir.frontend.unsupported import UnsupportedProgram
from et_schema.diagnostics import Report
from et_schema.errors import Error, ExecutorchError
from et_schema.user_code import causes, user_place
from et_tools.exit_codes import ExitCode, print_traceback, tracebacks_wanted
from et_tools.loading import ProgramError
from et_tools.messages import print_diagnostics, print_message
from et_tools.vm_errors import exit_code_of_error
from et_vm.backend import NativeRefused

__all__ = ["INPUT_ERRORS", "Outcome", "exit_code_of", "print_hint", "report_failures"]

INPUT_ERRORS = (
    ParseError,
    DiagnosticException,
    MissingData,
    StoreError,
    ExecutorchError,
    MissingBackend,
    BackendError,
    ProgramError,
    UnsupportedProgram,
    Report,
)
"""Exceptions for bad input; everything else is a bug and shows as one."""


@dataclass
class Outcome:
    """Outcome of the work inside `report_failures`."""

    exit_code: ExitCode = ExitCode.OK


def exit_code_of(error: BaseException) -> ExitCode:
    """The exit code of an input error: its own, or that of invalid input."""
    if isinstance(error, ExecutorchError):
        code = exit_code_of_error(error)
        # Nothing runs here: but for a file that cannot be opened, and for what may not run, it is the program that does
        # not fit a file.
        is_usage = error.code is Error.AccessFailed or isinstance(error, NativeRefused)
        return ExitCode.INVALID_INPUT if code is ExitCode.USAGE and not is_usage else code
    return ExitCode(getattr(error, "exit_code", ExitCode.INVALID_INPUT))


def print_hint(command: str, error: BaseException) -> None:
    """Say how to see where the exception in the user's code, of which an error is made, was raised."""
    if any(user_place(cause) for cause in causes(error)) and not tracebacks_wanted():
        print_message(command, "--traceback prints the Python stack", "note")


@contextmanager
def report_failures(command: str, file: str = "") -> Iterator[Outcome]:
    """Print input errors raised inside to stderr as diagnostics; `file` is the one they are about."""
    outcome = Outcome()
    try:
        yield outcome
    except INPUT_ERRORS as error:
        print_traceback(error)
        name = str(getattr(error, "file", file))
        print_diagnostics(command, diagnostics_of(error, name), getattr(error, "sources", None))
        print_hint(command, error)
        outcome.exit_code = exit_code_of(error)
