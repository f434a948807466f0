"""Recurrent networks: an LSTM and a GRU over whole sequences, and one that takes a sequence in chunks.

The cells are torch's own, `nn.LSTM` (Hochreiter & Schmidhuber 1997, with forget gates after Gers et al. 2000) and
`nn.GRU` (Cho et al. 2014). `Streaming` keeps hidden and cell state in buffers, so that each execution goes on where
the last has ended.

Try it: `et-compile examples/models/recurrent.py:lstm -o lstm.pte`
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from examples.models.weights import seeded

INPUTS, HIDDEN, LAYERS, TOKENS = 12, 16, 2, 7


class Tagger(nn.Module):
    """Scores `[N, T, 5]` f32 for each element of sequences `[N, T, 12]`, and the last states of the layers."""

    def __init__(self, cell: type[nn.RNNBase], *, bidirectional: bool) -> None:
        super().__init__()
        self.recurrent = cell(INPUTS, HIDDEN, LAYERS, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(HIDDEN * (2 if bidirectional else 1), 5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        outputs, state = self.recurrent(x)
        return self.head(outputs), state if isinstance(state, Tensor) else state[0]


class Streaming(nn.Module):
    """An LSTM over a chunk `[1, T, 12]` of a longer sequence: outputs `[1, T, 16]`."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrent = nn.LSTM(INPUTS, HIDDEN, LAYERS, batch_first=True)
        self.hidden = nn.Buffer(torch.zeros(LAYERS, 1, HIDDEN))
        self.cell = nn.Buffer(torch.zeros(LAYERS, 1, HIDDEN))

    def forward(self, x: Tensor) -> Tensor:
        outputs, (hidden, cell) = self.recurrent(x, (self.hidden, self.cell))
        self.hidden.copy_(hidden)
        self.cell.copy_(cell)
        return outputs


@torch.no_grad()
def _drawn(module: nn.Module) -> nn.Module:
    """Weights that keep states between -1 and 1 without saturating them; returns the module in eval mode."""
    for parameter in module.parameters():
        parameter.normal_(0.0, 1.0 / math.sqrt(parameter.shape[-1]) if parameter.dim() > 1 else 0.1)
    return module.eval()


def lstm() -> tuple[nn.Module, tuple[Tensor]]:
    """Two layers in both directions, with seeded weights, and two sequences of 7 elements."""
    with seeded(11):
        return _drawn(Tagger(nn.LSTM, bidirectional=True)), (torch.randn(2, TOKENS, INPUTS),)


def gru() -> tuple[nn.Module, tuple[Tensor]]:
    """Two layers, with seeded weights, and two sequences of 7 elements."""
    with seeded(12):
        return _drawn(Tagger(nn.GRU, bidirectional=False)), (torch.randn(2, TOKENS, INPUTS),)


def streaming() -> tuple[nn.Module, tuple[Tensor]]:
    """The LSTM with its state in buffers, with seeded weights, and a chunk of 3 elements."""
    with seeded(13):
        return _drawn(Streaming()), (torch.randn(1, 3, INPUTS),)
