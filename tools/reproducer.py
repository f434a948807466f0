"""Reproducers of failing passes, and round trips of modules through their text."""

from __future__ import annotations

import io
import shlex
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir.diagnostics import PassReport, diagnose
from et_ir.driver.pipelines import pipeline_text
from et_ir.text import module_text, parse_module, print_module, save_text, stored_constants

__all__ = ["check_round_trip", "write_reproducer"]


def write_reproducer(path: Path, module: ModuleOp, one: ModulePass, options: str) -> None:
    """Write the module that a pass fails for, with its constants, and the command that runs the pass on it; `options`
    are those of the command that failed which it needs.

    Raises `OSError`.
    """
    text = io.StringIO()
    command = f"et-opt -p {shlex.quote(pipeline_text([one]))} {options}{shlex.quote(str(path))}"
    text.write(f"// To reproduce: {command}\n")
    print_module(module, text, debuginfo=True)
    known = [constant for constant in stored_constants(module) if constant[0].is_resolved]
    save_text(path, text.getvalue(), known)


def check_round_trip(ctx: Context, module: ModuleOp) -> None:
    """Print a module, in its own and in generic form, and parse it again.

    Raises `PassReport` if that gives another module, and `ParseError` for a text that does not parse.
    """
    for generic in (False, True):
        text = module_text(module, debuginfo=True, generic=generic)
        again = parse_module(ctx, text, "<round trip>")
        if not again.is_structurally_equivalent(module):
            form = "generic form" if generic else "text"
            message = f"the {form} of the module does not parse to the same module"
            raise PassReport("the module does not survive its text", [diagnose(module, message)])
