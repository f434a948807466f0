"""A keyword spotter with a logarithm in its front end, and words made by code: tones of other pitches and loudness.

stft → mel bands → `log(x + 1e-6)` → depthwise-separable convolutions → a linear layer. Nothing is trained but that
layer, by least squares.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["Spotter", "calibration", "evaluate", "model", "words"]

_RATE = 8000
_LENGTH = 1024
_PITCHES = (300.0, 700.0, 1300.0, 2400.0)


class LogMel(nn.Module):
    """The energy of bands, in logarithms: `f32[batch, samples]` to `f32[batch, 20, frames]`."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(128))
        edges = torch.linspace(0, 1, 22) ** 1.5 * 64
        bins = torch.arange(65.0)
        rises = (bins - edges[:-2, None]) / (edges[1:-1, None] - edges[:-2, None]).clamp(min=1)
        falls = (edges[2:, None] - bins) / (edges[2:, None] - edges[1:-1, None]).clamp(min=1)
        self.register_buffer("bands", torch.minimum(rises, falls).clamp(min=0) + 1e-3)

    def forward(self, x: Tensor) -> Tensor:
        spectrum = torch.stft(x, 128, 64, window=self.get_buffer("window"), return_complex=True)
        power = spectrum.abs() ** 2
        return torch.log(torch.matmul(self.get_buffer("bands"), power) + 1e-6)


class Spotter(nn.Module):
    """The words of sounds: `f32[batch, samples]` to `f32[batch, 4]`."""

    def __init__(self) -> None:
        super().__init__()
        self.mel = LogMel()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1, groups=16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 1),
            nn.ReLU(),
        )
        self.head = nn.Linear(320, 4)

    def features(self, x: Tensor) -> Tensor:
        y = self.body(self.mel(x)[:, None] * 0.1)
        return torch.flatten(y.mean(3), 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


def words(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Sounds `f32[count, samples]` over three decades of loudness, and their classes `i64[count]`."""
    generator = torch.Generator().manual_seed(seed)
    label = torch.arange(count) % len(_PITCHES)
    pitch = torch.tensor(_PITCHES)[label, None] * (1 + 0.1 * torch.rand(count, 1, generator=generator))
    time = torch.arange(_LENGTH) / _RATE
    tone = torch.sin(2 * torch.pi * pitch * time + 6 * torch.rand(count, 1, generator=generator))
    noise = 0.1 * torch.randn(count, _LENGTH, generator=generator)
    return 10 ** (-3 * torch.rand(count, 1, generator=generator)) * (tone + noise), label


def model() -> tuple[nn.Module, tuple[Tensor]]:
    """The spotter, and one sound."""
    generator = torch.Generator().manual_seed(0)
    made = Spotter().eval()
    sounds, label = words(512, 1)
    with torch.no_grad():
        for parameter in made.body.parameters():
            bound = (parameter[0].numel() ** -0.5) if parameter.ndim > 1 else 0.1
            parameter.copy_((torch.rand(parameter.shape, generator=generator) * 2 - 1) * bound * 1.7)
        inputs = F.pad(made.features(sounds), (0, 1), value=1.0)
        wanted = F.one_hot(label, 4).float()
        square = inputs.T @ inputs + 1e-2 * torch.eye(inputs.shape[1])
        solved = torch.linalg.solve(square, inputs.T @ wanted)
        made.head.weight.copy_(solved[:-1].T)
        made.head.bias.copy_(solved[-1])
    return made, (words(1, 2)[0],)


def calibration() -> Iterator[tuple[Tensor]]:
    """Other sounds, one at a time."""
    for sound in words(16, 3)[0]:
        yield (sound[None],)


def evaluate(module: nn.Module) -> float:
    """The part of held-out sounds that are recognized."""
    sounds, label = words(64, 4)
    with torch.no_grad():
        found = torch.cat([module(sound[None]) for sound in sounds]).argmax(1)
    return float((found == label).float().mean())
