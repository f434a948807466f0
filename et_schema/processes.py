"""Processes of Python."""

from __future__ import annotations

import sys

__all__ = ["python"]


def python(*arguments: str) -> list[str]:
    """The command line of a Python process, which imports no modules from the working directory."""
    return [sys.executable, "-P", *arguments]
