"""Depthwise separable convolutions, which the searched cells beside this file are made of."""

from __future__ import annotations

from torch import Tensor, nn

__all__ = ["Preprocess", "Separable"]


class Preprocess(nn.Sequential):
    """Rectify, project by 1×1, normalise."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(nn.ReLU(), nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs))


class Separable(nn.Module):
    """Rectify, filter depthwise, project by 1×1, normalise: `repeats` times, the spatial size kept."""

    def __init__(self, channels: int, kernel: int, dilation: int = 1, repeats: int = 1) -> None:
        super().__init__()
        padding = dilation * (kernel - 1) // 2
        layers: list[nn.Module] = []
        for _ in range(repeats):
            layers += [
                nn.ReLU(),
                nn.Conv2d(channels, channels, kernel, 1, padding, dilation, groups=channels, bias=False),
                nn.Conv2d(channels, channels, 1, bias=False),
                nn.BatchNorm2d(channels),
            ]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)
