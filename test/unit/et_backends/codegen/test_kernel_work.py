"""Operations and bytes of kernels: in the blob, and what the runtime says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_backends.native.compiler.tuning import sets_here
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_vm.runtime import Runtime


def work(
    module: nn.Module, *inputs: torch.Tensor, dynamic: Any = None
) -> list[tuple[str, int, int, int | None]]:
    """Name, bytes read and written, and operations of the kernels of the only partition, after a call."""
    torch.manual_seed(0)
    exported = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic)
    partitioner = NativePartitioner(instruction_sets=sets_here(INSTRUCTION_SETS))
    file = to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch(
        ExecutorchBackendConfig(target="et-vm")
    )
    method = Runtime().load_program(file.buffer, allow_native=True).load_method("forward")
    method.execute([one.numpy() for one in inputs])
    delegates = [one.index for one in method.instructions if one.opcode.mnemonic == "delegate"]
    return [tuple(part[1:]) for index in delegates for part in method.delegate_work(index)]


class Several(nn.Module):
    """A product with a bias, rows without a formula, and a product of two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 8)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.softmax(torch.relu(self.fc(x)), -1), x @ y


def test_products_and_what_is_fused() -> None:
    found = {name: rest for name, *rest in work(Several(), torch.randn(5, 6), torch.randn(6, 3))}
    products = sorted(rest for name, rest in found.items() if name.startswith("product"))
    assert products == [
        [4 * (5 * 6 + 6 * 3), 4 * 5 * 3, 2 * 5 * 3 * 6],
        [4 * (5 * 6 + 8 * 6 + 8), 4 * 5 * 8, 5 * 8 * (2 * 6 + 1)],
    ]
    # The activation is computed with the rows that read it.
    assert found["softmax_0"] == [4 * 40, 4 * 40, None]


@pytest.mark.parametrize(
    ("module", "sizes", "weights", "flops"),
    [
        (nn.Conv2d(3, 4, 3, padding=1), (1, 4, 6, 5), 4 * 27 + 4, 120 * (2 * 27 + 1)),
        (nn.Conv2d(4, 4, 3, groups=4, bias=False), (1, 4, 4, 3), 36, 48 * 2 * 9),
        (nn.ConvTranspose2d(3, 2, 2, stride=2, bias=False), (1, 2, 12, 10), 24, 2 * 90 * 8),
    ],
)
def test_convolutions(module: nn.Conv2d, sizes: tuple[int, ...], weights: int, flops: int) -> None:
    channels = module.in_channels
    found = [one for one in work(module, torch.randn(1, channels, 6, 5)) if one[-1] is not None]
    ((_, read, written, operations),) = found
    assert operations == flops
    assert written == 4 * int(np.prod(sizes))
    assert read == 4 * (channels * 30 + weights)


def test_simple_arithmetic() -> None:
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (x + y).relu() * x

    class Unknown(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.tanh(x) * y

    x, y = torch.randn(3, 5), torch.randn(3, 5)
    assert work(Net(), x, y) == [("pointwise_0", 120, 60, 45)]
    assert work(Unknown(), x, y) == [("pointwise_0", 120, 60, None)]


def test_a_lookup_reads_what_it_finds() -> None:
    ((_, read, written, flops),) = work(nn.Embedding(1000, 8), torch.tensor([1, 5, 7]))
    assert (read, written, flops) == (3 * 8 * 4 + 3 * 8, 3 * 8 * 4, None)


def test_sizes_known_at_run_time() -> None:
    rows = torch.export.Dim("rows", min=2, max=9)
    assert work(nn.Linear(4, 3), torch.randn(5, 4), dynamic=({0: rows},)) == []
