"""Messages of the commands on standard error, in colour on terminals.

Whether there is colour is the same question for all: `--color`, then `NO_COLOR` (no-color.org), `FORCE_COLOR` and
`CLICOLOR_FORCE`, `CLICOLOR=0` (bixense.com/clicolors), and last whether standard error is a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import IO, Final

from et_schema.diagnostics import Diagnostic, Severity, render

__all__ = [
    "COLORS",
    "is_colored",
    "name_command",
    "print_diagnostics",
    "print_message",
    "request_color",
    "running_command",
]

COLORS: Final = ("auto", "always", "never")
"""Values of `--color`."""

_requested = ["auto"]
_command = ["et-compile"]


def name_command(command: str) -> None:
    """Say which command runs."""
    _command[0] = command


def running_command() -> str:
    """The command that was typed, which messages of what several commands do name."""
    return _command[0]


def request_color(when: str = "auto") -> None:
    """Have the command that runs print its messages in colour `when`, one of `COLORS`."""
    _requested[0] = when


def is_colored(stream: IO[str]) -> bool:
    """Whether messages on `stream` are in colour."""
    if _requested[0] != "auto":
        return _requested[0] == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    if os.environ.get("CLICOLOR") == "0" or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def print_diagnostics(
    command: str, diagnostics: Iterable[Diagnostic], sources: Mapping[str, str] | None = None
) -> None:
    """Print diagnostics to stderr; those that have no place say which command they are from. What reads the same, as of
    several calls of a module, is printed once.
    """
    color = is_colored(sys.stderr)
    placed = (diagnostic.in_file(command) for diagnostic in diagnostics)
    for text in dict.fromkeys(render([one], sources, color=color) for one in placed):
        print(text, file=sys.stderr)


def print_message(command: str, text: str, severity: Severity = "error") -> None:
    """Print a message of a command that is about no place in its input."""
    print_diagnostics(command, [Diagnostic(text, severity=severity)])
