"""A keyword spotter: logarithms of a spectrum, and a small convolutional network."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

CLASSES = 4
SAMPLES = 2048


class Spotter(nn.Module):
    """Bands of a spectrum, in logarithms, and depthwise separable convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(256))
        self.register_buffer("bands", torch.eye(129).reshape(129, 43, 3).sum(2))
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, groups=16),
            nn.Conv2d(16, 32, 1),
            nn.ReLU(),
            nn.Flatten(),
            nn.LazyLinear(CLASSES),
        )

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(sound, 256, 128, window=self.window, center=False, return_complex=True)
        energy = (spectrum.real.square() + spectrum.imag.square()).transpose(1, 2) @ self.bands
        return self.body(torch.log(energy + 1e-6).unsqueeze(1))


def sounds(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Tones of four pitches in noise, and their numbers."""
    random = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (count,), generator=random)
    pitch = 300 * 2.0 ** labels[:, None]
    tones = torch.sin(2 * torch.pi * pitch * torch.arange(SAMPLES) / 8000)
    return 0.3 * tones + 0.05 * torch.randn(count, SAMPLES, generator=random), labels


def net() -> tuple[nn.Module, tuple[torch.Tensor]]:
    """The network, trained, and an example input."""
    torch.manual_seed(0)
    model = Spotter()
    model(sounds(1, 0)[0])
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    for step in range(20):
        data, labels = sounds(16, step)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(data), labels).backward()
        optimizer.step()
    return model.eval(), (sounds(1, 1000)[0],)


def data() -> Iterator[tuple[torch.Tensor]]:
    """Sounds to calibrate with."""
    return ((sounds(1, seed)[0],) for seed in range(2000, 2016))


def evaluate(model: nn.Module) -> float:
    """The share of sounds that a model tells right."""
    sound, labels = sounds(64, 3000)
    with torch.no_grad():
        found = torch.cat([model(one[None]) for one in sound])
    return float((found.argmax(1) == labels).float().mean())
