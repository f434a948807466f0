"""Sorts as objects: without a unit for floats, in places of 32 bits, and one after the other."""

from __future__ import annotations

from pathlib import Path

import freestanding_machines as machines
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from et_backends.freestanding.compiler.programs import compile_program


class Choice(nn.Module):
    """The largest numbers of a row, the smallest integers of a column, and all of a row in order."""

    def forward(self, x: Tensor, i: Tensor) -> tuple[Tensor, ...]:
        return (
            *torch.topk(x, 3),
            *torch.topk(i, 2, 0, largest=False),
            *torch.sort(x, stable=True, descending=True),
        )


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4", "riscv64gc", "wasm32"])
def test_sorts(target: str, tmp_path: Path):
    x = torch.tensor([[2.5, -0.0, 0.0, float("nan"), -3.0, 2.25], [1.0, 1.0, -1.0, float("inf"), 1e-40, 1.0]])
    i = torch.tensor([[3, -(1 << 40)], [1 << 33, 5], [2, 1 << 62]])
    made = compile_program(torch.export.export(Choice(), (x, i)), target, "net")
    found = machines.run(target, tmp_path, made, [x.numpy(), i.numpy()])
    assert found.status == 0
    assert found.stack <= made.stack_bytes
    values, places = torch.sort(x, stable=True, descending=True)
    expected = values[:, :3], places[:, :3], *torch.topk(i, 2, 0, largest=False), values, places
    for one, other in zip(found.outputs, expected, strict=True):
        np.testing.assert_array_equal(one, other.numpy(), strict=True)
