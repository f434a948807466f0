"""Activations of 16 bits: computed by kernels that have the type, and left out of delegates with a reason that names
the layer.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers)

from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_ir.backends import make_partitioner
from et_vm.runtime import Runtime

Q: Any = torch.ops.quantized_decomposed


class Wide(nn.Module):
    """A layer of activations of 16 bits and weights of 8."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.register_buffer("weight", torch.randint(-127, 128, (4, 8), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(4) * 0.01 + 0.001)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        limits = 2.0**-12, 0, -32768, 32767, torch.int16
        x = Q.dequantize_per_tensor(Q.quantize_per_tensor(x, *limits), *limits)
        weight = Q.dequantize_per_channel(self.weight, self.scales, None, 0, -127, 127, torch.int8)
        y = nn.functional.linear(x, weight)
        return Q.dequantize_per_tensor(Q.quantize_per_tensor(y, *limits), *limits)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide = Wide()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.wide(x))


def program() -> tuple[torch.export.ExportedProgram, torch.Tensor]:
    x = torch.randn(3, 8)
    return torch.export.export(Net().eval(), (x,)), x


@pytest.mark.parametrize("backend", [None, "xnnpack", "native"])
def test_results(backend: str | None) -> None:
    exported, x = program()
    partitioner = None if backend is None else make_partitioner(backend)
    edge = to_edge_transform_and_lower(exported, partitioner=partitioner)
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    (found,) = (
        Runtime().load_program(file, allow_native=True, poison=True).load_method("forward").execute([x])
    )
    # A sum that is half way between two steps may be rounded either way.
    torch.testing.assert_close(torch.as_tensor(found), exported.module()(x), rtol=0, atol=2.0**-12 * 1.001)


@pytest.mark.parametrize("target", ["stock-1.5", "stock-1.5-quantized"])
def test_other_targets_have_a_program(target: str) -> None:
    exported, x = program()
    file = to_edge(exported).to_executorch(ExecutorchBackendConfig(target=target)).buffer
    (found,) = Runtime().load_program(file, poison=True).load_method("forward").execute([x])
    torch.testing.assert_close(torch.as_tensor(found), exported.module()(x), rtol=0, atol=2.0**-12 * 1.001)


@pytest.mark.parametrize("backend", ["xnnpack", "native"])
def test_the_reason_names_the_layer(backend: str) -> None:
    exported, _ = program()
    edge = to_edge_transform_and_lower(exported, partitioner=make_partitioner(backend))
    assert edge.delegation is not None
    left = [one for one in edge.delegation.json()["left_out"] if "i16" in str(one["reasons"])]
    assert left
    assert {one["module"] for one in left} == {"wide"}
