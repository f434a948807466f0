"""MobileNetV3-Small: inverted residuals with squeeze-and-excitation and hard swish.

After Howard et al., "Searching for MobileNetV3", ICCV 2019, table 2.

Try it: `et-compile examples/models/mobilenet_v3.py:mobilenet_v3 -o mobilenet_v3.pte`
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from examples.models.weights import calibrate, initialise, seeded

# Kernel, expanded channels, output channels, squeeze-and-excitation, activation, stride.
LAYERS = (
    (3, 16, 16, True, nn.ReLU, 2),
    (3, 72, 24, False, nn.ReLU, 2),
    (3, 88, 24, False, nn.ReLU, 1),
    (5, 96, 40, True, nn.Hardswish, 2),
    (5, 240, 40, True, nn.Hardswish, 1),
    (5, 240, 40, True, nn.Hardswish, 1),
    (5, 120, 48, True, nn.Hardswish, 1),
    (5, 144, 48, True, nn.Hardswish, 1),
    (5, 288, 96, True, nn.Hardswish, 2),
    (5, 576, 96, True, nn.Hardswish, 1),
    (5, 576, 96, True, nn.Hardswish, 1),
)


def conv_bn(
    inputs: int, outputs: int, kernel: int, stride: int, groups: int, activation: type[nn.Module]
) -> nn.Sequential:
    """A convolution that keeps the size but for its stride, its batch norm, and an activation."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        activation(),
    )


class SqueezeExcitation(nn.Module):
    """Channels scaled by what two layers make of their means."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        squeezed = max(8, channels // 4 // 8 * 8)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, squeezed, 1),
            nn.ReLU(),
            nn.Conv2d(squeezed, channels, 1),
            nn.Hardsigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gate(x)


class Bottleneck(nn.Module):
    """Expand, filter each channel, squeeze; with a shortcut where the shape stays."""

    def __init__(
        self,
        inputs: int,
        kernel: int,
        expanded: int,
        outputs: int,
        excite: bool,
        activation: type[nn.Module],
        stride: int,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        if expanded != inputs:
            layers.append(conv_bn(inputs, expanded, 1, 1, 1, activation))
        layers.append(conv_bn(expanded, expanded, kernel, stride, expanded, activation))
        if excite:
            layers.append(SqueezeExcitation(expanded))
        layers.append(conv_bn(expanded, outputs, 1, 1, 1, nn.Identity))
        self.layers = nn.Sequential(*layers)
        self.shortcut = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.shortcut else self.layers(x)


class MobileNetV3(nn.Module):
    """Images `[N, 3, H, W]` f32 to logits `[N, classes]` f32."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        features: list[nn.Module] = [conv_bn(3, 16, 3, 2, 1, nn.Hardswish)]
        inputs = 16
        for kernel, expanded, outputs, excite, activation, stride in LAYERS:
            features.append(Bottleneck(inputs, kernel, expanded, outputs, excite, activation, stride))
            inputs = outputs
        features.append(conv_bn(inputs, 576, 1, 1, 1, nn.Hardswish))
        self.features = nn.Sequential(*features)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(576, 1024), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(1024, classes)
        )

    def forward(self, image: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.pool(self.features(image)), 1))


def mobilenet_v3() -> tuple[nn.Module, tuple[Tensor]]:
    """The network with seeded weights in eval mode, and one image `[1, 3, 128, 128]` f32."""
    with seeded(3):
        image = torch.randn(1, 3, 128, 128)
        return calibrate(initialise(MobileNetV3()), image), (image,)
