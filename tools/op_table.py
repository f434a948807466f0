"""Table of op counts by level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["count_ops", "print_op_table"]

WIDTH = 110
"""Columns, where the table is not for a terminal."""
# Ops that hold a program together and compute nothing: functions, weights and where they are read.
STRUCTURE = ("builtin.", "func.", "program.")


def count_ops(module: ModuleOp) -> Counter[str]:
    """The number of occurrences of each op in the methods of a module, without its dialect; kernel calls count as their
    operator.
    """
    from et_ir.dialects.executorch import KernelCallOp, RegisterOp, ReturnOp

    counts: Counter[str] = Counter()
    for op in module.walk():
        if isinstance(op, KernelCallOp):
            counts[op.key.partition("::")[2]] += 1
        elif (
            not op.name.startswith(STRUCTURE) and not isinstance(op, RegisterOp | ReturnOp) and not op.regions
        ):
            counts[op.name.partition(".")[2]] += 1
    return counts


def print_op_table(levels: Mapping[str, Mapping[str, int]], stream: IO[str]) -> None:
    """Print a row for each level: how many ops it has, and how many of each, the most frequent first."""
    from rich.console import Console
    from rich.table import Table

    console = Console(file=stream, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    table = Table("level", box=None, pad_edge=False)
    table.add_column("ops", justify="right")
    table.add_column("of each")
    for level, ops in levels.items():
        counted = sorted(ops.items(), key=lambda item: -item[1])
        each = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in counted)
        table.add_row(level, str(sum(ops.values())), each or "-")
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()), file=stream)
