"""Convolutions of every kind and constant pads as machine code, against torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from native_modules import check
from torch import nn

LAYERS = {
    "transposed": (lambda: nn.ConvTranspose2d(6, 20, 3, 2, 1, 1), (2, 6, 5, 7)),
    "transposed-even": (lambda: nn.ConvTranspose2d(19, 33, 2, 2), (1, 19, 4, 15)),
    "transposed-4": (lambda: nn.ConvTranspose2d(5, 16, 4, 2, 1, bias=False), (1, 5, 6, 4)),
    "transposed-by-3": (lambda: nn.ConvTranspose2d(4, 7, (2, 5), 3, (0, 1), (1, 2)), (2, 4, 3, 4)),
    "transposed-dilated": (lambda: nn.ConvTranspose2d(3, 8, 3, 2, 2, 1, dilation=2), (1, 3, 5, 6)),
    "transposed-dilated-3": (
        lambda: nn.ConvTranspose2d(3, 8, (3, 2), (4, 3), 1, dilation=(2, 3)),
        (1, 3, 5, 6),
    ),
    "transposed-step-1": (lambda: nn.ConvTranspose2d(3, 18, 3, padding=1), (1, 3, 5, 6)),
    "transposed-cut": (lambda: nn.ConvTranspose2d(3, 5, 3, 2, 3), (1, 3, 5, 6)),
    "transposed-groups": (lambda: nn.ConvTranspose2d(6, 10, 3, 2, 1, groups=2), (2, 6, 4, 5)),
    "transposed-depthwise": (lambda: nn.ConvTranspose2d(18, 18, 4, 2, 1, groups=18), (2, 18, 4, 5)),
    "transposed-multiplied": (lambda: nn.ConvTranspose2d(5, 15, 3, 2, groups=5), (1, 5, 4, 5)),
    "transposed-1d": (lambda: nn.ConvTranspose1d(6, 20, 5, 2, 1), (2, 6, 11)),
    "transposed-3d": (lambda: nn.ConvTranspose3d(4, 6, 3, 2, 1, 1), (1, 4, 3, 4, 2)),
    "groups": (lambda: nn.Conv2d(12, 20, 3, padding=1, groups=2), (2, 12, 6, 5)),
    "groups-of-4": (lambda: nn.Conv2d(32, 32, 3, 2, 1, groups=8, bias=False), (1, 32, 7, 8)),
    "groups-of-33": (lambda: nn.Conv2d(6, 66, 1, groups=2), (1, 6, 5, 4)),
    "groups-dilated": (lambda: nn.Conv2d(6, 9, 3, padding=2, dilation=2, groups=3), (1, 6, 7, 8)),
    "large-groups": (lambda: nn.Conv2d(64, 96, (3, 5), padding=2, groups=2), (1, 64, 4, 5)),
    "multiplied": (lambda: nn.Conv2d(9, 27, 3, padding=1, groups=9), (2, 9, 5, 6)),
    "multiplied-by-16": (lambda: nn.Conv2d(3, 48, 3, 2, groups=3), (1, 3, 7, 9)),
    "conv1d": (lambda: nn.Conv1d(5, 33, 3, 2, 1), (2, 5, 17)),
    "conv1d-point": (lambda: nn.Conv1d(5, 18, 1), (2, 5, 17)),
    "conv1d-dilated": (lambda: nn.Conv1d(16, 16, 3, padding=4, dilation=4), (1, 16, 40)),
    "conv1d-depthwise": (lambda: nn.Conv1d(19, 19, 7, padding=3, groups=19), (2, 19, 12)),
    "conv1d-groups": (lambda: nn.Conv1d(8, 12, 9, padding=4, groups=4), (2, 8, 12)),
    "conv3d": (lambda: nn.Conv3d(3, 18, 3, padding=1), (2, 3, 4, 5, 6)),
    "conv3d-strided": (lambda: nn.Conv3d(3, 8, (2, 3, 1), (1, 2, 3), (1, 0, 2)), (1, 3, 4, 7, 6)),
    "conv3d-point": (lambda: nn.Conv3d(3, 8, 1), (1, 3, 2, 3, 4)),
    "conv3d-depthwise": (lambda: nn.Conv3d(17, 17, 3, 2, 1, groups=17), (1, 17, 4, 5, 6)),
    "conv3d-groups": (lambda: nn.Conv3d(4, 6, 2, dilation=2, groups=2), (1, 4, 4, 5, 6)),
    "same": (lambda: nn.Conv2d(3, 5, (5, 3), padding="same"), (1, 3, 5, 6)),
    "reflected": (lambda: nn.Conv2d(3, 5, 3, padding=1, padding_mode="reflect"), (1, 3, 5, 6)),
    "circular": (lambda: nn.Conv2d(3, 5, 3, padding=1, padding_mode="circular"), (1, 3, 5, 6)),
    "unbatched": (lambda: nn.Conv2d(3, 5, 3, padding=1), (3, 5, 6)),
    "unbatched-groups": (lambda: nn.Conv2d(6, 4, 3, padding=1, groups=2), (6, 5, 6)),
    "shape-of-filters": (lambda: nn.Conv2d(8, 8, 3, padding=1), (8, 8, 3, 3)),
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", LAYERS)
def test_convolution(name: str) -> None:
    make, shape = LAYERS[name]
    torch.manual_seed(0)
    check(make().eval(), torch.randn(shape))


COMPUTED: dict[str, tuple[Callable[..., torch.Tensor], list[tuple[int, ...]]]] = {
    "computed": (lambda x, w, b: F.conv2d(x, w, b, padding=1), [(2, 5, 6, 7), (18, 5, 3, 3), (18,)]),
    "computed-point": (lambda x, w: F.conv2d(x, w), [(2, 5, 6, 7), (18, 5, 1, 1)]),
    "computed-filters-of-a-constant": (
        lambda x, w: F.conv2d(x, torch.relu(w * 2), stride=2),
        [(1, 3, 6, 7), (4, 3, 2, 3)],
    ),
    "computed-groups": (lambda x, w: F.conv2d(x, w, groups=2), [(1, 6, 6, 7), (10, 3, 3, 3)]),
    "computed-depthwise": (
        lambda x, w, b: F.conv2d(x, w, b, padding=1, groups=19),
        [(1, 19, 6, 7), (19, 1, 3, 3), (19,)],
    ),
    "computed-transposed": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1),
        [(1, 6, 4, 5), (6, 19, 3, 3)],
    ),
    "computed-transposed-groups": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, groups=2),
        [(1, 6, 4, 5), (6, 3, 3, 2)],
    ),
    "computed-transposed-depthwise": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, groups=6),
        [(1, 6, 4, 5), (6, 2, 3, 2)],
    ),
    "computed-1d": (lambda x, w: F.conv1d(x, w, dilation=2), [(2, 5, 16), (18, 5, 3)]),
    "computed-3d": (lambda x, w: F.conv3d(x, w), [(1, 2, 4, 5, 6), (5, 2, 2, 3, 3)]),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_filters_that_are_computed(name: str) -> None:
    function, shapes = COMPUTED[name]
    torch.manual_seed(0)
    check(function, *(torch.randn(shape) for shape in shapes))


class Upsampled(nn.Module):
    """A transposed convolution with what follows it in one kernel, between plain ones."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 18, 3, 2, 1)
        self.up = nn.ConvTranspose2d(18, 18, 2, 2, groups=groups)
        self.last = nn.Conv2d(18, 5, 3, groups=1)
        self.scale = nn.Parameter(torch.randn(18, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        other = F.interpolate(y, scale_factor=2.0)
        return self.last(F.pad(torch.relu(self.up(y) * self.scale + other), (0, 1, -1, 2), value=0.5))


@pytest.mark.parametrize("groups", [1, 2, 18])
def test_upsampling_with_its_sum(groups: int) -> None:
    torch.manual_seed(0)
    check(Upsampled(groups).eval(), torch.randn(2, 3, 10, 8))


@pytest.mark.parametrize("groups", [1, 2])
def test_groups_and_phases_of_nan_and_infinity(groups: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 4, 5, 6)
    x[0, 1, 2, 3], x[0, 3, 0, 0] = float("nan"), float("inf")
    check(nn.Conv2d(4, 6, 3, padding=1, groups=groups), x)
    check(nn.ConvTranspose2d(4, 6, 3, 2, groups=groups), x)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("constant", [True, False])
def test_transposed_filters_of_nan_and_infinity(groups: int, constant: bool) -> None:
    """What is outside of the image contributes nothing, and not zeros times filters."""
    torch.manual_seed(0)
    layer = nn.ConvTranspose2d(4, 4, 3, 2, 1, 1, groups=groups)
    with torch.no_grad():
        layer.weight[0, 0, 2, 2], layer.weight[3, 0, 0, 1] = float("nan"), float("inf")
    x = torch.randn(1, 4, 3, 4)
    if constant:
        check(layer.eval(), x)
    else:
        check(
            lambda x, w: F.conv_transpose2d(x, w, None, 2, 1, 1, groups),
            x,
            layer.weight.detach(),
        )


PADS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((5,), (2, 3)),
    ((5,), (-2, 3)),
    ((3, 4), (1, 2, 0, 1)),
    ((3, 4), (0, 0, 1, 2)),
    ((2, 3, 33), (1, -2)),
    ((2, 3, 4), (0, 0, -1, 2)),
    ((2, 19, 5, 6), (1, 2, 3, 0)),
    ((2, 19, 5, 6), (-1, -2, 3, -1)),
    ((2, 19, 5, 6), (0, 0, 0, 0, 1, 2)),
    ((2, 3, 4, 5, 6), (1, 0, 0, 2, 0, 0, 1, 1, 2, 0)),
    ((3, 4), (-2, -1, 1, 1)),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("shape", "pad"), PADS)
@pytest.mark.parametrize("value", [0.0, -1.5, float("-inf")])
def test_constant_pad(shape: tuple[int, ...], pad: tuple[int, ...], value: float) -> None:
    check(lambda x: F.pad(x, pad, value=value) * 1, torch.randn(shape))
