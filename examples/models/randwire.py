"""A randomly wired stage.

After Xie et al., "Exploring Randomly Wired Neural Networks for Image Recognition", ICCV 2019: a Watts-Strogatz graph
whose edges go from lower to higher numbers; each node is the weighted sum of what comes in, rectified, convolved and
normalised; the stage's result is the mean of the nodes that nothing follows.

Try it: `et-compile examples/models/randwire.py:randwire -o randwire.pte`
"""

from __future__ import annotations

from random import Random

import torch
from torch import Tensor, nn

from examples.models.separable import Separable
from examples.models.weights import calibrate, initialise, seeded


def watts_strogatz(nodes: int, neighbours: int, rewired: float, random: Random) -> list[list[int]]:
    """For each node those with lower numbers that it is connected to: a ring in which each node knows its nearest
    `neighbours`, with a share of the edges led elsewhere.
    """
    edges = {(node, (node + step) % nodes) for node in range(nodes) for step in range(1, neighbours // 2 + 1)}
    for edge in sorted(edges):
        if random.random() < rewired:
            free = [n for n in range(nodes) if n != edge[0] and not {(edge[0], n), (n, edge[0])} & edges]
            edges.remove(edge)
            edges.add((edge[0], random.choice(free)))
    ordered = {(min(edge), max(edge)) for edge in edges}
    return [sorted(low for low, high in ordered if high == node) for node in range(nodes)]


class Node(nn.Module):
    """The sum of inputs, each weighted by a sigmoid, and a separable convolution of it."""

    def __init__(self, inputs: int, channels: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.empty(inputs).normal_())
        self.convolution = Separable(channels, 3)

    def forward(self, inputs: list[Tensor]) -> Tensor:
        weights = self.weights.sigmoid()
        return self.convolution(sum(weights[i] * x for i, x in enumerate(inputs)))


class RandWire(nn.Module):
    """A stem, one stage, and the mean of each channel."""

    def __init__(self, nodes: int = 32, channels: int = 16) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, 1, 1)
        self.before = watts_strogatz(nodes, 4, 0.75, Random(1))
        self.nodes = nn.ModuleList(Node(max(1, len(before)), channels) for before in self.before)
        self.classifier = nn.Linear(channels, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image)
        results: list[Tensor] = []
        for node, before in zip(self.nodes, self.before, strict=True):
            results.append(node([results[i] for i in before] or [x]))
        used = {i for before in self.before for i in before}
        last = [result for i, result in enumerate(results) if i not in used]
        return self.classifier((sum(last[1:], last[0]) / len(last)).mean((2, 3)))


def randwire() -> tuple[nn.Module, tuple[Tensor]]:
    """The stage between a stem and a classifier with seeded weights in eval mode, and an image `[1, 3, 32, 32]`."""
    with seeded(8):
        image = torch.randn(1, 3, 32, 32)
        return calibrate(initialise(RandWire()), image), (image,)
