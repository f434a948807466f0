"""A model with a part that the backend of this example takes, and one that it does not."""

from __future__ import annotations

import torch
from torch import nn


class Gate(nn.Module):
    """Scales its input, and sorts what is above zero to the front."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 2.0, 32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x * self.scale + self.scale)
        front = torch.sort(y, descending=True)[0]
        return torch.relu(front * self.scale) + y


def gate() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return Gate(), (torch.randn(4, 32),)
