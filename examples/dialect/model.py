"""A polynomial, by Horner's rule."""

from __future__ import annotations

import torch
from torch import nn


class Polynomial(nn.Module):
    """`x³ + x² + x`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * x + x) * x + x


def polynomial() -> tuple[nn.Module, tuple[torch.Tensor]]:
    """The model, and an example of four numbers."""
    return Polynomial(), (torch.ones(4),)
