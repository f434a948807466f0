"""Memory reports of et-compile: planning instances, and the fill of memory banks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from et_tools.messages import print_message, running_command
from et_tools.output import check_output, write_file

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["report_memory"]


def report_memory(module: ModuleOp, args: argparse.Namespace) -> None:
    """Write `--dump-buffers`, and the fill of the banks of `--memory` on standard error, of a planned program."""
    if args.dump_buffers is not None:
        _dump_buffers(module, args.dump_buffers)
    if args.memory and not args.quiet:
        _print_banks(module, args.memory)


def _dump_buffers(module: ModuleOp, output: str) -> None:
    """A file for each arena that holds something, called after method and arena where there are several."""
    from et_ir.passes.memory.plan_memory import PlanMemoryPass
    from et_ir.passes.memory.plan_memory.instances import planned_arenas
    from et_ir.planning.instances import write_layout

    arenas = planned_arenas(module, PlanMemoryPass.alignment)
    path = Path(output)
    if not arenas:
        print_message(running_command(), f"{output}: no memory is planned, nothing is written", "warning")
    for arena in arenas:
        name = path if len(arenas) == 1 else path.with_stem(f"{path.stem}-{arena.method}-{arena.number}")
        check_output(str(name))
        write_file(str(name), write_layout(arena.instance, arena.layout))
        if name != path:
            print(f"wrote {name}", file=sys.stderr)


def _print_banks(module: ModuleOp, memory: str) -> None:
    from et_ir.dialects.executorch import PlanOp
    from et_ir.planning.banks import parse_banks

    for plan in module.body.block.ops:
        if isinstance(plan, PlanOp):
            sizes = dict(enumerate(plan.arena_sizes or (), 1))
            for bank in parse_banks(memory):
                used = sizes.get(bank.memory_id, 0)
                size = f"{used:,} bytes"
                if bank.capacity:
                    size = f"{used:,} of {bank.capacity:,} bytes ({100 * used / bank.capacity:.1f} %)"
                print(f"{plan.sym_name.data}: {bank.name}: {size}", file=sys.stderr)
