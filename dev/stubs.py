"""Write type stubs of the op classes for editors: `et_ir/dialects/{aten,edge}/ops.pyi`.

python -m dev.stubs
"""

from __future__ import annotations

import argparse
import keyword
from collections.abc import Iterator
from pathlib import Path

from et_ops import OPERATORS, Arg, Operator
from et_ops.summaries import operator_summary

DIALECTS = Path(__file__).parents[1] / "et_ir" / "dialects"

# Names that every xDSL operation has: arguments called so are reached by `op.arg(name)` only.
RESERVED = frozenset(
    """
    name parent results regions operands properties attributes location successors print parse verify erase
    clone detach walk traits result symbols schema infer info tags args arg make create build operator
    """.split()  # noqa: SIM905
)

HEADER = '''"""Op classes of the `{dialect}` dialect, one per overload. Written by `python -m dev.stubs`."""

from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.{dialect}.base import {base}

Scalar = int | float | bool | SSAValue

'''


def accessor_type(arg: Arg) -> str:
    """The Python type that reading an argument gives; see `SchemaOp.arg`."""
    base = {
        "Tensor": "SSAValue",
        "int": "int",
        "SymInt": "int | SSAValue",
        "float": "float",
        "bool": "bool",
        "Scalar": "Scalar",
        "ScalarType": "Attribute",
    }.get(arg.type.base, "str")
    if arg.type.is_list:
        base = f"tuple[{base}{' | None' if arg.type.element_optional else ''}, ...]"
    return f"{base} | None" if arg.type.optional or arg.type.base == "Generator" else base


def stub(dialect: str, base: str, operators: Iterator[Operator]) -> Iterator[str]:
    """The text of a dialect's stub, class by class."""
    from et_ir.dialects.schema.classes import class_name

    yield HEADER.format(dialect=dialect, base=base)
    for operator in operators:
        yield f"class {class_name(operator.name)}({base}):\n"
        summary = operator_summary(operator)
        yield f'    """{summary}"""\n'
        for arg in operator.schema.args:
            if arg.name not in RESERVED and not keyword.iskeyword(arg.name):
                yield f"    {arg.name}: {accessor_type(arg)}\n"


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    for dialect, base in (("aten", "AtenOp"), ("edge", "EdgeOp")):
        held = (one for one in OPERATORS.values() if (one.is_edge if dialect == "edge" else one.is_exported))
        (DIALECTS / dialect / "ops.pyi").write_text("".join(stub(dialect, base, held)), encoding="utf-8")


if __name__ == "__main__":
    main()
