"""Graphs of quantized activations and weights of 8 bits, at the ends of ranges: biases, scales, paddings and pools.

What torch computes with `quantized_decomposed` is the reference; kernels of integers may be a step off, as they round
another number of times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
import torch.ao.quantization.fx._decomposed  # defines the operators  # pyright: ignore[reportUnusedImport]
from quantized_programs import I8, Q, there_and_back
from torch import Tensor, nn
from torch.nn import functional as F
from window_programs import WINDOWS, averages, maxima

__all__ = ["CASES", "STEP"]

Case = Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]

STEP: Final = 0.05
"""The scale of all results."""

LAYERS: Final[dict[str, tuple[tuple[int, ...], tuple[int, ...], int, Callable[..., Tensor]]]] = {
    "linear": ((3, 16), (6, 16), 0, F.linear),
    "conv": ((1, 4, 6, 6), (6, 4, 3, 3), 0, lambda x, w, b: F.conv2d(x, w, b, padding=1)),
    "pointwise": ((1, 4, 6, 6), (6, 4, 1, 1), 0, F.conv2d),
    "grouped": ((1, 4, 6, 6), (6, 2, 3, 3), 0, lambda x, w, b: F.conv2d(x, w, b, groups=2)),
    "depthwise": ((1, 6, 6, 6), (6, 1, 3, 3), 0, lambda x, w, b: F.conv2d(x, w, b, 2, 1, groups=6)),
    "transposed": ((1, 4, 5, 5), (4, 6, 3, 3), 1, lambda x, w, b: F.conv_transpose2d(x, w, b, 2)),
    "rows": ((2, 4, 9), (6, 4, 3), 0, lambda x, w, b: F.conv1d(x, w, b, 2, 1)),
}
"""Shapes of the input and the weight, the dimension of its six filters, and the layer."""
SUMS: Final[dict[str, tuple[float, float]]] = {
    "ordinary": (0.02, 0.01),
    "fine": (1e-4, 1e-6),
    "finest": (1e-6, 1e-9),
    "coarse": (2.0, 0.5),
}
"""Scales of the input and of weights: their product is that of sums, and of biases of 32 bits."""


def _biases() -> dict[str, Tensor | None]:
    """Against results from -6.4 to 6.35, and against what 32 bits hold."""
    return {
        "none": None,
        "within": torch.tensor([0.0, 0.5, -1.0, 3.0, -6.0, 6.0]),
        "beyond": torch.tensor([0.0, 7.0, -7.0, 100.0, -1e4, 1e9]),
        "mixed": torch.tensor([1e-3, 3.0, -6.0, 1e30, -1e30, 0.1]),
    }


class Layer(nn.Module):
    """A layer of integers: with a scale for each filter, or with one and an activation behind it."""

    def __init__(
        self, layer: str, sums: tuple[float, float], bias: Tensor | None, *, by_channel: bool
    ) -> None:
        super().__init__()
        self.shape, weight_shape, self.axis, self.layer = LAYERS[layer]
        generator = torch.Generator().manual_seed(len(layer))
        self.scale, self.weight_scale = sums
        integers = torch.randint(-127, 128, weight_shape, dtype=torch.int8, generator=generator)
        self.register_buffer("weight", integers)
        self.register_buffer("scales", self.weight_scale * (1 + torch.arange(6) / 5) if by_channel else None)
        self.register_buffer("zeros", torch.zeros(6, dtype=torch.int64))
        self.bias = None if bias is None else nn.Parameter(bias)

    def inputs(self) -> Tensor:
        generator = torch.Generator().manual_seed(1)
        return torch.randint(-140, 140, self.shape, generator=generator) * self.scale

    def forward(self, x: Tensor) -> Tensor:
        x = there_and_back(x, self.scale, -3)
        if self.scales is None:
            weight = Q.dequantize_per_tensor(self.weight, self.weight_scale, 0, *I8)
            return there_and_back(F.relu(self.layer(x, weight, self.bias)), STEP, -128)
        weight = Q.dequantize_per_channel(self.weight, self.scales, self.zeros, self.axis, *I8)
        return there_and_back(self.layer(x, weight, self.bias), STEP, 1)


def _layer(layer: str, sums: str, bias: str, *, by_channel: bool) -> Case:
    def case() -> tuple[nn.Module, tuple[Tensor, ...]]:
        module = Layer(layer, SUMS[sums], _biases()[bias], by_channel=by_channel)
        return module, (module.inputs(),)

    return case


class BothWays(nn.Module):
    """A square weight of integers that floats are multiplied with transposed and as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.arange(-32, 32, dtype=torch.int8).reshape(8, 8))

    def forward(self, x: Tensor) -> Tensor:
        weight = Q.dequantize_per_tensor(self.weight, 0.02, 0, *I8)
        return there_and_back(F.linear(there_and_back(x, STEP, 5), weight) @ weight, STEP, 5)


