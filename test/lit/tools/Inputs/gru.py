"""A recurrent layer of twelve steps."""

import torch
from torch import nn


def gru() -> tuple[nn.Module, tuple[torch.Tensor]]:
    """The layer, and a sequence."""
    torch.manual_seed(0)
    return nn.GRU(2, 3).eval(), (torch.randn(12, 1, 2),)
