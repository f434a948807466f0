"""Embedding bags on the VM, and on the stock runtime, which has no kernel for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from sweep.compare import difference

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.targets.lookup import DEFAULT
from et_vm.runtime import Runtime

GENERATOR = torch.Generator().manual_seed(0)
INDICES = torch.tensor([0, 1, 3, 2, 2, 0, 1, 1, 3])
FACTORS = torch.randn(9, generator=GENERATOR)
BAGS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "sums": ((0, 3, 3, 6), {"mode": "sum"}),
    "sums with factors": ((0, 2), {"mode": "sum", "per_sample_weights": FACTORS, "padding_idx": 1}),
    "means": ((0, 3, 3, 6, 9), {"mode": "mean", "include_last_offset": True, "padding_idx": 2}),
    "means of nothing": ((0, 0, 9, 9), {"mode": "mean"}),
    "maxima": ((0, 3, 3, 6), {"mode": "max", "padding_idx": 0}),
    "maxima with an end": ((0, 1, 9), {"mode": "max", "include_last_offset": True}),
    "sums up to an end": ((0, 3, 5), {"mode": "sum", "include_last_offset": True}),
    "sums with factors up to an end": (
        (0, 3, 5),
        {"mode": "sum", "include_last_offset": True, "per_sample_weights": FACTORS},
    ),
    "sums with padding beyond an end": (
        (0, 3, 5),
        {"mode": "sum", "include_last_offset": True, "padding_idx": 2},
    ),
    "means up to an end": ((0, 3, 5), {"mode": "mean", "include_last_offset": True}),
    "maxima beyond an end": ((0, 3, 5), {"mode": "max", "include_last_offset": True}),
}


class Bags(torch.nn.Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def forward(self, table: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.embedding_bag(indices, table, offsets, **self.options)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
@pytest.mark.parametrize("name", BAGS)
def test_results_of_torch(name: str, dtype: torch.dtype, stock: StockRuntime, tmp_path: Path) -> None:
    offsets, options = BAGS[name]
    options = {k: v.to(dtype) if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    table = torch.randn(4, 3, generator=GENERATOR).to(dtype) - 2
    integer = torch.int32 if dtype is torch.float64 else torch.int64
    inputs = (table, INDICES.to(integer), torch.tensor(offsets, dtype=integer))
    module = Bags(**options)
    program = to_edge(torch.export.export(module, inputs, strict=False))
    path = tmp_path / "bags.pte"
    path.write_bytes(program.to_executorch(ExecutorchBackendConfig(target=DEFAULT)).buffer)
    expected = [module(*inputs)]
    assert difference(stock.run(path, inputs), expected) is None
    path.write_bytes(program.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer)
    method = Runtime.get().load_program(path).load_method("forward")
    assert difference(method.execute(list(inputs)), expected) is None
