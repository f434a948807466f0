"""Parsing command lines: help that starts with examples, `--version`, and errors as `UsageError`."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from et_schema.diagnostics import did_you_mean
from et_tools.exit_codes import UsageError

__all__ = ["ALIGNMENTS", "CommandParser", "alignment"]

MOST_ALIGNMENT = 1 << 20

ALIGNMENTS = {
    "tensor_alignment": "of each constant (default: 16, or as stated in the input)",
    "segment_alignment": "of each segment (default: 128, or as stated in the input)",
    "delegate_alignment": "of each delegate blob (default: 16)",
}
"""Options of the commands that write programs, with what they align, in bytes."""


def alignment(text: str) -> int:
    """An alignment in bytes from the command line."""
    number = int(text) if text.isdecimal() else 0
    if not 0 < number <= MOST_ALIGNMENT or number & (number - 1):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid alignment: expected a power of two up to {MOST_ALIGNMENT}"
        )
    return number


class CommandParser(argparse.ArgumentParser):
    """A parser whose help begins with examples and whose errors do not end the process.

    `text` is a summary in one line, `name: what it does`, then a paragraph `examples:`, then more paragraphs.
    """

    def __init__(self, prog: str = "", usage: str = "", text: str = ""):
        summary, _, rest = text.strip().partition("\n\n")
        examples, _, more = rest.strip().partition("\n\n")
        summary = summary.partition(": ")[2]
        super().__init__(
            prog=prog,
            usage=usage,
            description="\n\n".join(part for part in (summary[:1].upper() + summary[1:], more) if part),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            # An abbreviation that is unique today is another option's name tomorrow.
            allow_abbrev=False,
        )
        self.examples = examples

    def format_help(self) -> str:
        return f"{self.examples}\n\n{super().format_help()}"

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            hint = did_you_mean(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{hint}") from None

    def add_alignments(self) -> None:
        """Add `--tensor-alignment`, `--segment-alignment` and `--delegate-alignment`."""
        for name, what in ALIGNMENTS.items():
            flag = f"--{name.replace('_', '-')}"
            self.add_argument(flag, type=alignment, metavar="BYTES", help=f"alignment {what}")

    def add_version(self) -> None:
        """Add `--version`, which prints the command's name and the version of this project."""
        self.add_argument("--version", action=_Version, nargs=0, help="print name and version and exit")


class _Version(argparse.Action):
    """Looks the version up when it is asked for: reading package metadata takes its time."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"{parser.prog} {version('executorch-ir')}")
        parser.exit()
