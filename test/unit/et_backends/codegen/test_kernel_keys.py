"""Kernels with the same key have the same code: what is not built again would be what there is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import pytest
import torch
from support.native_modules import compiled
from torch import nn

from et_backends.codegen.kernels.host import Host

LEVEL = "x86-64-v3"


class Layers(nn.Module):
    """Layers of the same and of other sizes, with several epilogues."""

    def __init__(self, make: Callable[[int], nn.Module], *, biases: int = 2) -> None:
        super().__init__()
        self.biases = biases
        self.layers = nn.ModuleList(make(number % biases) for number in range(2 * biases))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number, layer in enumerate(self.layers):
            y = layer(x)
            x = (y, torch.relu(y), y + x, torch.relu(x + y), x - y, torch.sigmoid(y))[number % 6]
        return torch.cat(
            [layer(x).clamp(0, 1 + number % self.biases) for number, layer in enumerate(self.layers)], 1
        )


def convolution(size: int, groups: int = 1) -> Callable[[int], nn.Module]:
    return lambda bias: nn.Conv2d(16, 16, size, padding=size // 2, groups=groups, bias=bool(bias))


def residual(_: int) -> nn.Module:
    middle = nn.Conv2d(96, 96, 3, padding=1, groups=96)
    return nn.Sequential(nn.Conv2d(16, 96, 1), nn.ReLU6(), middle, nn.ReLU6(), nn.Conv2d(96, 16, 1))


CASES: dict[str, tuple[nn.Module, tuple[int, ...], dict[str, Any]]] = {
    "direct": (Layers(convolution(3)), (1, 16, 6, 6), {"algorithm": "direct"}),
    "winograd": (Layers(convolution(3)), (1, 16, 13, 12), {"algorithm": "winograd_4"}),
    "transformed filters": (
        nn.Sequential(*(nn.Conv2d(192, 192, 3, padding=1) for _ in range(3))),
        (1, 192, 5, 5),
        {"algorithm": "winograd_2"},
    ),
    "point": (Layers(convolution(1)), (1, 16, 9, 9), {}),
    "depthwise": (Layers(convolution(3, 16)), (1, 16, 9, 9), {}),
    "bands": (Layers(residual, biases=1), (1, 16, 40, 40), {"bands": 1}),
    "linear": (Layers(lambda bias: nn.Linear(16, 16, bias=bool(bias))), (3, 16), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_same_keys(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built: dict[tuple[int, Hashable], set[str]] = {}
    repeated: list[str] = []

    def always_build(
        self: Host, name: str, types: Sequence[Any], build: Any, key: Hashable | None = None
    ) -> str:
        symbol = self._built(name, types, build)
        if key is not None:
            known = built.setdefault((id(self), (name, *types, key)), set())
            repeated.extend([symbol] * bool(known))
            known.add(symbol)
        return symbol

    monkeypatch.setattr(Host, "_kernel", always_build)
    module, shape, options = CASES[name]
    compiled(module.eval(), (torch.randn(shape),), LEVEL, **options)
    assert repeated
    assert {len(symbols) for symbols in built.values()} == {1}
