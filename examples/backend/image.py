"""A network on images, as small as one with two convolutions can be."""

from __future__ import annotations

import torch
from torch import nn


class Image(nn.Module):
    """Two convolutions, of which the second has a channel for each filter."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 4, 3, padding=1, groups=4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.second(torch.relu(self.first(x))))


def image() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    return Image(), (torch.randn(1, 3, 8, 8),)
