"""The normal cell that DARTS finds on CIFAR-10.

After Liu et al., "DARTS: Differentiable Architecture Search", ICLR 2019, figure 4 (second order): four nodes, each the
sum of operations on two of the nodes before, the four concatenated. During the search each edge is a mixture of all
candidates, which is what `darts_cell` is: a weighted sum of them.

Try it: `et-compile examples/models/darts_cell.py:darts_cell -o darts_cell.pte`
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from examples.models.separable import Preprocess, Separable
from examples.models.weights import calibrate, initialise, seeded

NODES = 4


class MixedEdge(nn.Module):
    """All candidates on one feature map, weighted by the softmax of what the search learns."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.candidates = nn.ModuleList([
            nn.MaxPool2d(3, 1, 1), nn.AvgPool2d(3, 1, 1), nn.Identity(), Separable(channels, 3, repeats=2),
            Separable(channels, 5, repeats=2), Separable(channels, 3, dilation=2), Separable(channels, 5, dilation=2),
        ])  # fmt: skip
        self.alphas = nn.Parameter(torch.empty(len(self.candidates)).normal_())

    def forward(self, x: Tensor) -> Tensor:
        weights = self.alphas.softmax(0)
        results = [candidate(x) for candidate in self.candidates]
        return sum((w * y for w, y in zip(weights[1:], results[1:], strict=True)), weights[0] * results[0])


class Darts(nn.Module):
    """A stem, one cell of the search, and the mean of each channel."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, 1, 1)
        self.inputs = nn.ModuleList(Preprocess(channels, channels) for _ in range(2))
        self.edges = nn.ModuleList(
            nn.ModuleList(MixedEdge(channels) for _ in range(2 + node)) for node in range(NODES)
        )
        self.classifier = nn.Linear(NODES * channels, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image)
        states = [preprocess(x) for preprocess in self.inputs]
        for edges in self.edges:
            assert isinstance(edges, nn.ModuleList)
            results = [edge(state) for edge, state in zip(edges, states, strict=True)]
            states.append(sum(results[1:], results[0]))
        return self.classifier(torch.cat(states[2:], 1).mean((2, 3)))


def darts_cell() -> tuple[nn.Module, tuple[Tensor]]:
    """The cell between a stem and a classifier with seeded weights in eval mode, and an image `[1, 3, 32, 32]`."""
    with seeded(7):
        image = torch.randn(1, 3, 32, 32)
        return calibrate(initialise(Darts()), image), (image,)
