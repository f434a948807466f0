"""A model with an operator for each planted fault, one a line."""

from __future__ import annotations

import torch
import torch.ao.quantization.fx._decomposed  # registers the operators
from torch import nn


class Lines(nn.Module):
    """Each value is used once more than by the next line, so that no line can be left out."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.fc = nn.Linear(36, 6)
        self.last = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a = self.conv(x)
        b = torch.relu(a)
        c = torch.add(a, b, alpha=0.5)
        d = torch.sub(c, b)
        e = torch.nn.functional.avg_pool2d(d, 2, padding=1)
        f = torch.nn.functional.pad(e, (1, 1, 1, 1))
        g = torch.clamp(f, -0.25, 0.75)
        h = torch.mul(g, 3.0)
        i = torch.sigmoid(h)
        j = torch.cat([i[:, :, :3], h[:, :, 3:]], 2)
        k = j.permute(0, 1, 3, 2)
        m = torch.mean(k, 1)
        n = m[:, 0:6, 0:6].flatten(1)
        o = self.fc(n)
        p = torch.where(o > 0, o, o * o)
        q = torch.softmax(p, -1)
        r = torch.div(o, q + 1)
        s = torch.ops.quantized_decomposed.quantize_per_tensor(r, 0.05, 3, -128, 127, torch.int8)
        t = torch.ops.quantized_decomposed.dequantize_per_tensor(s, 0.05, 3, -128, 127, torch.int8)
        u = self.last(t)
        v = torch.exp(u)
        w = torch.neg(u)
        return v * w + r, m


def lines() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The model, and inputs."""
    torch.manual_seed(0)
    return Lines(), (torch.randn(1, 3, 8, 8),)
