"""Convolutions, pools and layouts of the native backend against torch, on every instruction set of this machine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from native_modules import check as check_values
from native_modules import compiled, run, sets
from torch import nn


def check(module: nn.Module, *shapes: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    check_values(module, *(torch.randn(shape) for shape in shapes))


CONVOLUTIONS = [
    pytest.param(lambda: nn.Conv2d(3, 16, 3, 2, 1), (1, 3, 15, 17), id="stem"),
    pytest.param(
        lambda: nn.Conv2d(2, 40, (3, 5), (2, 1), (1, 2), (1, 2)), (2, 2, 9, 11), id="planes-dilated"
    ),
    pytest.param(lambda: nn.Conv2d(4, 24, 3), (2, 4, 6, 7), id="planes-without-border"),
    pytest.param(lambda: nn.Conv2d(8, 24, 1), (2, 8, 5, 7), id="point"),
    pytest.param(lambda: nn.Conv2d(8, 56, 1), (1, 8, 3, 5), id="point-with-tail"),
    pytest.param(lambda: nn.Conv2d(8, 33, 1, bias=False), (1, 8, 1, 1), id="one-pixel"),
    pytest.param(lambda: nn.Conv2d(16, 40, 1, stride=2), (1, 16, 9, 9), id="point-strided"),
    pytest.param(lambda: nn.Conv2d(5, 7, (3, 2), (1, 2), (2, 0)), (2, 5, 6, 9), id="oblong"),
    pytest.param(lambda: nn.Conv2d(6, 10, 3, padding=2, dilation=2), (1, 6, 8, 11), id="dilated"),
    pytest.param(lambda: nn.Conv2d(64, 300, 5, padding=2), (1, 64, 4, 4), id="large-filters"),
    pytest.param(lambda: nn.Conv2d(24, 24, 3, padding=1, groups=24), (2, 24, 7, 9), id="depthwise"),
    pytest.param(
        lambda: nn.Conv2d(19, 19, 5, 2, 2, groups=19, bias=False), (1, 19, 11, 10), id="depthwise-5"
    ),
    pytest.param(
        lambda: nn.Conv2d(16, 16, 7, 1, 3, groups=16), (1, 16, 9, 37), id="depthwise-tiles-of-each-kind"
    ),
    pytest.param(lambda: nn.Conv2d(18, 18, 3, (1, 2), 1, groups=18), (2, 18, 6, 50), id="depthwise-strided"),
    pytest.param(
        lambda: nn.Conv2d(16, 16, 3, padding=12, dilation=12, groups=16), (1, 16, 5, 9), id="depthwise-border"
    ),
    pytest.param(
        lambda: nn.Conv2d(17, 17, 3, padding=2, dilation=2, groups=17), (1, 17, 6, 5), id="depthwise-dilated"
    ),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("make", "shape"), CONVOLUTIONS)
def test_convolution(make: Callable[[], nn.Module], shape: tuple[int, ...]) -> None:
    check(make(), shape)


POOLS = [
    pytest.param(lambda: nn.MaxPool2d(3, 2, 1), (2, 19, 9, 8), id="max"),
    pytest.param(lambda: nn.MaxPool2d(2, 2, ceil_mode=True), (1, 5, 7, 7), id="max-ceil"),
    pytest.param(lambda: nn.MaxPool2d(3, 1, 1, dilation=2), (1, 16, 9, 9), id="max-dilated"),
    pytest.param(lambda: nn.AvgPool2d(3, 2, 1), (1, 20, 8, 9), id="average"),
    pytest.param(lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), (1, 20, 8, 9), id="average-inside"),
    pytest.param(lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True), (1, 3, 8, 10), id="average-ceil"),
    pytest.param(lambda: nn.AvgPool2d(2, divisor_override=3), (1, 3, 6, 6), id="average-override"),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("make", "shape"), POOLS)
def test_pool(make: Callable[[], nn.Module], shape: tuple[int, ...]) -> None:
    check(make(), shape)


def test_pool_of_nan_and_infinity() -> None:
    x = torch.tensor([[[[float("nan"), 1.0], [2.0, float("-inf")]], [[float("-inf")] * 2] * 2]])
    for name in sets():
        found = run(compiled(nn.MaxPool2d(2), (x,), name), (x,))
        np.testing.assert_array_equal(found, nn.functional.max_pool2d(x, 2).numpy())


class Residual(nn.Module):
    """Images through fused sums, a permutation and a product: every kind of change of layout."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(8, 20, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(20)
        self.second = nn.Conv2d(20, 20, 3, padding=1, groups=20)
        self.scale = nn.Parameter(torch.randn(20, 1, 1))
        self.field = nn.Parameter(torch.randn(1, 20, 6, 5))
        self.last = nn.Linear(20, 9)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.first(x)))
        y = nn.functional.relu6(self.second(y) + y * self.scale) + self.field
        return self.last(y.permute(0, 2, 3, 1)).transpose(1, 3)


def test_layouts_of_a_residual_block() -> None:
    check(Residual(), (2, 8, 6, 5))


class Gate(nn.Module):
    """Images by factors for each channel, each row and each pixel."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 18, 3)
        self.squeeze = nn.Conv2d(18, 18, 1)
        self.rows = nn.Parameter(torch.randn(5, 1))
        self.pixels = nn.Parameter(torch.randn(5, 4))
        self.field = nn.Parameter(torch.randn(18, 5, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        y = y * torch.sigmoid(self.squeeze(nn.functional.avg_pool2d(y, (5, 4))))
        return (y * self.rows + self.pixels) * self.field


def test_broadcasts_over_images() -> None:
    check(Gate(), (2, 3, 7, 6))


class Parts(nn.Module):
    """Concatenations and slices, in channels-last memory and in contiguous memory."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 7, 3)
        self.second = nn.Conv2d(3, 12, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.cat([self.first(x), self.second(x), x[:, :, 1:-1, 1:-1]], 1)
        one, other = y.split([10, 12], 1)
        y = torch.cat([one[:, 3:8], other[:, -4:]], 2 - 1) + y[:, 5:14]
        rows = torch.cat([y[..., 0], y[:, :, :, -1], y.select(3, 1)], 2)
        return rows[:, :, 1:] * rows[:, :, :1].expand(-1, -1, rows.shape[2] - 1)


def test_parts() -> None:
    check(Parts(), (2, 3, 8, 7))


class Gated(nn.Module):
    """A product that is multiplied by a function of another one, which comes before it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(9, 20, bias=False), nn.Linear(9, 20, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.silu(self.gate(x)) * self.up(x)


def test_gate_before_the_anchor() -> None:
    check(Gated(), (5, 9))


class Flat(nn.Module):
    """A view that channels-last memory does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(4, 6, 3)
        self.last = nn.Linear(6 * 3 * 2, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.flatten(self.first(x), 1))


def test_view_of_an_image() -> None:
    check(Flat(), (2, 4, 5, 4))


@pytest.mark.parametrize("dims", [(1, 0), (0, 2, 1), (2, 0, 1), (3, 1, 2, 0), (0, 3, 1, 2), (1, 0, 3, 2)])
def test_transposition(dims: tuple[int, ...]) -> None:
    class Permuted(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * 2).permute(dims)

    check(Permuted(), (3, 5, 33, 2)[: len(dims)])
