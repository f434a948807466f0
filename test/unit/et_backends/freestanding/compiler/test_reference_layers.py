"""Quantized layers beside kernels in C, as `bench.target_layers` measures them: equal bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from bench.target_layers import Layer, counted, layers_of


class Layers(nn.Module):
    """A convolution of few channels, a depthwise, a 1x1 one, one of many, and a linear layer; odd sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.each = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point = nn.Conv2d(8, 12, 1)
        self.many = nn.Conv2d(12, 5, 3)
        self.last = nn.Linear(20, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.each(torch.relu(self.first(x))))
        return self.last(torch.relu(self.many(torch.relu(self.point(x)))).flatten(1))


@pytest.fixture(scope="module")
def layers() -> dict[str, Layer]:
    torch.manual_seed(0)
    inputs = (torch.rand(1, 3, 7, 7),)
    return {layer.name: layer for layer in layers_of(Layers(), inputs, [inputs])}


def test_layers(layers: dict[str, Layer], tmp_path: Path):
    assert {name: layer.kind for name, layer in layers.items()} == {
        "convolution 3×3, 3 → 8, 4×4": "convolution",
        "depthwise 3×3, 8 → 8, 4×4": "depthwise",
        "convolution 1×1, 8 → 12, 4×4": "product",
        "convolution 3×3, 12 → 5, 2×2": "convolution",
        "linear, 20 → 3": "product",
    }
    for layer in layers.values():
        counts = counted(layer, tmp_path)  # which compares the bytes
        assert 0 < counts.ours < 2 * counts.reference, layer.name


class Convolutions(nn.Module):
    """The larger layers of the digits network."""

    size = 16, 8, 8

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(16, 32, 3, padding=1)
        self.second = nn.Conv2d(32, 64, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.second(torch.max_pool2d(torch.relu(self.first(x)), 2)))


class Products(nn.Module):
    """1x1 convolutions of few channels, and of an odd number of pixels."""

    size = 32, 12, 12

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(32, 64, 1)
        self.second = nn.Conv2d(64, 64, 1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.second(torch.max_pool2d(torch.relu(self.first(x)), 4)))


@pytest.mark.parametrize("network", [Convolutions, Products])
def test_no_more_instructions(network: type[Convolutions | Products], tmp_path: Path):
    torch.manual_seed(0)
    inputs = (torch.rand(1, *network.size),)
    for layer in layers_of(network(), inputs, [inputs]):
        counts = counted(layer, tmp_path)
        assert counts.ours <= counts.reference, layer.name
