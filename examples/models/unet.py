"""A U-Net: an image is taken down to few large features and up again, with what it was on each level beside it.

After Ronneberger, Fischer and Brox, "U-Net: Convolutional Networks for Biomedical Image Segmentation", MICCAI
2015, figure 1, with padded convolutions, fewer channels, and bilinear interpolation on the way up.

Try it: `et-compile examples/models/unet.py:unet -o unet.pte`
"""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from examples.models.weights import calibrate, initialise, seeded


class DoubleConvolution(nn.Sequential):
    """Twice a 3×3 convolution, its batch norm and a ReLU."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    """Images `[N, 3, H, W]` f32 to a probability for each class and pixel, `[N, classes, H, W]` f32.

    Height and width are multiples of `2 ** levels`.
    """

    def __init__(self, channels: int = 16, levels: int = 3, classes: int = 4) -> None:
        super().__init__()
        widths = [channels << level for level in range(levels + 1)]
        self.first = DoubleConvolution(3, widths[0])
        self.pool = nn.MaxPool2d(2)
        self.down = nn.ModuleList(DoubleConvolution(a, b) for a, b in itertools.pairwise(widths))
        self.grow = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.up = nn.ModuleList(
            DoubleConvolution(a + b, b)
            for a, b in zip(reversed(widths), list(reversed(widths))[1:], strict=False)
        )
        self.classes = nn.Conv2d(widths[0], classes, 1)

    def forward(self, image: Tensor) -> Tensor:
        x = self.first(image)
        beside: list[Tensor] = []
        for block in self.down:
            beside.append(x)
            x = block(self.pool(x))
        for block in self.up:
            x = block(torch.cat([beside.pop(), self.grow(x)], dim=1))
        return torch.softmax(self.classes(x), dim=1)


def unet() -> tuple[nn.Module, tuple[Tensor]]:
    """The network with seeded weights in eval mode, and one image `[1, 3, 96, 96]` f32."""
    with seeded(2015):
        image = torch.randn(1, 3, 96, 96)
        return calibrate(initialise(UNet()), image), (image,)
