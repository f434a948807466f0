"""Weights of 4 bits as objects: half a byte each in flash, unpacked where they are multiplied."""

from __future__ import annotations

from pathlib import Path

import freestanding_machines as machines
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from et_backends.freestanding.compiler.programs import compile_program
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.managers import to_edge
from et_ir.quantization import quantize
from et_vm.runtime import Runtime


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48 + 16, 32))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.layers[:2](x)
        return self.layers[2](torch.cat((hidden, x[:, :16]), 1))


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m0plus", "riscv64gc"])
def test_groups_of_four_bits(target: str, tmp_path: Path):
    torch.manual_seed(0)
    x = torch.randn(2, 64)
    module = quantize(Layers().eval(), (x,), "8da4w:group=32").module
    program = torch.export.export(module, (x,))
    made = compile_program(program, target, "net")
    weights = 64 * 48 + 64 * 32
    # A scale for 32 of them, and biases.
    assert made.constant_bytes < weights // 2 + 4 * weights // 32 + 1024
    file = to_edge(program).to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    expected = np.asarray(Runtime().load_program(file).load_method("forward").execute([x.numpy()])[0])
    found = machines.run(target, tmp_path, made, [x.numpy()])
    assert found.status == 0
    assert found.stack <= made.stack_bytes
    np.testing.assert_allclose(found.outputs[0], expected, rtol=0, atol=1e-5 * np.abs(expected).max())
