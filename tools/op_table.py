"""How often each op occurs at each level, as a table for a person."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["count_ops", "op_table"]

WIDTH = 100
# Ops that hold a program together and compute nothing: functions, weights and where they are read.
STRUCTURE = ("builtin.", "func.", "program.")


def count_ops(module: ModuleOp) -> Counter[str]:
    """How often each op occurs in the methods of a module, without its dialect; kernel calls count as their
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


def op_table(levels: Mapping[str, Counter[str]]) -> str:
    """A row for each level: how many ops it has, and how many of each, the most frequent first."""
    rows = [f"{'level':<12} {'ops':>6}"]
    for level, ops in levels.items():
        each = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in ops.most_common())
        head = f"{level:<12} {ops.total():>6}  "
        rows += textwrap.wrap(each or "-", WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    return "\n".join(rows)
