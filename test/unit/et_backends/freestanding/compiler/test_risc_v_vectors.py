"""Vector conversions of RISC-V with a rounding mode of their own."""

from __future__ import annotations

from pathlib import Path

import freestanding_machines as machines
import numpy as np
import torch
from torch import Tensor, nn

from et_backends.freestanding.compiler.programs import compile_program


class Truncations(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.trunc(), x.to(torch.int64)


def test_conversions_toward_zero(tmp_path: Path) -> None:
    x = torch.tensor([[1.7, -1.7, 0.5, -0.2, 3.9, 2.5, 1e6, -8.99, 7.3]])
    made = compile_program(torch.export.export(Truncations(), (x,)), "riscv64gcv", "net")
    assert "vfcvt.rtz.x.f.v" in made.assembly
    assert "vfwcvt.rtz.x.f.v" in made.assembly
    found = machines.run("riscv64gcv", tmp_path, made, [x.numpy()])
    for got, wanted in zip(found.outputs, Truncations()(x), strict=True):
        np.testing.assert_array_equal(got, wanted.numpy())
