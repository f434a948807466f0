"""Runs of lit that do not meet: folders of their own, and commands that repeat what failed."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import lit.formats
import lit.Test

__all__ = ["Format", "start"]

ROOT: Final = Path(__file__).parents[2]
FAILED: Final = "failed"


class Format(lit.formats.ShTest):
    """Tests of shell commands. The last line of what one that fails prints is the command that runs it alone."""

    def __init__(self, folder: str) -> None:
        super().__init__(execute_external=False)
        self._folder = folder

    def execute(self, test: lit.Test.Test, config: Any) -> lit.Test.Result:
        result = super().execute(test, config)
        if result.code.isFailure:
            path = os.path.relpath(test.getSourcePath(), ROOT)
            result.output = f"{result.output.rstrip()}\n\n{_command(path)}"
            # In one process of several; one write of a line is whole.
            with Path(self._folder, FAILED).open("a", encoding="utf-8") as names:
                names.write(f"{path}\n")
        return result


def start() -> str:
    """A folder for what a run writes; it goes in the end, unless a test has failed: then the commands that run only
    those again are the last line.
    """
    folder = tempfile.mkdtemp(prefix="lit-")
    owner = os.getpid()

    def stop() -> None:
        # lit's workers are forks of this process.
        if os.getpid() != owner:
            return
        failed = Path(folder, FAILED)
        if failed.exists():
            print(_command(*sorted(failed.read_text("utf-8").split())), flush=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return folder


def _command(*paths: str) -> str:
    lit = Path(sys.executable).with_name("lit")
    return " ".join((os.path.relpath(lit, ROOT) if lit.is_relative_to(ROOT) else str(lit), "-v", *paths))
