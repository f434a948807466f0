"""Weights of few bits in files for the VM: their bytes, and results to the bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers)

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from et_vm.runtime import Runtime

Q: Any = torch.ops.quantized_decomposed
ROWS, COLUMNS, GROUP = 96, 64, 16


class Quantized(nn.Module):
    """A matrix that has scales for groups, or rows of it."""

    def __init__(self, bits: int, *, zeros: bool, table: bool) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(bits)
        half = 1 << (bits - 1)
        self.limits = (-half, half - 1)
        shape = (ROWS, COLUMNS // GROUP)
        weight = torch.randint(-half, half, (ROWS, COLUMNS), generator=generator)
        self.register_buffer("weight", weight.to(torch.int8))
        self.register_buffer("scales", torch.rand(shape, generator=generator) + 0.01)
        points = torch.randint(-half, half, shape, generator=generator) * zeros
        self.register_buffer("zeros", points)
        self.table = table

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        restored = Q.dequantize_per_channel_group(
            self.weight, self.scales, self.zeros, *self.limits, torch.int8, GROUP, torch.float32
        )
        return nn.functional.embedding(x, restored) if self.table else x + restored


def compiled(module: nn.Module, x: torch.Tensor, level: str) -> bytes:
    exported = torch.export.export(module, (x,), strict=False)
    edge = to_edge(exported, compile_config=EdgeCompileConfig(level=level))
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm", level=level)).buffer


def run(file: bytes, x: torch.Tensor) -> torch.Tensor:
    (result,) = Runtime.get().load_program(file, poison=True).load_method("forward").execute([x])
    return torch.as_tensor(result)


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_bits_and_bytes(bits: int, *, zeros: bool, table: bool) -> None:
    module = Quantized(bits, zeros=zeros, table=table)
    x = torch.tensor([[3, 0, 95], [7, 7, 1]]) if table else torch.randn(ROWS, COLUMNS)
    packed, plain = (compiled(module, x, level) for level in ("1", "0"))
    saved = ROWS * COLUMNS * (8 - bits) // 8
    indices = 0 if table else ROWS * 8
    floats = ROWS * COLUMNS // GROUP * 4  # zero points that are not zero are i64, and become f32
    if bits < 8:
        assert len(plain) - len(packed) > saved - indices - 500
    assert len(packed) <= len(plain) + 500 + floats
    assert torch.equal(run(packed, x), module(x))
    assert torch.equal(run(plain, x), module(x))
