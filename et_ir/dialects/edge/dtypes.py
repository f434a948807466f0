"""Element types that edge operators take: rules `edge_c3` and `edge_c4` of the dialect's verifier.

They are what torch's CPU kernels take, in `dtype_table.txt`, which `dtype_probe.py` writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from et_ir.dialects.edge.promotion import operands_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.dialects.schema.storage import storage_of
from et_ir.dialects.schema.tensors import is_tensor
from et_ops.dtypes import Category, DType, as_float, real_of

__all__ = ["CLASSES", "TABLE", "Column", "Row", "dtype_problems", "rows", "table"]

TABLE: Final = Path(__file__).with_name("dtype_table.txt")

_TYPES: Final = tuple(dtype_of(attr) for attr in ELEMENT_TYPES.values())
CLASSES: Final = {
    "any": frozenset(_TYPES),
    "number": frozenset(t for t in _TYPES if t.category > Category.BOOL),
    "ordered": frozenset(t for t in _TYPES if t.category < Category.COMPLEX),
    "real": frozenset(t for t in _TYPES if Category.BOOL < t.category < Category.COMPLEX),
    "floating": frozenset(t for t in _TYPES if t.category >= Category.FLOAT),
    "float": frozenset(t for t in _TYPES if t.is_float),
    "complex": frozenset(t for t in _TYPES if t.is_complex),
    "integral": frozenset(t for t in _TYPES if t.is_integral),
    "integer": frozenset(t for t in _TYPES if t.category is Category.INTEGER),
    "index": frozenset(t for t in _TYPES if t.name in ("i32", "i64")),
    "mask": frozenset(t for t in _TYPES if t.name in ("i1", "ui8")),
}
"""Sets of element types that have a name in the table."""

_BY_NAME: Final = {dtype.name: dtype for dtype in _TYPES}


class Column(NamedTuple):
    """Arguments of one operator that share an element type, and the types they may have in a row."""

    args: tuple[str, ...]
    types: frozenset[DType]
    label: str
    """The types as the table says them."""


class Row(NamedTuple):
    """Types that an operator takes together."""

    columns: tuple[Column, ...]
    results: tuple[str, ...]
    """The result types that the table gives; `?` is undecided."""


@cache
def table() -> dict[str, tuple[Row, ...]]:
    """The rows by operator name without the dialect. Operators that have none take anything."""
    found: dict[str, tuple[Row, ...]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        name, *columns, results = line.split(" | ")
        row = Row(tuple(map(_column, columns)), tuple(results.removeprefix("->").strip().split(", ")))
        found[name] = (*found.get(name, ()), row)
    return found


@cache
def _column(text: str) -> Column:
    args, _, label = text.partition(": ")
    base, _, excluded = label.partition(" but ")
    types = CLASSES.get(base) or frozenset(_BY_NAME[name] for name in base.split())
    types -= {_BY_NAME[name] for name in excluded.split()}
    return Column(tuple(args.split(", ")), types, label)


def rows(name: str) -> tuple[Row, ...]:
    """The rows of an operator, given its name without the dialect."""
    return table().get(name, ())


# Each index tensor of these is an operand of its own, and need not have the type of the others.
_INDEPENDENT: Final = ("indices",)


def dtype_problems(op: SchemaOp) -> Iterator[str]:
    """The violations of `edge_c3` and `edge_c4` at an op, as messages with labels; numbers in tensor slots
    are skipped.
    """
    all_rows = rows(op.name.partition(".")[2])
    if not all_rows:
        return
    given: list[frozenset[DType]] = []
    for column in all_rows[0].columns:
        types = [
            storage_of(value.type.element_type)
            for _, value in operands_of(op, *column.args)
            if is_tensor(value.type)
        ]
        names = _quoted(column.args)
        if len(set(types)) > 1 and column.args != _INDEPENDENT:
            yield f"[edge_c3] {names} mix element types: {', '.join(map(str, types))}"
            return
        given.append(frozenset(map(dtype_of, types)))
    for place, (column, types) in enumerate(zip(all_rows[0].columns, given, strict=True)):
        taken = frozenset[DType]().union(*(row.columns[place].types for row in all_rows))
        names = _quoted(column.args)
        for type in sorted(types - taken, key=_TYPES.index):
            yield f"[edge_c4] {names} cannot be {type}, expected {_describe(taken)}"
            return
    fitting = [row for row in all_rows if all(map(_takes, row.columns, given))]
    if fitting:
        yield from _result_problems(op, fitting, given)
    else:
        shown = "; ".join(
            f"{_quoted(column.args)} of {', '.join(t.name for t in types)}"
            for column, types in zip(all_rows[0].columns, given, strict=True)
            if types
        )
        choices = " or ".join(_show(row, given) for row in all_rows)
        yield f"[edge_c4] does not accept {shown} together, expected {choices}"


def _result_problems(op: SchemaOp, fitting: list[Row], given: list[frozenset[DType]]) -> Iterator[str]:
    """The violation of `edge_c4` by the results; of those that a literal decides there is none here."""
    results = [dtype_of(result.type.element_type) for result in op.results if is_tensor(result.type)]
    expected = [_results(row, given, len(results)) for row in fitting]
    if not any(all(e in (None, r) for e, r in zip(one, results, strict=True)) for one in expected):
        wanted = " or ".join(", ".join("any" if e is None else e.name for e in one) for one in expected)
        yield f"[edge_c4] returns {', '.join(r.name for r in results)}, expected {wanted}"


def _results(row: Row, given: list[frozenset[DType]], count: int) -> list[DType | None]:
    """The result types that a row says, none where it leaves them open."""
    names = row.results if len(row.results) == count else row.results[:1] * count
    operands = {
        arg: next(iter(types))
        for column, types in zip(row.columns, given, strict=True)
        for arg in column.args
        if len(types) == 1
    }
    found: list[DType | None] = []
    for name in names:
        function, _, arg = name.removesuffix(")").rpartition("(")
        dtype = operands.get(arg) if function in _FUNCTIONS else operands.get(name, _BY_NAME.get(name))
        found.append(_FUNCTIONS[function](dtype) if function in _FUNCTIONS and dtype is not None else dtype)
    return found


_FUNCTIONS: Final = {"float": as_float, "real": real_of}


def _quoted(args: tuple[str, ...]) -> str:
    return ", ".join(f"'{arg}'" for arg in args)


def _takes(column: Column, types: frozenset[DType]) -> bool:
    return types <= column.types


def _show(row: Row, given: list[frozenset[DType]]) -> str:
    return ", ".join(
        f"{_describe(column.types)} for {_quoted(column.args)}"
        for column, types in zip(row.columns, given, strict=True)
        if types
    )


def _describe(types: frozenset[DType]) -> str:
    excluded = [t.name for t in _TYPES if t not in types]
    if 0 < len(excluded) <= 5:
        return f"any type but {', '.join(excluded)}"
    return ", ".join(t.name for t in _TYPES if t in types)
