"""The normal cell of NASNet-A.

After Zoph et al., "Learning Transferable Architectures for Scalable Image Recognition", CVPR 2018, figure 4: five
blocks, each the sum of two operations on the results of the two cells before, concatenated with the older of them. The
operations are computed first, and put together afterwards.

Try it: `et-compile examples/models/nasnet_cell.py:nasnet_cell -o nasnet_cell.pte`
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from examples.models.separable import Preprocess, Separable
from examples.models.weights import calibrate, initialise, seeded


class NasnetCell(nn.Module):
    """Two feature maps `[1, C, H, W]` f32 to one of `6 * C` channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.current = Preprocess(channels, channels)
        self.previous = Preprocess(channels, channels)
        self.left = nn.ModuleList([
            Separable(channels, 3, repeats=2), Separable(channels, 3, repeats=2), nn.AvgPool2d(3, 1, 1),
            nn.AvgPool2d(3, 1, 1), Separable(channels, 5, repeats=2),
        ])  # fmt: skip
        self.right = nn.ModuleList([
            nn.Identity(), Separable(channels, 5, repeats=2), nn.Identity(),
            nn.AvgPool2d(3, 1, 1), Separable(channels, 3, repeats=2),
        ])  # fmt: skip

    def forward(self, current: Tensor, previous: Tensor) -> Tensor:
        h, p = self.current(current), self.previous(previous)
        left = [op(x) for op, x in zip(self.left, (h, p, h, p, p), strict=True)]
        right = [op(x) for op, x in zip(self.right, (h, h, p, p, p), strict=True)]
        return torch.cat([p, *(one + other for one, other in zip(left, right, strict=True))], 1)


class Nasnet(nn.Module):
    """A stem, two cells, and the mean of each channel."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, 1, 1)
        self.cell = NasnetCell(channels)
        self.classifier = nn.Linear(6 * channels, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image)
        return self.classifier(self.cell(x, x).mean((2, 3)))


def nasnet_cell() -> tuple[nn.Module, tuple[Tensor]]:
    """The cell between a stem and a classifier with seeded weights in eval mode, and an image `[1, 3, 32, 32]`."""
    with seeded(6):
        image = torch.randn(1, 3, 32, 32)
        return calibrate(initialise(Nasnet()), image), (image,)
