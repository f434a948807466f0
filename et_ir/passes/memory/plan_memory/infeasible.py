"""Infeasible memory plans: tensors that do not fit together, and the smallest sufficient capacity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from et_ir.diagnostics import PassReport, diagnose
from et_ir.dialects.executorch import MemoryRegisterOp
from et_ir.planning import Buffer
from et_ir.planning.hierarchy import Infeasible

__all__ = ["InfeasibleMemory", "infeasible"]

SHOWN: Final = 32
"""Tensors that are listed; there are more only where many small ones are needed at once."""


class InfeasibleMemory(PassReport):
    """There is no arena that what a method needs at once fits into."""

    exit_code = 6


def infeasible(
    error: Infeasible, method: str, ops: Sequence[MemoryRegisterOp], buffers: Sequence[Buffer]
) -> InfeasibleMemory:
    """The report of what does not fit; `ops` are the registers of the buffers."""
    bank, plan, conflict = error.bank, error.plan, error.conflict
    capacity = f"{bank.capacity} bytes of {bank.name}"
    if plan.optimal:
        enough = f"the smallest sufficient capacity is {plan.size} bytes"
    else:
        enough = f"{plan.size} bytes do, fewer than {plan.bound} cannot, what is between is not known"
    if conflict is None:
        members = tuple(range(len(ops)))
        said = f"no layout in {capacity} was found, and none was proven impossible"
    elif len(conflict.members) == 1:
        members = conflict.members
        said = f"a tensor exceeds {capacity}"
    else:
        members = conflict.members
        without = "; they fit without any one of them" if conflict.irreducible else ""
        total = sum(buffers[at].size for at in members)
        said = f"{len(members)} simultaneously live tensors of {total} bytes exceed {capacity}{without}"
    shown = sorted(sorted(members, key=lambda at: (-buffers[at].size, at))[:SHOWN])
    if len(shown) < len(members):
        said += f" (the largest {SHOWN} are listed)"
    findings = [
        diagnose(
            ops[at],
            f"{method}: {'also' if number else f'{said}; {enough}'}: {_name(ops[at])} of "
            f"{buffers[at].size} bytes, needed from {buffers[at].first} to {buffers[at].last}",
        )
        for number, at in enumerate(shown)
    ]
    return InfeasibleMemory(f"plan-memory: {method}: {said}; {enough}", findings)


def _name(op: MemoryRegisterOp) -> str:
    """A tensor as the program's text has it: of inputs no source line is known."""
    hint = op.result.name_hint
    return f"%{hint} : {op.result.type}" if hint else str(op.result.type)
