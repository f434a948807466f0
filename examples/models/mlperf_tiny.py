"""The four networks of MLPerf Tiny, with seeded weights.

After Banbury et al., "MLPerf Tiny Benchmark", NeurIPS 2021 (Datasets and Benchmarks), section 4: keyword spotting by
depthwise separable convolutions, visual wake words by a MobileNetV1 of width 0.25, classification of small images by
a residual network, and detection of anomalies in sounds by an autoencoder. Images have channels first, as torch has
them; the first convolution of the keyword network pads five rows on both sides, where the reference pads four and five.

Try it: `et-compile examples/models/mlperf_tiny.py:keyword_spotting --quantize int8 --calibrate keyword_data --target
cortex-m4 --emit object -o keyword_spotting.o`
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import torch
from torch import Tensor, nn

from examples.models.mobilenet_v2 import conv_bn
from examples.models.weights import calibrate, initialise, seeded

__all__ = [
    "Autoencoder",
    "KeywordSpotting",
    "ResNet8",
    "VisualWakeWords",
    "anomaly_data",
    "anomaly_detection",
    "image_classification",
    "image_data",
    "keyword_data",
    "keyword_spotting",
    "visual_wake_words",
    "wake_word_data",
]

SAMPLES = 8
"""Inputs to calibrate with."""
KEYWORDS, SOUNDS, SMALL, LARGE = (1, 1, 49, 10), (1, 640), (1, 3, 32, 32), (1, 3, 96, 96)
"""Shapes of the inputs: features of a second of speech, of five frames of sound, and images."""
# Channels of the 1x1 convolution and stride of the depthwise one: the stages of MobileNetV1 at a quarter of the width.
STAGES = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1))


def _separable(inputs: int, outputs: int, stride: int = 1) -> list[nn.Module]:
    """A depthwise and a 1x1 convolution, each with batch norm and ReLU."""
    return [
        *conv_bn(inputs, inputs, kernel=3, stride=stride, groups=inputs),
        nn.ReLU(),
        *conv_bn(inputs, outputs),
        nn.ReLU(),
    ]


class KeywordSpotting(nn.Module):
    """Features `[N, 1, 49, 10]` f32 to logits `[N, 12]` f32."""

    def __init__(self) -> None:
        super().__init__()
        first = nn.Conv2d(1, 64, (10, 4), stride=2, padding=(5, 1), bias=False)
        layers = [one for _ in range(4) for one in _separable(64, 64)]
        self.features = nn.Sequential(first, nn.BatchNorm2d(64), nn.ReLU(), *layers, nn.AvgPool2d((25, 5)))
        self.classifier = nn.Linear(64, 12)

    def forward(self, features: Tensor) -> Tensor:
        return self.classifier(self.features(features).flatten(1))


class VisualWakeWords(nn.Module):
    """Images `[N, 3, 96, 96]` f32 to logits `[N, 2]` f32."""

    def __init__(self) -> None:
        super().__init__()
        channels = 8
        layers: list[nn.Module] = [*conv_bn(3, channels, kernel=3, stride=2), nn.ReLU()]
        for outputs, stride in STAGES:
            layers += _separable(channels, outputs, stride)
            channels = outputs
        self.features = nn.Sequential(*layers, nn.AvgPool2d(3))
        self.classifier = nn.Linear(channels, 2)

    def forward(self, image: Tensor) -> Tensor:
        return self.classifier(self.features(image).flatten(1))


class _Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        first = conv_bn(inputs, outputs, kernel=3, stride=stride)
        self.body = nn.Sequential(*first, nn.ReLU(), *conv_bn(outputs, outputs, kernel=3))
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride) if stride != 1 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet8(nn.Module):
    """Images `[N, 3, 32, 32]` f32 to logits `[N, 10]` f32."""

    def __init__(self) -> None:
        super().__init__()
        blocks = [_Block(16, 16, 1), _Block(16, 32, 2), _Block(32, 64, 2)]
        self.features = nn.Sequential(*conv_bn(3, 16, kernel=3), nn.ReLU(), *blocks, nn.AvgPool2d(8))
        self.classifier = nn.Linear(64, 10)

    def forward(self, image: Tensor) -> Tensor:
        return self.classifier(self.features(image).flatten(1))


class Autoencoder(nn.Sequential):
    """Features `[N, 640]` f32 to what they are restored to, of the same shape; batch norms are in the weights."""

    def __init__(self) -> None:
        widths = (640, 128, 128, 128, 128, 8, 128, 128, 128, 128)
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        super().__init__(*layers, nn.Linear(128, 640))


def keyword_spotting() -> tuple[nn.Module, tuple[Tensor]]:
    """The keyword network with seeded weights in eval mode, and features."""
    return _made(KeywordSpotting, KEYWORDS)


def visual_wake_words() -> tuple[nn.Module, tuple[Tensor]]:
    """The MobileNetV1 with seeded weights in eval mode, and an image."""
    return _made(VisualWakeWords, LARGE)


def image_classification() -> tuple[nn.Module, tuple[Tensor]]:
    """The residual network with seeded weights in eval mode, and an image."""
    return _made(ResNet8, SMALL)


def anomaly_detection() -> tuple[nn.Module, tuple[Tensor]]:
    """The autoencoder with seeded weights in eval mode, and features."""
    return _made(Autoencoder, SOUNDS)


def _made(kind: type[nn.Module], shape: tuple[int, ...]) -> tuple[nn.Module, tuple[Tensor]]:
    with seeded(5):
        example = torch.randn(shape)
        return calibrate(initialise(kind()), example), (example,)


def keyword_data() -> Iterator[tuple[Tensor]]:
    """Features to calibrate the keyword network with."""
    yield from _data(KEYWORDS)


def wake_word_data() -> Iterator[tuple[Tensor]]:
    """Images to calibrate networks for images of 96 pixels with."""
    yield from _data(LARGE)


def image_data() -> Iterator[tuple[Tensor]]:
    """Images to calibrate the residual network with."""
    yield from _data(SMALL)


def anomaly_data() -> Iterator[tuple[Tensor]]:
    """Features to calibrate the autoencoder with."""
    yield from _data(SOUNDS)


def _data(shape: tuple[int, ...]) -> Iterator[tuple[Tensor]]:
    generator = torch.Generator().manual_seed(6)
    for _ in range(SAMPLES):
        yield (torch.randn(shape, generator=generator),)
