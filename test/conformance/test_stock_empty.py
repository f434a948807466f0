"""Dynamically empty tensors on the stock runtime.

The VM does with them what torch does.

Where a shape is known, `legalize` leaves no such tensor to a kernel. Where a size is the caller's, the compiler
cannot tell that it will be zero.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from stock import StockError, StockRuntime
from sweep.compare import difference

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.targets.lookup import DEFAULT
from et_vm.runtime import Runtime

Function = Callable[[torch.Tensor], torch.Tensor]

ENDS: dict[str, Function] = {"amax": lambda x: x.amax(1), "amin": lambda x: x.amin(1)}
"""Maxima along a dimension of three elements, of no rows: the process is aborted, though each row has a maximum."""


class Calls(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def compiled(function: Function, rows: int | None) -> bytes:
    """The file of a function of rows of three: of so many, or of up to eight."""
    sizes = None if rows is not None else ({0: torch.export.Dim("n", min=0, max=8)},)
    example = torch.ones(4 if rows is None else rows, 3)
    program = torch.export.export(Calls(function), (example,), dynamic_shapes=sizes, strict=False)
    return to_edge(program).to_executorch(ExecutorchBackendConfig(target=DEFAULT)).buffer


def on_vm(file: bytes, x: torch.Tensor) -> list[object]:
    return list(Runtime.get().load_program(file).load_method("forward").execute([x]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDS)
def test_the_process_ends(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    path, function, x = tmp_path / "model.pte", ENDS[name], torch.ones(0, 3)
    path.write_bytes(file := compiled(function, None))
    assert difference(on_vm(file, x), [function(x)]) is None
    assert difference(stock.run(path, [torch.ones(2, 3)]), [function(torch.ones(2, 3))]) is None
    with pytest.raises(StockError, match="the stock runtime died"):
        stock.run(path, [x])


def joined(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x], 1)


def test_what_is_empty_has_no_columns(stock: StockRuntime, tmp_path: Path) -> None:
    """`cat` leaves out what has no elements, of any rank; torch only what has one dimension."""
    path, x = tmp_path / "model.pte", torch.ones(0, 3)
    path.write_bytes(file := compiled(joined, None))
    assert difference(on_vm(file, x), [joined(x)]) is None
    (result,) = stock.run(path, [x])
    assert (result.shape, joined(x).shape) == ((0, 0), (0, 6))


@pytest.mark.parametrize("name", [*ENDS, "cat", "tril", "log_softmax", "attention"])
def test_where_the_shape_is_known(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    """The compiler leaves no kernel anything to do."""
    others: dict[str, Function] = {
        "cat": joined,
        "tril": torch.tril,
        "log_softmax": lambda x: x.log_softmax(1),
        "attention": lambda x: torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    }
    function, path, x = (ENDS | others)[name], tmp_path / "model.pte", torch.ones(0, 3)
    path.write_bytes(compiled(function, 0))
    assert difference(stock.run(path, [x]), [function(x)]) is None
