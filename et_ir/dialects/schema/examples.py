"""Examples of operators as text: `examples.txt`, which `dev/examples.py` writes and torch has run.

Each line is the name of an operator, a tab, and one operation of the `aten` dialect, with its operands named; lines are
sorted. Operators of other namespaces than `aten` have theirs before the name; those of `dim_order_ops` are
operations of the `edge` dialect. The file is not installed with the package: docstrings have examples in a checkout.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from et_ops import Operator

__all__ = ["EXAMPLES", "edge_example", "example_of", "read_examples"]

EXAMPLES: Final = Path(__file__).with_name("examples.txt")


@cache
def read_examples() -> dict[str, str]:
    """The examples by operator name; none without the file."""
    if not EXAMPLES.exists():
        return {}
    lines = EXAMPLES.read_text(encoding="utf-8").splitlines()
    return {name: example for name, _, example in (line.partition("\t") for line in lines)}


def edge_example(example: str) -> str:
    """An example of the `aten` dialect in the edge dialect, which has the same text for the same operator."""
    return re.sub(r"(^|= )aten\.", r"\1edge.", example, count=1)


def example_of(dialect: str, operator: Operator) -> str | None:
    """One op of an operator in the text of a dialect, `aten` or `edge`; `None` if there is none."""
    found = read_examples().get(operator.name)
    return edge_example(found) if found is not None and dialect == "edge" else found
