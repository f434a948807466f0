"""Application of a pass: the one place where compiler and commands run passes.

An exception in a user's pass becomes a report with the names of the pass and of the user's line, and limits of rewrites
are kept. An interrupt says where it came.
"""

from __future__ import annotations

import traceback
from contextlib import nullcontext
from dataclasses import replace
from typing import Final

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriteWalker, RewritePattern
from xdsl.utils.exceptions import DiagnosticException, ParseError, PassFailedException

from et_ir.context import OperatorContext
from et_ir.diagnostics import Diagnostic, PassRaised
from et_ir.locations import place_of
from et_ir.rewrite_limit import current_limit
from et_ir.rewriting import PatternFailed
from et_ir.verification import InvalidModule, check_module
from et_schema.diagnostics import Location, Report
from et_schema.user_code import is_library, raised, user_place

__all__ = ["apply_pass", "verify_after"]

STATED: Final = (DiagnosticException, ParseError, OSError)
"""Exceptions of xDSL's passes that say what is wrong with the input."""


def apply_pass(one: ModulePass, ctx: Context, module: ModuleOp, *, verify: bool | None = None) -> None:
    """Run a pass, within the limit of rewrites where there is one, and verify what it made; by default what a pass of
    the user's made. Infinities and NaN in constants are no reason for numpy to warn.

    Raises what the pass raises, `InvalidModule`, and `PassRaised` with the names of the pass and of the line for any
    other exception that comes from the code of users, or that a pass of xDSL's raises about no input. Exceptions of
    this project's code are its bugs and stay what they are.
    """
    declarations = ctx.declarations_of(module) if isinstance(ctx, OperatorContext) else nullcontext()
    with np.errstate(all="ignore"), declarations:
        _apply(one, ctx, module)
    if verify if verify is not None else not is_library(one):
        verify_after(one, module)


def verify_after(one: ModulePass, module: ModuleOp) -> None:
    """Raise `InvalidModule` with every problem of a module that a pass has left."""
    note = Diagnostic(f"after the pass '{one.name}'", severity="note")
    findings = [replace(finding, notes=(*finding.notes, note)) for finding in check_module(module)]
    InvalidModule.raise_if("the module does not verify", findings)


def _apply(one: ModulePass, ctx: Context, module: ModuleOp) -> None:
    limit = current_limit()
    try:
        if limit is None:
            one.apply(ctx, module)
        else:
            limit.run(one, ctx, module)
    except PatternFailed as error:
        raise error.in_pass(one.name) from error.__cause__
    except (Report, PassFailedException):
        raise
    except KeyboardInterrupt as error:
        # xDSL's walker repeats patterns without a limit: who ends it learns which.
        error.add_note(f"in {_pattern_of_walker(error)}the pass '{one.name}'")
        raise
    except (Exception, SystemExit) as error:
        if is_library(one) and not user_place(error) and (not _is_of_xdsl(one) or isinstance(error, STATED)):
            raise
        op = _op_of_walker(error)
        subject, at = ("", None) if op is None else (op.name, place_of(op.location))
        message = f"the pass '{one.name}' raised {raised(error)}"
        raise PassRaised("a pass failed", [Diagnostic(message, subject=subject, at=at)]) from error


def _is_of_xdsl(one: ModulePass) -> bool:
    """Whether a pass is xDSL's: what it raises is said of it, not reported as a bug of this project."""
    return type(one).__module__.partition(".")[0] == "xdsl"


def _pattern_of_walker(error: BaseException) -> str:
    """The pattern that an exception was raised in, and its op, as the start of a phrase; empty where there is none."""
    pattern: RewritePattern | None = None
    op: Operation | None = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        values = tuple(frame.f_locals.values())
        match values[:1]:
            case (RewritePattern() as pattern,):
                pass
            case (PatternRewriteWalker() as walker,):
                pattern = walker.pattern
            case _:
                continue
        op = next((value for value in values[1:] if isinstance(value, Operation)), op)
    if pattern is None:
        return ""
    where = place_of(op.location) if op is not None else Location()
    place = f" at {where.source}" if where != Location() else ""
    subject = "" if op is None else f" on '{op.name}'{place}"
    return f"the pattern {type(pattern).__name__}{subject} of "


def _op_of_walker(error: BaseException) -> Operation | None:
    """The op that xDSL's own walker was at, of a pass that uses it."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code is Operation.emit_error.__code__:
            return frame.f_locals["self"]
    return None
