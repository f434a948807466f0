"""The commands of the compiler where only the runtime is installed: they say what to install."""

from __future__ import annotations

import sys
from pathlib import Path

from et_tools.exit_codes import ExitCode, compiler_missing
from et_tools.messages import print_message

__all__ = ["main"]


def main() -> int:
    """Entry point of the commands that the distribution of the runtime lacks."""
    print_message(Path(sys.argv[0]).name, compiler_missing())
    return ExitCode.USAGE
