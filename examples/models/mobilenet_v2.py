"""MobileNetV2 at width 1.0, and at width 0.35 for images of 96 pixels.

After Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", CVPR 2018, table 2.

Try it: `et-compile examples/models/mobilenet_v2.py:mobilenet_v2 -o mobilenet_v2.pte`
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from examples.models.weights import calibrate, initialise, seeded

# Expansion t, output channels c, repeats n, stride of the first repeat s: the paper's table 2.
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def conv_bn(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """A convolution that keeps the spatial size (up to its stride), without bias, and its batch norm."""
    return [
        nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]


def scaled(channels: int, width: float) -> int:
    """`width` times some channels: a multiple of 8, that is not much fewer."""
    made = max(8, int(channels * width + 4) // 8 * 8)
    return made if made >= 0.9 * channels * width else made + 8


class InvertedResidual(nn.Module):
    """Widen by 1×1, filter depthwise by 3×3, project by a linear 1×1; add the input where it fits."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        layers: list[nn.Module] = []
        if expansion != 1:
            layers += [*conv_bn(inputs, hidden), nn.ReLU6()]
        layers += [*conv_bn(hidden, hidden, kernel=3, stride=stride, groups=hidden), nn.ReLU6()]
        layers += conv_bn(hidden, outputs)
        self.body = nn.Sequential(*layers)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) if self.residual else self.body(x)


class MobileNetV2(nn.Module):
    """Images `[N, 3, H, W]` f32 to logits `[N, classes]` f32. Channels are `width` times those of the paper."""

    def __init__(self, classes: int = 1000, width: float = 1.0) -> None:
        super().__init__()
        channels = scaled(32, width)
        features: list[nn.Module] = [*conv_bn(3, channels, kernel=3, stride=2), nn.ReLU6()]
        for expansion, whole, repeats, first_stride in STAGES:
            outputs = scaled(whole, width)
            for repeat in range(repeats):
                stride = first_stride if repeat == 0 else 1
                features.append(InvertedResidual(channels, outputs, stride, expansion))
                channels = outputs
        features += [*conv_bn(channels, 1280), nn.ReLU6()]
        self.features = nn.Sequential(*features)
        self.dropout = nn.Dropout(0.2)
        self.classifier = nn.Linear(1280, classes)

    def forward(self, image: Tensor) -> Tensor:
        pooled = nn.functional.adaptive_avg_pool2d(self.features(image), 1)
        return self.classifier(self.dropout(pooled.flatten(1)))


def mobilenet_v2() -> tuple[nn.Module, tuple[Tensor]]:
    """The network with seeded weights in eval mode, and one image `[1, 3, 224, 224]` f32."""
    with seeded(2):
        image = torch.randn(1, 3, 224, 224)
        return calibrate(initialise(MobileNetV2()), image), (image,)


def mobilenet_v2_small() -> tuple[nn.Module, tuple[Tensor]]:
    """The network at width 0.35 with seeded weights in eval mode, and one image `[1, 3, 96, 96]` f32."""
    with seeded(2):
        image = torch.randn(1, 3, 96, 96)
        return calibrate(initialise(MobileNetV2(width=0.35)), image), (image,)
