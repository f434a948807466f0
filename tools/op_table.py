"""Table of op counts by level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO

__all__ = ["print_op_table"]

WIDTH = 110
"""Columns, where the table is not for a terminal."""


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
