"""The list of element types that the stock runtime's kernels refuse, and the script that finds them."""

from __future__ import annotations

from random import Random

from stock import StockRuntime
from stock_probe import LIST, header, operators, refused, rows_of

from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.literals import ELEMENT_TYPES

ROWS = [line for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]

ENDING = ("max_pool2d_with_indices_backward", "_adaptive_avg_pool2d")
"""Calls that kernels refuse: they end the runtime, which takes seconds to start again."""


def test_every_row_is_of_a_kernel_and_its_arguments() -> None:
    schemas = {OP_BY_NAME[name].operator.kernel: OP_BY_NAME[name].schema() for name in operators()}
    for row in ROWS:
        kernel, args, types = row.split(" | ")
        assert {arg.name for arg in schemas[kernel].args} >= set(args.split(","))
        assert ELEMENT_TYPES.keys() >= set(types.split())


def test_a_refused_type_is_found(stock: StockRuntime) -> None:
    """The generator sees what a kernel refuses, and nothing of one that takes all."""
    (row,) = rows_of("_local_scalar_dense", stock)
    assert row in ROWS
    assert list(rows_of("relu", stock)) == []


def test_the_list_is_current(stock: StockRuntime) -> None:
    """Operators with rows and operators without, chosen by a seed, have the rows that the list has of them."""
    kernels = {row.split(" | ")[0] for row in ROWS}
    names = [name for name in operators() if name not in ENDING]
    listed, others = (
        [n for n in names if (OP_BY_NAME[n].operator.kernel in kernels) is has] for has in (True, False)
    )
    chosen = [n for group in (listed, others) for n in Random(4).sample(group, 15)]
    found = {name: sorted(rows_of(name, stock)) for name in chosen}
    assert found == {
        n: [r for r in ROWS if r.split(" | ")[0] == OP_BY_NAME[n].operator.kernel] for n in chosen
    }


def test_the_list_names_its_command() -> None:
    assert LIST.read_text(encoding="utf-8").startswith(header())


def test_a_type_is_refused_when_nothing_with_it_is_taken() -> None:
    f32, i64 = (dtype_of(ELEMENT_TYPES[name]) for name in ("f32", "i64"))
    taken = {(f32, f32): True, (f32, i64): False, (i64, f32): False, (i64, i64): False}
    assert list(refused(taken, 2)) == [(0, [i64]), (1, [i64])]
    assert list(refused(dict.fromkeys(taken, True), 2)) == []
