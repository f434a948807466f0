"""The small model of the README and the pages."""

from __future__ import annotations

import torch
from torch import nn


class Net(nn.Module):
    """A linear layer, batch-normalised, rectified and doubled."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.fc(x))) * 2


def net() -> tuple[nn.Module, tuple[torch.Tensor]]:
    """The model with seeded weights, and an example input of two rows."""
    torch.manual_seed(0)
    return Net().eval(), (torch.randn(2, 4),)
