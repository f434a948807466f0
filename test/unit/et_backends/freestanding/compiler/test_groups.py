"""Products of groups of rows as objects: where groups end is checked in the type that it is given in."""

from __future__ import annotations

from pathlib import Path

import freestanding_machines as machines
import numpy as np
import pytest
import torch
from support.accuracy import assert_accurate, truth_of
from torch import Tensor, nn

from et_backends.freestanding.compiler.programs import compile_program
from et_ir.frontend.experts import grouped_linear


class Groups(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(15, 8, generator=torch.Generator().manual_seed(0)))

    def forward(self, x: Tensor, ends: Tensor) -> Tensor:
        return grouped_linear(x, self.weight, ends)


@pytest.mark.parametrize("target", ["cortex-m4", "riscv64gc"])
def test_ends(target: str, tmp_path: Path):
    """Indices of Cortex-M have 32 bits: the low half of an end that is beyond them is no end."""
    x = torch.randn(6, 8, generator=torch.Generator().manual_seed(1))
    ends = torch.tensor([1, 1, 5])
    module = Groups()
    made = compile_program(torch.export.export(module, (x, ends)), target, "net")
    found = machines.run(target, tmp_path, made, [x.numpy(), ends.numpy()])
    assert found.status == 0
    with torch.no_grad():
        assert_accurate(found.outputs[0], truth_of(module, x, ends))
    for refused in ([0, 1, 7], [-1, 0, 6], [0, 1, (1 << 32) + 3], [-1 << 63, 1, 2]):
        given = np.array(refused, np.int64)
        assert machines.run(target, tmp_path, made, [x.numpy(), given]).status == 1, refused
