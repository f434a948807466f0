"""Tables inside of hand-written pages, from the code that they describe.

python -m dev.document_tables            # write
python -m dev.document_tables --check    # exit 1 if a page is out of date
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from et_schema.errors import Error
from et_schema.executorch_names import rows
from et_vm.kernels.prims import PRIMS
from et_vm.load.opcodes import OPCODES

ROOT = Path(__file__).parents[1]


def opcode_table() -> str:
    """The instructions."""
    found = [
        (
            f"`{opcode.mnemonic}`",
            opcode.table,
            ", ".join(f"{field}: {role}" for field, role in opcode.operands),
            opcode.synopsis,
        )
        for opcode in OPCODES
    ]
    return _table(("", "schema table", "operands", ""), found)


def prim_table() -> str:
    """The primitive operators."""
    found = [
        (
            f"`{prim.name}`",
            ", ".join(f"{name}: {_kinds(kinds)}" for name, kinds in prim.params),
            f"the tensor {prim.params[0][0]}" if prim.in_place else _kinds(prim.result),
            prim.synopsis,
        )
        for prim in PRIMS.values()
    ]
    return _table(("", "inputs", "output", ""), found)


def error_table() -> str:
    """The error codes."""
    return _table(("", "code"), [(f"`{code.name}`", f"0x{int(code):02x}") for code in Error])


def exit_code_table() -> str:
    """The exit codes of commands."""
    codes: Any = import_module("et_tools.exit_codes").ExitCode
    return _table(("exit code", "meaning"), [(str(int(code)), code.meaning) for code in codes])


def executorch_table(section: str) -> str:
    """ExecuTorch's names of a section, and what stands for them."""
    found = [(row.executorch, row.here) for row in rows() if row.section == section]
    return _table(("ExecuTorch", "instead" if section == "Not here" else "here"), found)


PAGES: dict[Path, dict[str, Callable[[], str]]] = {
    ROOT / "docs" / "vm.md": {"opcodes": opcode_table, "prims": prim_table, "errors": error_table},
    ROOT / "docs" / "commands.md": {"exit codes": exit_code_table},
    ROOT / "docs" / "coming-from-executorch.md": {
        section.lower(): partial(executorch_table, section)
        for section in dict.fromkeys(row.section for row in rows())
    },
}
"""By page, the tables by the name in their marks."""


def _kinds(kinds: frozenset[str]) -> str:
    order = ("Int", "Double", "Bool", "Tensor", "IntList")
    return " or ".join(kind for kind in order if kind in kinds)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fill(text: str, tables: dict[str, Callable[[], str]]) -> str:
    """`text` with the content between the marks of each table replaced.

    Raises ValueError when a mark is missing.
    """
    for name, make in tables.items():
        start, end = f"<!-- table {name} -->\n", f"<!-- end {name} -->"
        head, found, rest = text.partition(start)
        _, closed, tail = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"the page has no marks for table {name}")
        text = f"{head}{start}{make()}\n{end}{tail}"
    return text


def main(arguments: list[str]) -> int:
    """Write or check the pages; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    code = 0
    for page, tables in PAGES.items():
        text = page.read_text(encoding="utf-8")
        current = fill(text, tables)
        if text == current:
            continue
        if options.check:
            print(f"{page.name} is out of date: run python -m dev.document_tables", file=sys.stderr)
            code = 1
        else:
            page.write_text(current, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
