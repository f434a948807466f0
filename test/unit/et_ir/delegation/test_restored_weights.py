"""A weight that is restored from integers for several ops, of which a backend takes some."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers)
from torch.nn import functional

from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends import make_partitioner
from et_vm.runtime import Runtime

Q: Any = torch.ops.quantized_decomposed
I8 = (-128, 127, torch.int8)


class Tied(nn.Module):
    """A table whose rows are the weight of layers, too, of which some compute in floats."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        weight = torch.randint(-127, 128, (16, 16), generator=generator)
        self.register_buffer("weight", weight.to(torch.int8))
        self.register_buffer("scales", torch.rand(16, generator=generator) * 0.01 + 1e-3)
        self.register_buffer("zeros", torch.zeros(16, dtype=torch.int64))
        self.layers = layers

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        weight = Q.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -127, 127, torch.int8)
        x = functional.embedding(ids, weight)
        for _ in range(self.layers):
            x = Q.dequantize_per_tensor(Q.quantize_per_tensor(x, 0.01, 0, *I8), 0.01, 0, *I8)
            x = functional.linear(x, weight)
        return Q.dequantize_per_tensor(Q.quantize_per_tensor(x, 0.02, 0, *I8), 0.02, 0, *I8)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize(
    ("backend", "outside"),
    [
        ("xnnpack", ["dequantize_per_channel", "embedding"]),
        ("native:without=embedding", ["dequantize_per_channel", "embedding"]),
        ("native", []),
    ],
)
def test_each_reader_restores_it(backend: str, outside: list[str], layers: int) -> None:
    module, ids = Tied(layers), torch.tensor([[3, 0, 7]])
    program = torch.export.export(module, (ids,))
    edge = to_edge_transform_and_lower(program, partitioner=make_partitioner(backend))
    left = [op.name.rpartition(".")[2] for op in edge.module.walk() if op.name.startswith("edge.")]
    assert left == outside
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime.get().load_program(file, allow_native=True, poison=True).load_method("forward")
    torch.testing.assert_close(torch.as_tensor(method.execute([ids])[0]), module(ids), rtol=0, atol=0.0201)
