"""Table of all operators: element types, lowering, and kernels by target, for `docs/generated/operators.md`.

python -m dev.document_operators            # write; `make docs` does this for all generated pages
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from et_ir.dialects.aten import OP_BY_NAME as ATEN
from et_ir.dialects.edge import OP_BY_NAME as EDGE
from et_ir.dialects.edge.dtypes import rows
from et_ir.passes.aten_to_core.decompose.chain import REASONS, Reason
from et_ir.targets.lookup import CURRENT_TARGETS, find_target
from et_ops.summaries import operator_summary, summary_of

PAGE = Path(__file__).parents[1] / "docs" / "generated" / "operators.md"


def page() -> str:
    """The page's text."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Operators"
    yield ""
    yield "Built by `python -m dev.document_operators`; [operators.md](../operators.md) explains it."
    yield ""
    yield "## Operators of the edge level"
    yield ""
    yield f"| operator | element types | {' | '.join(CURRENT_TARGETS)} | computes |"
    yield f"|---|---|{'---|' * len(CURRENT_TARGETS)}---|"
    for name, op in sorted(EDGE.items()):
        types = "<br>".join(
            "; ".join(f"{', '.join(args)}: {label}" for args, _, label in row.columns) for row in rows(name)
        )
        kernel = op.operator.kernel
        has = " | ".join("yes" if kernel in find_target(target).kernels else "" for target in CURRENT_TARGETS)
        computes = operator_summary(op.operator).replace("|", "\\|")
        yield f"| `{name}` | {types} | {has} | {computes} |"
    core = {name for name, op in ATEN.items() if op.operator.is_core}
    patterns = {op.name.removeprefix("aten.") for op in REASONS}
    rest = ATEN.keys() - EDGE.keys()
    yield ""
    yield "## Operators that are lowered to these"
    yield ""
    yield "Views of Core ATen, which become the operators of the same name with `_copy`:"
    yield ""
    yield from _list(rest & core)
    yield ""
    yield "Operators that `decompose` has a pattern for, by the reason why torch's own decomposition is not used:"
    yield ""
    yield "| reason | operators |"
    yield "|---|---|"
    for reason in Reason:
        names = sorted(op.name.removeprefix("aten.") for op, why in REASONS.items() if why is reason)
        yield f"| {reason.value} | {', '.join(f'`{name}`' for name in names)} |"
    yield ""
    yield "Those that are not Core ATen:"
    yield ""
    yield from _list(rest & patterns - core)
    yield ""
    yield "Operators that `decompose-traced` decomposes, where torch has a decomposition:"
    yield ""
    yield from _list(rest - patterns - core)
    yield ""


def _list(names: Iterable[str]) -> Iterator[str]:
    """A line for the overloads of each operator."""
    for name, overloads in groupby(sorted(names), key=lambda overload: overload.partition(".")[0]):
        yield f"- {', '.join(f'`{overload}`' for overload in overloads)}: {summary_of('aten', name)}"


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
