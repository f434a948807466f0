"""Products with many rows and a long shared dimension, and attention over many keys: stack bounds."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from et_backends.freestanding.compiler.programs import compile_program


class Point(nn.Module):
    """A convolution of single pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8, 264, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.conv2d(x, self.weight)


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m55"])
@pytest.mark.parametrize(
    ("module", "x"),
    [(nn.Linear(264, 8), torch.zeros(192, 264)), (Point(), torch.zeros(1, 264, 12, 16))],
    ids=["linear", "point"],
)
def test_stack(target: str, module: nn.Module, x: Tensor):
    made = compile_program(torch.export.export(module.eval(), (x,)), target, "net")
    assert made.stack_bytes < 1 << 10


class OneQuery(nn.Module):
    """Attention."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, v)


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m55"])
def test_stack_of_attention(target: str):
    """Scores of 256 keys at a time."""
    query, keys = torch.zeros(1, 2, 1, 8), torch.zeros(1, 2, 1100, 8)
    made = compile_program(torch.export.export(OneQuery(), (query, keys, keys)), target, "net")
    assert 256 * 4 <= made.stack_bytes < 2 << 10
