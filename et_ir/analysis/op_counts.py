"""Number of ops of a program at any level: the figure of summaries, progress lines and tables.

Ops that hold a program together and compute nothing do not count: functions, weights, registers, blobs of delegates.
"""

from __future__ import annotations

from collections import Counter

from xdsl.dialects.builtin import ModuleOp

from et_ir.dialects.executorch import ChainOp, KernelCallOp, RegisterOp, ReturnOp
from et_schema.wording import in_words

__all__ = ["count_ops", "ops_in_words"]

STRUCTURE = ("builtin.", "func.", "program.", "backend.lowered", "backend.named_data")
"""Prefixes of names of ops that compute nothing."""


def count_ops(module: ModuleOp) -> Counter[str]:
    """The number of occurrences of each op in the methods of a module, without its dialect; kernel calls count as their
    operator.
    """
    counts: Counter[str] = Counter()
    for op in module.walk():
        if isinstance(op, KernelCallOp):
            counts[op.key.partition("::")[2]] += 1
        elif (
            not op.name.startswith(STRUCTURE)
            and not isinstance(op, RegisterOp | ReturnOp | ChainOp)
            and not op.regions
        ):
            counts[op.name.partition(".")[2]] += 1
    return counts


def ops_in_words(counts: Counter[str]) -> str:
    """The total of counts: `1 op`, `23 ops`."""
    return in_words(counts.total(), "op")
