"""Failure report of a minimized random program.

It shows the smallest program that fails so, as Python and as MLIR.
"""

from __future__ import annotations

import io

from et_ir.text import print_module
from property.build import build
from property.check import Checks, Failure, check
from property.programs import Program
from property.shrink import shrink
from property.source import python

__all__ = ["report"]

SECONDS = 40.0
"""Time for making a program smaller."""


def report(program: Program, checks: Checks, failure: Failure, seconds: float = SECONDS) -> str:
    """The report of a failure."""

    found = [failure]

    def fails(smaller: Program) -> bool:
        try:
            check(smaller, checks)
        except Failure as other:
            if other.kind != failure.kind:
                return False
            found[0] = other
            return True
        except Exception:  # torch does not take it: it is no program
            return False
        return False

    small = shrink(program, fails, seconds)
    return f"{found[0]}\n\n{python(small)}\n{mlir(small)}"


def mlir(program: Program) -> str:
    """The module of a program as text, or why there is none."""
    stream = io.StringIO()
    try:
        print_module(build(program), stream)
    except Exception as error:  # which is then what the report is about
        return f"no module: {type(error).__name__}: {error}\n"
    return stream.getvalue()
