"""Small networks with the patterns that a quantizer matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Net(nn.Module):
    """A function of submodules."""

    def __init__(self, function: Callable[..., torch.Tensor], *modules: nn.Module) -> None:
        super().__init__()
        self.function = function
        self.m = nn.ModuleList(modules)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(self.m, *inputs)


def _image_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU6(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, groups=8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    )


NETS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), (3, 8)),
    "image": (_image_net, (2, 3, 12, 12)),
    "residual": (
        lambda: Net(lambda m, x: torch.relu(m[1](m[0](x)) + x), nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 1)),
        (1, 4, 8, 8),
    ),
    "concatenation": (
        lambda: Net(
            lambda m, x: m[2](torch.cat([m[0](x), m[1](x)], 1)),
            nn.Conv2d(4, 4, 1),
            nn.Conv2d(4, 2, 1),
            nn.Conv2d(6, 3, 1),
        ),
        (1, 4, 8, 8),
    ),
    "products": (
        lambda: Net(
            lambda m, x: m[0](x) * torch.sigmoid(m[1](x)) + x * 2.0 + 1.5, nn.Linear(4, 4), nn.Linear(4, 4)
        ),
        (3, 4),
    ),
    "transposed": (lambda: nn.Sequential(nn.ConvTranspose2d(3, 4, 2, stride=2), nn.ReLU()), (1, 3, 4, 4)),
    "sequence": (lambda: nn.Sequential(nn.Conv1d(3, 4, 3), nn.ReLU()), (1, 3, 9)),
    "views": (
        lambda: Net(
            lambda m, x: m[1](m[0](x).transpose(1, 2).reshape(2, -1)[:, 2:10]),
            nn.Linear(6, 4),
            nn.Linear(8, 3),
        ),
        (2, 5, 6),
    ),
    "attention": (lambda: nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), (1, 4, 16)),
    "twice": (lambda: Net(lambda m, x: m[0](x) + m[0](x) * m[0](x), nn.Linear(4, 4)), (3, 4)),
}
"""By name: what makes the module, and the shape of its input."""


def made(name: str, *, training: bool = False) -> tuple[nn.Module, tuple[Any, ...]]:
    """A network and its input."""
    torch.manual_seed(0)
    build, shape = NETS[name]
    return build().train(training), (torch.randn(shape),)
