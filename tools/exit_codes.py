"""Exit codes of all commands, and the last line of defence around their `main`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import IntEnum

from et_tools.streams import standard_streams

__all__ = ["ExitCode", "UsageError", "guarded"]

COMPILER_PACKAGES = ("xdsl", "torch", "flatbuffers")


class ExitCode(IntEnum):
    """Exit codes of commands."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    INVALID_INPUT = 3
    MISSING_OPERATOR = 4
    TRAP = 5
    INFEASIBLE_MEMORY = 6
    INTERRUPTED = 130


class UsageError(Exception):
    """The command line asks for something that is not there: a file, a pass, an option."""


def guarded(main: Callable[[list[str]], int], arguments: list[str], command: str) -> int:
    """Run a command; usage errors, missing files, packages that are not installed, a closed pipe and Ctrl-C
    end it with one message and an exit code.
    """
    with standard_streams():
        return _guarded(main, arguments, command)


def _guarded(main: Callable[[list[str]], int], arguments: list[str], command: str) -> int:
    try:
        try:
            code = main(arguments)
        except SystemExit as exit_:
            # How argparse ends after --help and --version.
            code = int(exit_.code or 0)
        sys.stdout.flush()
        return code
    except UsageError as error:
        print(f"{command}: error: {error}", file=sys.stderr)
        return ExitCode.USAGE
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in COMPILER_PACKAGES:
            raise
        print(
            f"{command}: error: the package {package} is not installed; install it with: "
            "pip install '.[compiler]' in the checkout of executorch-ir",
            file=sys.stderr,
        )
        return ExitCode.USAGE
    except BrokenPipeError:
        _give_up_output()
        return ExitCode.OK
    except OSError as error:
        try:
            sys.stdout.flush()
        except OSError:
            _give_up_output()
        name = f"{error.filename}: " if error.filename else ""
        print(f"{command}: error: {name}{error.strerror or error}", file=sys.stderr)
        return ExitCode.USAGE
    except KeyboardInterrupt:
        print(f"{command}: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED


def _give_up_output() -> None:
    """Let nothing fail again, when Python closes the stream, on what is left in its buffer."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
