"""Conversions on a Cortex-M55: LLVM's code generator aborts on some of its own, next to powers of 2."""

from __future__ import annotations

from pathlib import Path

import freestanding_machines as machines
import numpy as np
import pytest
import torch
from torch import nn

from et_backends.freestanding.compiler.programs import compile_program


class Scaled(nn.Module):
    """Integers as floats, in sixteenths."""

    def forward(self, x):
        return x * 0.0625


class Rounded(nn.Module):
    """Floats as integers, times 2^16."""

    def forward(self, x):
        return (x * 2.0**16).to(torch.int32)


@pytest.mark.parametrize("count", [150, 151, 3])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_scaled(dtype, count: int, tmp_path: Path):
    x = (torch.arange(count) * 7 - 60).to(dtype)
    made = compile_program(torch.export.export(Scaled(), (x,)), "cortex-m55", "net")
    assert "vcvt.f32" in made.assembly
    found = machines.run("cortex-m55", tmp_path, made, [x.numpy()])
    np.testing.assert_array_equal(found.outputs[0], (x * 0.0625).numpy())


def test_rounded(tmp_path: Path):
    x = torch.tensor([*torch.linspace(-9, 9, 145), 1e30, -1e30, float("inf"), float("-inf"), float("nan")])
    made = compile_program(torch.export.export(Rounded(), (x,)), "cortex-m55", "net")
    assert "vcvt.s32.f32" in made.assembly
    found = machines.run("cortex-m55", tmp_path, made, [x.numpy()])
    right = np.trunc(x.double().numpy() * 2**16)
    # What an i32 does not hold is the least one, as torch has it on processors of x86.
    held = np.where((right >= -(2**31)) & (right < 2**31), right, -(2**31)).astype(np.int32)
    np.testing.assert_array_equal(found.outputs[0], held)
