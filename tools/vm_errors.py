"""Messages and exit codes for runtime and reader errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from et_tools.exit_codes import ExitCode
from et_tools.near_files import compiling, missing_file_hint

if TYPE_CHECKING:
    from et_schema.errors import ExecutorchError

__all__ = ["describe", "exit_code_of_error", "is_model"]


def describe(error: ExecutorchError, file: str) -> str:
    """The message of an error, with the source lines that a trap comes from when the file has them.

    A model in the place of a program gets the command that compiles it.
    """
    from et_schema.errors import Error

    if is_model(error, file):
        error.hint = f"compile it first: {compiling(file)}"
    elif error.code is Error.AccessFailed and not Path(file).exists():
        hint = missing_file_hint(file).removeprefix(", ")
        error.hint = hint or error.hint
    lines = (frame.context.strip() for frame in error.diagnostic.place.frames)
    return "\n    ".join([f"{file or repr(file)}: {error}", *filter(None, lines)])


def is_model(error: ExecutorchError, file: str) -> bool:
    """Whether the file that could not be loaded is a model for et-compile: by its content, or by what et-compile calls
    one, `file.py:factory` or `hf:FOLDER`.
    """
    from et_schema.errors import Error
    from et_schema.pte import NoProgram

    if error.code is Error.AccessFailed and not Path(file).exists():
        place, _, name = file.rpartition(":")
        return place.endswith(".py") or (place == "hf" and bool(name))
    # et-compile goes by the name.
    return isinstance(error, NoProgram) and error.kind.is_source and file.endswith((".py", ".pt2", ".mlir"))


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
