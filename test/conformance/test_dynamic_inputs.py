"""Dynamic input sizes, on every runtime, against eager."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockError, StockRuntime
from torch import Tensor, nn
from torch.export import Dim

from et_ir import to_edge
from et_ir.diagnostics import PassReport
from et_schema.errors import InputError
from et_vm.runtime import Runtime

MOST = 16
SIZES = (4, 1, MOST, 7)
"""Sizes in the order in which programs are run with them: tensors grow and shrink."""


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x + self.attention(x, x, x)[0])


class Selected(nn.Module):
    """A size that the data tells, of at most a size that the caller chooses."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x[x > 0] * 2, torch.nonzero(x).sum(0)


class Pair(nn.Module):
    """Two inputs with one size in common."""

    def forward(self, a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        joined = torch.cat([a, b], 1)
        return joined.sum(0), joined.mean(1, keepdim=True).expand(-1, 3), torch.cat([joined, joined])


def module(name: str) -> tuple[nn.Module, Callable[[int], tuple[Tensor, ...]], tuple[int, ...]]:
    """A module, what makes its inputs of a size, and which of their dimensions have it."""
    torch.manual_seed(0)
    match name:
        case "layers":
            layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(-1))
            return layers, lambda n: (torch.randn(n, 4),), (0,)
        case "convolution":
            layers = nn.Sequential(
                nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
            )
            return layers, lambda n: (torch.randn(n, 3, 8, 8),), (0,)
        case "attention":
            return Attention(), lambda n: (torch.randn(2, n, 8),), (1,)
        case "selection":
            return Selected(), lambda n: (torch.randn(n, 3),), (0,)
        case _:
            return Pair(), lambda n: (torch.randn(n, 4), torch.randn(n, 2)), (0, 0)


def compiled(name: str, most: int | None = MOST) -> bytes:
    net, make, dims = module(name)
    size = Dim("n", min=1, max=most)
    example = make(4)
    shapes = {"input": {dims[0]: size}} if isinstance(net, nn.Sequential) else tuple({d: size} for d in dims)
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        program = torch.export.export(net.eval(), example, dynamic_shapes=shapes)
    return to_edge(program).to_executorch().buffer


@pytest.mark.parametrize("name", ["layers", "convolution", "attention", "selection", "pair"])
def test_results(name: str, tmp_path: Path, stock: StockRuntime) -> None:
    net, make, _ = module(name)
    path = tmp_path / "model.pte"
    path.write_bytes(compiled(name))
    methods = [
        Runtime.get().load_program(path, kernels=library, poison=True).load_method("forward")
        for library in ("portable", "aten")
    ]
    for size in SIZES:
        inputs = make(size)
        with torch.no_grad():
            found: Any = net.eval()(*inputs)
        expected = [found] if isinstance(found, Tensor) else list(found)
        runs = [method.execute(list(inputs)) for method in methods]
        for results in (*runs, stock.run(path, inputs)):
            torch.testing.assert_close(list(results), expected, rtol=1e-4, atol=1e-5)
    for method in methods:
        with pytest.raises(InputError, match=f"is {MOST + 1}, its upper bound is {MOST}"):
            method.execute(list(make(MOST + 1)))
    with pytest.raises(StockError, match="resize a bounded tensor"):
        stock.run(path, make(MOST + 1))


def test_without_a_limit() -> None:
    with pytest.raises(PassReport, match=r"with unbounded sizes\n.*Dim\(\"n\", max=N\)"):
        compiled("layers", most=None)
