"""Channels-last programs run on both runtimes as in eager, whatever flows between contiguous and channels-last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from et_ir import to_edge
from et_vm.runtime import Runtime

LAST = torch.channels_last


class Blocks(nn.Module):
    """Operators that keep the layout, and after each one that does not: broadcasting, a view, a reduction."""

    def __init__(self, start: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.start = start
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, groups=8)
        self.conv3 = nn.Conv2d(8, 4, 1)
        self.scale = nn.Parameter(torch.rand(4, 1, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.norm(self.conv1(self.start(x))).relu()
        z = self.conv3(torch.nn.functional.max_pool2d(self.conv2(y), 2) * 0.5)
        return y, z, z * self.scale, z.flatten(1), z.mean((2, 3)), torch.cat([z, z + 1], 1)


CASES: dict[str, tuple[Callable[[Tensor], Tensor], Any]] = {
    "input": (lambda x: x, LAST),
    "conversion": (lambda x: x.to(memory_format=LAST), torch.contiguous_format),
    "back": (lambda x: x.contiguous().relu().contiguous(memory_format=LAST), LAST),
    "contiguous": (lambda x: x, torch.contiguous_format),
}


@pytest.mark.parametrize("case", CASES)
def test_layout(case: str, stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(0)
    start, layout = CASES[case]
    module = Blocks(start).eval()
    x = torch.rand(1, 3, 12, 12).contiguous(memory_format=layout)
    path = tmp_path / "model.pte"
    to_edge(torch.export.export(module, (x,))).to_executorch().save(path)
    with torch.no_grad():
        expected = tree_leaves(module(x))
    runs = {"stock": stock.run(path, [x])}
    for kernels in ("portable", "aten"):
        runs[kernels] = Runtime.get().load_program(path, kernels=kernels).load_method("forward").execute([x])
    for name, outputs in runs.items():
        for found, wanted in zip(outputs, expected, strict=True):
            torch.testing.assert_close(
                found, wanted, rtol=1e-4, atol=1e-5, msg=lambda m, name=name: f"{name}: {m}"
            )
