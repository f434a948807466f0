"""Numbers for which the stock runtime's kernels give something else than torch, and et-vm what torch gives.

`docs/vm.md` has them as a table. They are rows of their own, and no `stock_faults`, as each is about single numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from pathlib import Path

import pytest
import torch
from kernel_files import KernelCall, on_stock, on_vm
from stock import StockRuntime

DOCUMENT = Path(__file__).parents[2] / "docs" / "vm.md"


@dataclass(frozen=True)
class Row:
    """The results of an operator for some numbers on the stock runtime, and in torch and here."""

    operators: str
    given: str
    stock: str
    torch: str
    why: str

    def __str__(self) -> str:
        return f"| {self.operators} | {self.given} | {self.stock} | {self.torch} | {self.why} |"


SIGN = Row(
    "`sign`", "NaN", "NaN", "0", "torch counts comparisons, which NaN fails; stock returns a NaN as it is"
)
FLOOR = Row(
    "`floor_divide`, `div` with `floor`",
    "0 / 0",
    "±inf",
    "NaN",
    "stock divides by zero without looking at what",
)
ROOT = Row("`pow` with the number 0.5", "-inf", "inf", "NaN", "torch takes the root; stock calls C's `pow`")
ROWS = (SIGN, FLOOR, ROOT)

ZEROS = torch.tensor([0.0, -0.0])
CALLS = (
    (SIGN, KernelCall("aten::sign.out", (torch.tensor([nan, -nan]),), (ZEROS,)), nan, 0.0),
    (FLOOR, KernelCall("aten::floor_divide.out", (ZEROS, -ZEROS), (ZEROS,)), inf, nan),
    (FLOOR, KernelCall("aten::div.out_mode", (ZEROS, -ZEROS, "floor"), (ZEROS,)), inf, nan),
    (ROOT, KernelCall("aten::pow.Tensor_Scalar_out", (torch.tensor([-inf, -inf]), 0.5), (ZEROS,)), inf, nan),
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    ("row", "call", "theirs", "ours"), CALLS, ids=lambda value: getattr(value, "operator", "")
)
def test_what_each_gives(
    row: Row,
    call: KernelCall,
    theirs: float,
    ours: float,
    dtype: torch.dtype,
    stock: StockRuntime,
    tmp_path: Path,
) -> None:
    assert row in ROWS
    arguments = tuple(a.to(dtype) if isinstance(a, torch.Tensor) else a for a in call.arguments)
    file = KernelCall(call.operator, arguments, tuple(out.to(dtype) for out in call.outs)).file()
    (from_vm,), (from_stock,) = on_vm(file), on_stock(stock, file, tmp_path / "call.pte")
    both = {"rtol": 0, "atol": 0, "equal_nan": True}
    torch.testing.assert_close(from_stock.abs(), torch.full_like(from_stock, theirs), **both)
    torch.testing.assert_close(from_vm, torch.full_like(from_vm, ours), **both)
    torch.testing.assert_close(from_vm, in_torch(call.operator, *arguments), **both)


def in_torch(operator: str, *arguments: object) -> torch.Tensor:
    functions = {
        "aten::sign.out": torch.sign,
        "aten::floor_divide.out": torch.floor_divide,
        "aten::div.out_mode": lambda a, b, mode: torch.div(a, b, rounding_mode=mode),
        "aten::pow.Tensor_Scalar_out": torch.pow,
    }
    return functions[operator](*arguments)


def test_the_table_is_in_the_documentation() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert "\n".join(map(str, ROWS)) in text
