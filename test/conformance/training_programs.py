"""Networks with a loss, to train: by name, with a function that makes batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram, export

from et_ir import joint_program
from examples.digits.network import DigitsNet

CLASSES = 3


class WithLoss(nn.Module):
    """A classifier that returns its loss, and the classes that it finds."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        found = self.net(x)
        return nn.functional.cross_entropy(found, y), found.argmax(1)


class Attention(nn.Module):
    """A block with layer norm and attention."""

    def __init__(self, *, is_causal: bool = False) -> None:
        super().__init__()
        self.norm, self.inputs, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, CLASSES)
        self.is_causal = is_causal

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.inputs(self.norm(x)).view(4, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)
        return self.out((x + mixed.transpose(1, 2).reshape(4, 5, 8)).mean(1))


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(10, 6, padding_idx=0), nn.Linear(6, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.table(x).mean(1))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.LSTM(4, 5, batch_first=True), nn.Linear(5, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.cell(x)[0][:, -1])


class Case(NamedTuple):
    """A network, and the shape of its input."""

    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    integers: int = 0
    """Inputs are integers below this, unless it is 0."""
    classes: int = CLASSES

    def module(self) -> WithLoss:
        torch.manual_seed(0)
        return WithLoss(self.make()).train()

    def batch(self, seed: int) -> tuple[Tensor, Tensor]:
        draw = torch.Generator().manual_seed(seed)
        x = (
            torch.randint(0, self.integers, self.shape, generator=draw)
            if self.integers
            else torch.randn(self.shape, generator=draw)
        )
        return x, torch.randint(0, self.classes, self.shape[:1], generator=draw)

    def program(self) -> tuple[WithLoss, ExportedProgram]:
        module = self.module()
        return module, joint(module, self.batch(0))


def joint(module: nn.Module, inputs: tuple[Any, ...]) -> ExportedProgram:
    """The program of a module and the gradients of its first output."""
    with warnings.catch_warnings():
        # Recurrent layers assign the lists of weights that they keep beside their parameters.
        warnings.filterwarnings("ignore", "The tensor attributes .* were assigned during export")
        program = export(module, inputs)
    return joint_program(program)


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, CLASSES))


def _activations() -> nn.Module:
    kinds = (
        nn.GELU(),
        nn.SiLU(),
        nn.Tanh(),
        nn.Sigmoid(),
        nn.ELU(),
        nn.LeakyReLU(),
        nn.Hardtanh(),
        nn.Hardswish(),
    )
    more = (nn.Softplus(), nn.PReLU(), nn.Mish(), nn.ReLU6(), nn.LogSigmoid(), nn.GELU("tanh"), nn.Softsign())
    layers = [layer for kind in (*kinds, *more) for layer in (nn.Linear(6, 6), kind)]
    return nn.Sequential(*layers, nn.Linear(6, CLASSES))


def _pools() -> nn.Module:
    first = (nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
    second = (nn.Conv2d(4, 4, 3, stride=2, padding=1, groups=2), nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2d(1))
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(4, CLASSES))


def _padded() -> nn.Module:
    padded = (
        nn.ReflectionPad2d(1),
        nn.Conv2d(2, 2, 3),
        nn.ReplicationPad2d((1, 2, 0, 1)),
        nn.Conv2d(2, 2, 3),
    )
    return nn.Sequential(*padded, nn.Upsample(scale_factor=2), nn.Flatten(), nn.Linear(2 * 6 * 10, CLASSES))


def _averaged() -> nn.Module:
    layers = (nn.Conv2d(2, 4, 3, bias=False), nn.AvgPool2d(2), nn.ConvTranspose2d(4, 3, 2, stride=2))
    return nn.Sequential(
        *layers, nn.Conv2d(3, 3, 3, groups=3, dilation=2), nn.Flatten(), nn.Linear(12, CLASSES)
    )


def _line() -> nn.Module:
    return nn.Sequential(nn.Conv1d(2, 4, 3), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(12, CLASSES))


def _digits() -> nn.Module:
    network = DigitsNet()
    network.dropout = nn.Identity()  # pyright: ignore[reportAttributeAccessIssue] (torch's random numbers are its own)
    return network


CASES = {
    "mlp": Case(_mlp, (4, 6)),
    "activations": Case(_activations, (4, 6)),
    "pools": Case(_pools, (4, 2, 8, 8)),
    "line": Case(_line, (4, 2, 8)),
    "averaged": Case(_averaged, (4, 2, 8, 8)),
    "padded": Case(_padded, (4, 2, 4, 4)),
    "attention": Case(Attention, (4, 5, 8)),
    "causal": Case(lambda: Attention(is_causal=True), (4, 5, 8)),
    "embedding": Case(Embedded, (4, 5), integers=10),
    "recurrent": Case(Recurrent, (4, 3, 4)),
    "digits": Case(_digits, (4, 1, 8, 8), classes=10),
}
