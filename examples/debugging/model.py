"""A model with two ReLUs, of which only one has an effect."""

from __future__ import annotations

import torch
from torch import nn


class Rectified(nn.Module):
    """Squares and sums, rectified."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        squares = torch.relu(x * x)
        sums = torch.relu(x + y)
        return squares - sums


def rectified() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The model, and example inputs of both signs."""
    return Rectified(), (torch.tensor([-2.0, 0.5, 1.0]), torch.tensor([1.0, -1.0, 3.0]))
