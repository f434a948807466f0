"""The list of element types that the stock runtime's kernels refuse, and the script that finds them."""

from __future__ import annotations

from stock import StockRuntime
from stock_probe import LIST, operators, refused, rows_of

from et_ir.dialects.aten.inference.dtypes import dtype_of
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.passes.document_operators import kernel_of

ROWS = [line for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def test_every_row_is_of_a_kernel_and_its_arguments() -> None:
    schemas = {kernel_of(OP_BY_NAME[name]): OP_BY_NAME[name].schema() for name in operators()}
    for row in ROWS:
        kernel, args, types = row.split(" | ")
        assert {arg.name for arg in schemas[kernel].args} >= set(args.split(","))
        assert ELEMENT_TYPES.keys() >= set(types.split())


def test_a_refused_type_is_found(stock: StockRuntime) -> None:
    """The generator sees what a kernel refuses, and nothing of one that takes all."""
    (row,) = rows_of("_local_scalar_dense", stock)
    assert row in ROWS
    assert list(rows_of("relu", stock)) == []


def test_a_type_is_refused_when_nothing_with_it_is_taken() -> None:
    f32, i64 = (dtype_of(ELEMENT_TYPES[name]) for name in ("f32", "i64"))
    taken = {(f32, f32): True, (f32, i64): False, (i64, f32): False, (i64, i64): False}
    assert list(refused(taken, 2)) == [(0, [i64]), (1, [i64])]
    assert list(refused(dict.fromkeys(taken, True), 2)) == []
