"""A small object detector without anchors: features of three scales, added from coarse to fine, and one head for all.

After Tian et al., "FCOS: Fully Convolutional One-Stage Object Detection", ICCV 2019, sections 3.1 and 3.2, over a
feature pyramid (Lin et al., CVPR 2017). What is left to the caller is to pick boxes: suppression depends on the data.

Try it: `et-compile examples/models/detector.py:detector -o detector.pte`
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.models.weights import calibrate, initialise, seeded

STRIDES = (8, 16, 32)


def block(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    """A 3×3 convolution, its batch norm, and SiLU."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.SiLU()
    )


class Head(nn.Module):
    """Of a feature map: logits of classes and centre-ness, and the distances of a box's four sides."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.of_class = nn.Sequential(block(channels, channels), nn.Conv2d(channels, classes, 3, padding=1))
        self.of_box = block(channels, channels)
        self.sides = nn.Conv2d(channels, 4, 3, padding=1)
        self.centre = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        box = self.of_box(x)
        return self.of_class(x), self.sides(box), self.centre(box)


class Detector(nn.Module):
    """Images `[N, 3, size, size]` f32 to boxes `[N, places, 4]` (left, top, right, bottom, as parts of the image)
    and scores `[N, places, classes]`, f32. `places` are those of all feature maps, from fine to coarse.
    """

    places: Tensor

    def __init__(self, size: int = 128, channels: int = 48, classes: int = 12) -> None:
        super().__init__()
        self.size = size
        self.stem = nn.Sequential(block(3, 16, 2), block(16, 24, 2))
        widths = (32, 64, 96)
        self.stages = nn.ModuleList(
            nn.Sequential(block(a, b, 2), block(b, b)) for a, b in zip((24, *widths), widths, strict=False)
        )
        self.lateral = nn.ModuleList(nn.Conv2d(width, channels, 1) for width in widths)
        self.smooth = nn.ModuleList(block(channels, channels) for _ in widths)
        self.head = Head(channels, classes)
        self.scales = nn.ParameterList(torch.tensor(1.0) for _ in STRIDES)
        places = [
            (torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="xy"), -1) + 0.5)
            .reshape(-1, 2)
            .mul(stride / size)
            for stride, side in ((stride, size // stride) for stride in STRIDES)
        ]
        self.register_buffer("places", torch.cat(places))

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        x = self.stem(image)
        maps: list[Tensor] = []
        for stage, lateral in zip(self.stages, self.lateral, strict=True):
            x = stage(x)
            maps.append(lateral(x))
        for fine in (1, 0):
            coarse = functional.interpolate(
                maps[fine + 1], scale_factor=2.0, mode="bilinear", align_corners=False
            )
            maps[fine] = maps[fine] + coarse
        found = [self.head(smooth(one)) for smooth, one in zip(self.smooth, maps, strict=True)]
        logits = torch.cat([one.flatten(2) for one, _, _ in found], dim=2).transpose(1, 2)
        centre = torch.cat([one.flatten(2) for _, _, one in found], dim=2).transpose(1, 2)
        sides = torch.cat(
            [
                (torch.exp(one * scale) * (stride / self.size)).flatten(2)
                for (_, one, _), scale, stride in zip(found, self.scales, STRIDES, strict=True)
            ],
            dim=2,
        ).transpose(1, 2)
        near, far = sides.split(2, dim=-1)
        boxes = torch.cat([self.places - near, self.places + far], dim=-1)
        return boxes, torch.sqrt(torch.sigmoid(logits) * torch.sigmoid(centre))


def detector() -> tuple[nn.Module, tuple[Tensor]]:
    """The network with seeded weights in eval mode, and one image `[1, 3, 128, 128]` f32."""
    with seeded(1904):
        image = torch.randn(1, 3, 128, 128)
        model = calibrate(initialise(Detector()), image)
        with torch.no_grad():
            # Logarithms of sides of order 1 are enough: boxes grow exponentially with them.
            model.get_parameter("head.sides.weight").mul_(0.3)
        return model, (image,)
