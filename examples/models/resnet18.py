"""ResNet-18 with projection shortcuts.

After He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, table 1 and option B.

Try it: `et-compile examples/models/resnet18.py:resnet18 -o resnet18.pte`
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from examples.models.weights import calibrate, initialise, seeded


class BasicBlock(nn.Module):
    """Two 3×3 convolutions beside a shortcut, which is a strided 1×1 projection where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        y += self.shortcut(x)
        return self.relu(y)


class ResNet18(nn.Module):
    """Images `[N, 3, H, W]` f32 to logits `[N, classes]` f32."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, padding=3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, padding=1),
        )
        blocks: list[nn.Module] = []
        inputs = 64
        for outputs in (64, 128, 256, 512):
            blocks += [
                BasicBlock(inputs, outputs, 1 if inputs == outputs else 2),
                BasicBlock(outputs, outputs, 1),
            ]
            inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(512, classes)

    def forward(self, image: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.pool(self.blocks(self.stem(image))), 1))


def resnet18() -> tuple[nn.Module, tuple[Tensor]]:
    """The network with seeded weights in eval mode, and one image `[1, 3, 224, 224]` f32."""
    with seeded(18):
        image = torch.randn(1, 3, 224, 224)
        return calibrate(initialise(ResNet18()), image), (image,)
