"""Messages and exit codes for runtime and reader errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from et_tools.exit_codes import ExitCode

if TYPE_CHECKING:
    from et_schema.errors import ExecutorchError

__all__ = ["describe", "exit_code_of_error"]


def describe(error: ExecutorchError, file: str) -> str:
    """The message of an error, with the source lines that a trap comes from when the file has them."""
    lines = (frame.context.strip() for frame in error.diagnostic.place.frames)
    return "\n    ".join([f"{file or repr(file)}: {error}", *filter(None, lines)])


def exit_code_of_error(error: ExecutorchError) -> ExitCode:
    """The exit code for what reading, loading or running a program raises."""
    from et_schema import errors

    if isinstance(error, errors.OutOfMemory):
        return ExitCode.INFEASIBLE_MEMORY
    if isinstance(error, errors.Trap):
        return ExitCode.TRAP
    if isinstance(error, errors.MissingOperator | errors.MissingBackend):
        return ExitCode.MISSING_OPERATOR
    if isinstance(error, errors.InvalidFile):
        return ExitCode.INVALID_INPUT
    if errors.Error.DelegateInvalidCompatibility <= error.code <= errors.Error.DelegateInvalidHandle:
        return ExitCode.INVALID_INPUT
    if error.code is errors.Error.Internal:
        # A backend that fails while it loads fails as it would later.
        return ExitCode.TRAP
    # Wrong inputs, unknown methods, files that cannot be opened, libraries that are not installed.
    return ExitCode.USAGE