class Quantized(nn.Module):
    """Functions of quantized numbers, whose results have the same scale and zero point, or others."""

    def __init__(self, functions: list[Callable[..., Tensor]], grid: tuple[float, int]) -> None:
        super().__init__()
        self.functions = functions
        self.grid = grid

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        restored = [there_and_back(one, *self.grid) for one in inputs]
        return [there_and_back(function(*restored), STEP, 5) for function in self.functions]


GRIDS: Final = {"same grid": (STEP, 5), "other zero point": (STEP, -40), "coarse input": (0.37, -3)}
"""Scale and zero point of inputs."""


def _functions(functions: list[Callable[..., Tensor]], grid: str, *shapes: tuple[int, ...]) -> Case:
    def case() -> tuple[nn.Module, tuple[Tensor, ...]]:
        generator = torch.Generator().manual_seed(2)
        inputs = [torch.randn(shape, generator=generator) * 2 + 1 for shape in shapes]
        return Quantized(functions, GRIDS[grid]), tuple(inputs)

    return case


BOUNDS: Final[list[Callable[..., Tensor]]] = [
    F.relu,
    F.relu6,
    F.hardtanh,
    lambda x: x.clamp(-0.7, 1.3),
    lambda x: x.clamp(min=0.4),
    lambda x: x.clamp(max=-0.2),
    lambda x: x.clamp(20, 30),
]
MOVES: Final[list[Callable[..., Tensor]]] = [
    lambda x: F.pad(x, (1, 2, 0, 1)),
    lambda x: F.pad(x, (1, 2, 0, 1), value=1.5),
    lambda x: F.pad(x, (1, 0, 2, 0), value=100.0),
    lambda x: x.transpose(1, 3),
    lambda x: x[:, 1:3],
    lambda x: x.flatten(1),
    lambda x: torch.cat([x, x], 1),
]
ARITHMETIC: Final[list[Callable[..., Tensor]]] = [
    lambda x, y: x + y,
    lambda x, y: F.relu(x - y),
    lambda x, y: x * y,
    lambda x, y: (x + y).mean((2, 3)),
    lambda x, y: torch.cat([x, y], 1),
    torch.maximum,
]
IMAGE: Final = (1, 4, 6, 5)


def _layers() -> dict[str, Case]:
    every = [
        (layer, sums, bias, by_channel)
        for by_channel in (True, False)
        for layer in LAYERS
        for sums in SUMS
        for bias in _biases()
        if by_channel or bias != "none"
    ]
    return {
        f"{layer}, {sums} sums, {bias} bias, {'by channel' if by_channel else 'by tensor'}": _layer(
            layer, sums, bias, by_channel=by_channel
        )
        for layer, sums, bias, by_channel in every
    }


CASES: Final[dict[str, Case]] = {
    **_layers(),
    "weight in both ways": lambda: (BothWays(), (torch.linspace(-3, 3, 16).reshape(2, 8),)),
    **{f"bounds, {grid}": _functions(BOUNDS, grid, IMAGE) for grid in GRIDS},
    **{f"moves, {grid}": _functions(MOVES, grid, IMAGE) for grid in GRIDS},
    **{f"arithmetic, {grid}": _functions(ARITHMETIC, grid, IMAGE, IMAGE) for grid in GRIDS},
    **{
        f"{kind}, {name}, {grid}": _functions(build(window), grid, (1, 4, *window[3]))
        for kind, build in (("average", averages), ("maximum", maxima))
        for name, window in WINDOWS.items()
        for grid in ("same grid", "coarse input")
    },
}
