"""Frozen files on both runtimes, and their canonical form on both: the same results."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockError, StockRuntime

from et_ir.emit import disassemble, write
from et_schema.pte import read_pte
from et_vm.load.data_files import DataFiles
from et_vm.runtime import Runtime

FIXTURES = Path(__file__).parents[1] / "fixtures"
DATA = sorted([*FIXTURES.glob("*.ptd"), *(FIXTURES / "stock").glob("*.ptd")])
X = torch.arange(6, dtype=torch.float32).reshape(2, 3)
ROW = torch.tensor([-1.0, 2.0, -3.0, 4.0])
# By file: the method, and its inputs.
RUNS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "no_header": ("forward", (ROW, ROW)),
    "constants_in_a_segment": ("forward", (ROW,)),
    "short_header": ("forward", (ROW,)),
    "alignments": ("forward", (ROW,)),
    "all_types_of_values": ("forward", (torch.arange(8.0).reshape(2, 4), torch.tensor([1, 0]))),
    "element_types": ("forward", (torch.tensor([0, 1, 7], dtype=torch.uint8),)),
    "dynamic_bound": ("forward", (ROW[:3],)),
    "unplanned": ("forward", (ROW,)),
    "mutable_data": ("forward", (torch.tensor([1.0, -30.0]),)),
    "zero_state": ("forward", (torch.tensor([1.0, -2.0]),)),
    "named_data": ("forward", (ROW, ROW)),
    "two_methods": ("decode", (ROW,)),
    "stack_traces": ("forward", (ROW, ROW)),
    "control_flow": ("forward", (ROW, torch.tensor(True))),
    "stock/state": ("forward", (X,)),
    "stock/pieces": ("forward", (X,)),
    "stock/branch": ("forward", (X - 9,)),
    "stock/unplanned": ("forward", (X,)),
    "stock/dynamic": ("forward", (X.repeat(3, 1),)),
    "stock/methods": ("pieces", (X,)),
}


def canonical(file: bytes) -> bytes:
    stream = io.BytesIO()
    write(disassemble(read_pte(file)), stream)
    return stream.getvalue()


def ours(file: bytes, method: str, inputs: tuple[Any, ...]) -> list[Any]:
    program = Runtime.get().load_program(file, external=DataFiles.load(*DATA), poison=True)
    return program.load_method(method).execute(list(inputs))


@pytest.mark.parametrize("name", RUNS)
def test_both_forms_on_both_runtimes(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    method, inputs = RUNS[name]
    path, other = FIXTURES / f"{name}.pte", tmp_path / "canonical.pte"
    file = path.read_bytes()
    expected = ours(file, method, inputs)
    again = canonical(file)
    other.write_bytes(again)
    for results in (
        ours(again, method, inputs),
        stock.run(path, inputs, method),
        stock.run(other, inputs, method),
    ):
        torch.testing.assert_close(results, expected, rtol=1e-6, atol=1e-6)


def test_data_files() -> None:
    """The program of stock's, with the data file of stock's."""
    torch.testing.assert_close(
        ours((FIXTURES / "stock" / "external.pte").read_bytes(), "forward", (X,)),
        [torch.relu(X @ (torch.arange(6.0).reshape(2, 3) / 8).T + 0.5)],
    )


def test_constants_inside_of_the_flatbuffer(stock: StockRuntime, tmp_path: Path) -> None:
    """Stock's runtime no longer takes them; it does take the canonical form, which has them in a segment."""
    path, other = FIXTURES / "constants_inline.pte", tmp_path / "canonical.pte"
    with pytest.raises(StockError):
        stock.run(path, (ROW,))
    other.write_bytes(canonical(path.read_bytes()))
    expected = ours(path.read_bytes(), "forward", (ROW,))
    torch.testing.assert_close(stock.run(other, (ROW,)), expected)
