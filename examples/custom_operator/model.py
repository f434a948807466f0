"""A model that calls an operator of its own: a moving average along the last dimension."""

from __future__ import annotations

import torch
from torch import nn

torch.library.define("signal::smooth", "(Tensor x, int width) -> Tensor")
torch.library.define("signal::smooth.out", "(Tensor x, int width, *, Tensor(a!) out) -> Tensor(a!)")


@torch.library.impl("signal::smooth", "CPU")
def smooth(x: torch.Tensor, width: int) -> torch.Tensor:
    return x.unfold(-1, width, 1).mean(-1)


@torch.library.register_fake("signal::smooth")
def smooth_without_data(x: torch.Tensor, width: int) -> torch.Tensor:
    return x.new_empty(*x.shape[:-1], x.shape[-1] - width + 1)


class Envelope(nn.Module):
    """The loudness of a signal over time."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.signal.smooth(x.abs(), 4).sqrt()


def envelope() -> tuple[nn.Module, tuple[torch.Tensor], tuple[dict[int, object]]]:
    """The model, an example of twelve samples, and that there may be up to a hundred."""
    return Envelope(), (torch.ones(2, 12),), ({1: torch.export.Dim("samples", min=8, max=100)},)
