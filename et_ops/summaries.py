"""One-sentence summaries of all operators: `summaries.txt`.

Each line is the name of an operator without its overload, a tab, and the sentence; lines are sorted. A name has its
namespace where that is not `aten`. They document operators: what runs programs does without.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from et_ops.library import Operator

__all__ = ["SUMMARIES", "operator_summary", "read_summaries", "summary_of"]

SUMMARIES: Final = Path(__file__).with_name("summaries.txt")


@cache
def read_summaries() -> dict[str, str]:
    """The sentences by name."""
    lines = SUMMARIES.read_text(encoding="utf-8").splitlines()
    return {name: sentence for name, _, sentence in (line.partition("\t") for line in lines)}


def summary_of(namespace: str, name: str) -> str:
    """The sentence for an operator, whose name has no overload. Raises `KeyError` if there is none."""
    key = name if namespace == "aten" else f"{namespace}.{name}"
    if key not in read_summaries():
        raise KeyError(f"{SUMMARIES.name} has no line for {key}")
    return read_summaries()[key]


def operator_summary(operator: Operator) -> str:
    """The sentence for an operator of the library. Raises `KeyError` for another one."""
    return summary_of(operator.namespace, operator.overload_name.partition(".")[0])
