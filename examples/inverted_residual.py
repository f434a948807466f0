"""The block that MobileNetV2 is made of: channels are expanded, filtered one by one, and projected."""

from __future__ import annotations

import torch
from torch import nn


def block() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The second block of MobileNetV2, without batch norms, and an input for it: `[1, 16, 112, 112]`."""
    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Conv2d(16, 96, 1),
        nn.ReLU6(),
        nn.Conv2d(96, 96, 3, stride=2, padding=1, groups=96),
        nn.ReLU6(),
        nn.Conv2d(96, 24, 1),
    )
    return layers.eval(), (torch.randn(1, 16, 112, 112),)
