"""Diagnostics of all stages in one report. It does not end with the first stage that fails.

Whatever an op is at fault for, its results have types. Inputs of these types stand in for them, and the passes go on
with the rest of the program: what they report as well belongs to the same report. The module is of no other use then.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from et_ir.diagnostics import Diagnostic, PassRaised, PassReport
from et_ir.dialects.schema import SchemaOp
from et_ir.locations import place_of
from et_ir.pass_application import apply_pass
from et_ir.passes.verify.link_check import MissingKernels
from et_ir.rewrite_limit import limited
from et_schema.diagnostics import Report
from et_schema.user_code import user_place

__all__ = ["ProgramFaults", "with_later_faults"]

_TITLE = "the program cannot be compiled"
_ROUNDS = 8
"""As many passes may fail."""


class ProgramFaults(PassReport):
    """Report of several stages. Its exit code is that of the first."""

    def __init__(self, findings: Sequence[Diagnostic], exit_code: int):
        super().__init__(_TITLE, findings)
        self.exit_code = exit_code


def with_later_faults(error: Exception, module: ModuleOp | None, passes: Sequence[ModulePass]) -> Exception:
    """A report of what `error` reports and what the passes after the one that raised it find in the rest.

    `passes` starts with the one that raised it. `module` is as that one left it, and is changed; it is what an import
    made as far as it came, with nothing that is at fault. Returns `error` itself where there is nothing to add, where
    it is no report, and where a pass of the user's raised it; `MissingKernels` where all that is wrong is what the
    target lacks.
    """
    if module is None or not isinstance(error, Report):
        return error
    if isinstance(error, PassRaised) and error.__cause__ is not None and user_place(error.__cause__):
        return error  # a fault of a pass of the user's, not of the program
    found = list(error.diagnostics)
    count = len(found)
    kinds: set[type[Report]] = {type(error)}
    latest = found
    remaining = list(passes)
    for _ in range(_ROUNDS):
        _stand_in(module, latest)
        try:
            while remaining:
                with limited(None):
                    apply_pass(remaining[0], Context(), module)
                remaining.pop(0)
            break
        except PassReport as report:
            latest = [f for f in report.diagnostics if f.subject != FuncOp.name and f not in found]
            if not latest:
                break
            found.extend(latest)
            kinds.add(type(report))
        except Exception:
            # Of a program that is not whole, passes may expect what is not there; what was found is no less true.
            break
    if len(found) == count:
        return error
    return (
        MissingKernels(_TITLE, found) if kinds == {MissingKernels} else ProgramFaults(found, error.exit_code)
    )


def _stand_in(module: ModuleOp, findings: Sequence[Diagnostic]) -> None:
    """Replace the results of ops that findings are about by inputs of their methods."""
    blamed = {(finding.subject, finding.at) for finding in findings}
    for op in list(module.walk()):
        if isinstance(op, SchemaOp) and (op.name, place_of(op.location)) in blamed:
            block = _entry(op)
            if block is None:
                continue
            for result in op.results:
                result.replace_all_uses_with(block.insert_arg(result.type, len(block.args)))
            op.detach()
            op.erase()
    for function in module.body.block.ops:
        if isinstance(function, FuncOp):
            function.update_function_type()


def _entry(op: Operation) -> Block | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    return parent.body.blocks[0] if parent is not None else None
