"""Exit codes of all commands, and a guard around their `main`."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum

from et_schema.distribution import NAME, RUNTIME, installation
from et_schema.wording import command_wording
from et_tools.messages import name_command, print_message, request_color
from et_tools.streams import standard_streams

__all__ = [
    "ExitCode",
    "UsageError",
    "compiler_missing",
    "guarded",
    "print_traceback",
    "request_tracebacks",
    "tracebacks_wanted",
]

EXTRAS = {
    "xdsl": "compiler",
    "torch": "compiler",
    "flatbuffers": "compiler",
    "llvmlite": "native",
    "openvino": "openvino",
    "distributed": "sweep",
    "transformers": "llm",
    "safetensors": "llm",
}
"""Extra of this project to install for a missing package."""
_COMPILER = ("et_backends", "et_ir", "et_sweep", "et_tools", "et_vm")
"""Packages that the distribution of the runtime alone has nothing, or not everything, of."""


class ExitCode(IntEnum):
    """Exit codes of commands."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    INVALID_INPUT = 3
    MISSING_OPERATOR = 4
    TRAP = 5
    INFEASIBLE_MEMORY = 6
    CRASH = 70
    """An exception that is a bug of this project: the software error of `sysexits.h`."""
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """Its meaning, for help and documentation."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.OK: "success",
    ExitCode.CHECK_FAILED: "a check failed: `et-vm verify`, `diff`, `compare`, `validate`; `--verify-diagnostics`, "
    "`--check-passes`",
    ExitCode.USAGE: "wrong usage: unknown option, missing file, missing package",
    ExitCode.INVALID_INPUT: "invalid file, text or program",
    ExitCode.MISSING_OPERATOR: "missing kernel or backend",
    ExitCode.TRAP: "the program failed at run time",
    ExitCode.INFEASIBLE_MEMORY: "the memory given is too small",
    ExitCode.CRASH: "a bug of this project, with a traceback",
    ExitCode.INTERRUPTED: "interrupted",
}


class UsageError(Exception):
    """The command line asks for something that is not there: a file, a pass, an option."""

    def __init__(self, message: str, exit_code: ExitCode = ExitCode.USAGE):
        super().__init__(message)
        self.exit_code = exit_code


_tracebacks = [False]


def request_tracebacks() -> None:
    """Have the command that runs print the Python stack of what ends it: the option `--traceback`."""
    _tracebacks[0] = True


def tracebacks_wanted() -> bool:
    """Whether the command that runs prints Python stacks."""
    return _tracebacks[0]


def print_traceback(error: BaseException) -> None:
    """Print the Python stack of an exception to stderr, if it is asked for."""
    if _tracebacks[0]:
        print("".join(traceback.format_exception(error)), file=sys.stderr, end="")


def guarded(main: Callable[[list[str]], int], arguments: list[str], command: str) -> int:
    """Run a command; usage errors, missing files, packages that are not installed, exceptions in the user's code, a
    closed pipe and Ctrl-C end it with one message and an exit code. A bug of this project prints its traceback.
    """
    _tracebacks[0] = False
    request_color()
    name_command(command)
    with standard_streams(), command_wording():
        return _guarded(main, arguments, command)


def _guarded(main: Callable[[list[str]], int], arguments: list[str], command: str) -> int:
    try:
        try:
            code = main(arguments)
        except SystemExit as exit_:
            from et_schema.user_code import user_place

            if user_place(exit_):
                return _crashed(command, exit_)
            # How argparse ends after --help and --version.
            code = int(exit_.code or 0)
        sys.stdout.flush()
        return code
    except UsageError as error:
        print_traceback(error)
        print_message(command, str(error))
        return error.exit_code
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError)
        package = (error.name or "").partition(".")[0]
        if NAME == RUNTIME and package in _COMPILER:
            print_traceback(error)
            print_message(command, compiler_missing() if is_missing else str(error))
            return ExitCode.USAGE
        if not is_missing or package not in EXTRAS:
            return _crashed(command, error)
        print_traceback(error)
        print_message(
            command,
            f"the package {package} is not installed; install it with: {installation(EXTRAS[package])}",
        )
        return ExitCode.USAGE
    except BrokenPipeError:
        _give_up_output()
        return ExitCode.OK
    except OSError as error:
        print_traceback(error)
        try:
            sys.stdout.flush()
        except OSError:
            _give_up_output()
        # Files are written by names, which their errors have.
        full = "standard output: " if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else ""
        name = f"{error.filename}: " if error.filename else full
        hint = ""
        if isinstance(error, FileNotFoundError) and error.filename:
            from et_tools.near_files import missing_file_hint

            hint = missing_file_hint(os.fspath(error.filename))
        print_message(command, f"{name}{error.strerror or error}{hint}")
        return ExitCode.USAGE
    except MemoryError as error:
        print_traceback(error)
        # numpy says of which array.
        print_message(command, f"not enough memory{f': {error}' if str(error) else ''}")
        return ExitCode.INFEASIBLE_MEMORY
    except KeyboardInterrupt as error:
        from et_schema.user_code import user_place

        print_traceback(error)
        place = user_place(error)
        # Notes say which pass ran.
        where = [*([f"at {place}"] if place else []), *getattr(error, "__notes__", ())]
        print(" ".join([f"{command}: interrupted", ", ".join(where)]).rstrip(), file=sys.stderr)
        return ExitCode.INTERRUPTED
    except Exception as error:
        return _crashed(command, error)


def compiler_missing() -> str:
    """The message where only the runtime is installed, for what needs more."""
    return (
        f"this needs the compiler, which {NAME} does not contain; install it with: {installation('compiler')}"
    )


def _crashed(command: str, error: BaseException) -> ExitCode:
    """The end of a command by an exception that nothing expected."""
    from et_schema.user_code import raised, user_place

    if user_place(error):
        print_traceback(error)
        print_message(command, raised(error))
        return ExitCode.INVALID_INPUT
    request_tracebacks()
    print_traceback(error)
    print_message(command, f"this is a bug in {command}: please report it with the lines above")
    return ExitCode.CRASH


def _give_up_output() -> None:
    """Let nothing fail again, when Python closes the stream, on what is left in its buffer."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
