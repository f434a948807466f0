"""Debug handles: numbers that say which instructions come from one operator of the exported program.

The file has no place for them, so they are given beside it. An instruction keeps the handle that the module
gives it. The others are numbered by where they come from, from 1 in the order of the file: what one operator
was lowered to has its location and one handle. An instruction of unknown origin has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, LocationAttr, ModuleOp
from xdsl.ir import Operation

from et_ir.dialects.executorch import DelegateCallOp, KernelCallOp, PlanOp
from et_ir.emit.order import instruction_order
from et_ir.locations import Frame, frames_of, module_path

__all__ = ["Origin", "debug_handle_map", "origins", "origins_json"]


@dataclass(frozen=True)
class Origin:
    """Where an instruction comes from."""

    instruction: int
    """Its index in the method."""
    operator: str
    """The kernel's operator, the delegate's symbol, or what kind of instruction it is."""
    handle: int | None
    module: str
    """The path of the module, as in `named_modules()`; empty for the root and where it is not known."""
    frames: tuple[Frame, ...]
    """The Python source lines, outermost first."""


def _instructions(plan: PlanOp) -> list[Operation]:
    return [op for ops in instruction_order(plan.blocks).instructions.values() for op in ops]


def origins(module: ModuleOp) -> dict[str, list[Origin]]:
    """The origins of all instructions, by method, in the order of the file."""
    plans = sorted((op for op in module.body.block.ops if isinstance(op, PlanOp)), key=lambda plan: plan.key)
    calls = {plan.key: _instructions(plan) for plan in plans}
    given = {handle for ops in calls.values() for op in ops if (handle := _given(op)) is not None}
    numbered: dict[LocationAttr, int] = {}
    last = 0
    found: dict[str, list[Origin]] = {}
    for method, ops in calls.items():
        rows = found[method] = list[Origin]()
        for index, op in enumerate(ops):
            path, frames = module_path(op.location), tuple(frames_of(op.location))
            handle = _given(op)
            if handle is None and (path or frames):
                handle = numbered.get(op.location)
                if handle is None:
                    last += 1
                    while last in given:
                        last += 1
                    handle = numbered[op.location] = last
            rows.append(Origin(index, _operator(op), handle, path, frames))
    return found


def debug_handle_map(module: ModuleOp) -> dict[str, dict[int, int]]:
    """The handles of a module's instructions: by method, and by the instruction's index."""
    return {
        method: {row.instruction: row.handle for row in rows if row.handle is not None}
        for method, rows in origins(module).items()
    }


def origins_json(module: ModuleOp) -> dict[str, list[dict[str, Any]]]:
    """The origins as JSON has them: by method a list of objects, one an instruction."""
    return {
        method: [
            {
                "instruction": row.instruction,
                "operator": row.operator,
                "debug_handle": row.handle,
                "module": row.module,
                "source": [
                    {
                        "file": frame.filename,
                        "line": frame.lineno,
                        "function": frame.name,
                        "code": frame.context,
                    }
                    for frame in row.frames
                ],
            }
            for row in rows
        ]
        for method, rows in origins(module).items()
    }


def _given(op: Operation) -> int | None:
    attr = op.properties.get("debug_handle")
    return attr.value.data if isinstance(attr, IntegerAttr) else None


def _operator(op: Operation) -> str:
    if isinstance(op, KernelCallOp):
        return op.key
    if isinstance(op, DelegateCallOp):
        return op.callee.string_value()
    return op.name.partition(".")[2]
