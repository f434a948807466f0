"""Resizes, pads and windows of several sizes as machine code, against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from native_modules import SETS, as_module, check, compiled, run
from torch import nn

FUNCTIONS = {
    "nearest": (lambda x: F.interpolate(x, scale_factor=2.0), (2, 19, 5, 7)),
    "nearest-factors": (lambda x: F.interpolate(x, scale_factor=(1.7, 2.3)), (1, 16, 9, 11)),
    "nearest-smaller": (lambda x: F.interpolate(x, scale_factor=0.6), (1, 3, 13, 17)),
    "nearest-size": (lambda x: F.interpolate(x, size=(13, 17)), (1, 33, 5, 7)),
    "nearest-1d": (lambda x: F.interpolate(x, scale_factor=1.5), (2, 5, 9)),
    "bilinear": (lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), (2, 19, 5, 7)),
    "bilinear-factors": (
        lambda x: F.interpolate(x, scale_factor=(1.7, 0.7), mode="bilinear"),
        (1, 16, 9, 11),
    ),
    "bilinear-size": (lambda x: F.interpolate(x, size=(9, 4), mode="bilinear"), (1, 33, 9, 7)),
    "bilinear-recomputed": (
        lambda x: F.interpolate(x, scale_factor=1.3, mode="bilinear", recompute_scale_factor=True),
        (1, 3, 7, 9),
    ),
    "corners": (
        lambda x: F.interpolate(x, scale_factor=1.6, mode="bilinear", align_corners=True),
        (2, 19, 5, 7),
    ),
    "corners-of-one": (
        lambda x: F.interpolate(x, size=(1, 6), mode="bilinear", align_corners=True),
        (1, 4, 5, 7),
    ),
    "antialiased": (
        lambda x: F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True),
        (2, 19, 11, 7),
    ),
    "antialiased-larger": (
        lambda x: F.interpolate(x, size=(9, 16), mode="bilinear", antialias=True, align_corners=True),
        (1, 5, 11, 7),
    ),
    "antialiased-cubic": (
        lambda x: F.interpolate(x, scale_factor=(0.4, 1.5), mode="bicubic", antialias=True),
        (1, 17, 12, 9),
    ),
    "nearest-3d": (lambda x: F.interpolate(x, scale_factor=1.5), (1, 5, 4, 3, 5)),
    "nearest-exact": (lambda x: F.interpolate(x, size=(13, 17), mode="nearest-exact"), (1, 18, 5, 7)),
    "linear-1d": (lambda x: F.interpolate(x, size=23, mode="linear"), (2, 5, 9)),
    "trilinear": (lambda x: F.interpolate(x, scale_factor=2.0, mode="trilinear"), (1, 5, 3, 4, 3)),
    "cubic": (lambda x: F.interpolate(x, scale_factor=1.5, mode="bicubic"), (1, 5, 6, 7)),
    "cubic-corners": (
        lambda x: F.interpolate(x, size=(5, 9), mode="bicubic", align_corners=True),
        (1, 5, 6, 7),
    ),
    "reflection-1d": (lambda x: F.pad(x, (3, 1), mode="reflect"), (2, 5, 9)),
    "reflection": (lambda x: F.pad(x, (1, 2, 3, 0), mode="reflect"), (2, 19, 5, 7)),
    "reflection-unbatched": (lambda x: F.pad(x, (1, 2, 3, 0), mode="reflect"), (19, 5, 7)),
    "reflection-3d": (lambda x: F.pad(x, (1, 2, 3, 0, 1, 1), mode="reflect"), (1, 4, 3, 5, 4)),
    "replication-1d": (lambda x: F.pad(x, (5, 1), mode="replicate"), (2, 5, 3)),
    "replication": (lambda x: F.pad(x, (1, -2, 6, 0), mode="replicate"), (2, 19, 5, 7)),
    "replication-3d": (lambda x: F.pad(x, (1, 2, 3, 0, 1, 1), mode="replicate"), (1, 4, 2, 5, 4)),
    "adaptive-1d": (lambda x: F.adaptive_avg_pool1d(x, 4), (2, 5, 11)),
    "adaptive": (lambda x: F.adaptive_avg_pool2d(x, (3, 5)), (2, 19, 10, 7)),
    "adaptive-unbatched": (lambda x: F.adaptive_avg_pool2d(x, (3, 9)), (19, 10, 7)),
    "adaptive-3d": (lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)), (1, 5, 5, 7, 6)),
    "average-3d": (lambda x: F.avg_pool3d(x, (3, 2, 2), 2, 1), (1, 19, 5, 7, 6)),
    "average-3d-inside": (
        lambda x: F.avg_pool3d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
        (1, 5, 6, 8, 7),
    ),
    "average-3d-override": (lambda x: F.avg_pool3d(x, 2, divisor_override=3), (5, 6, 8, 7)),
}

WEIGHTED = ("linear", "bilinear", "trilinear", "cubic", "corners", "antialiased")


@pytest.mark.sweep
@pytest.mark.parametrize("name", FUNCTIONS)
def test_resampling(name: str) -> None:
    """Weights are fractions of positions, which are rounded as numbers of the size of a dimension."""
    function, shape = FUNCTIONS[name]
    torch.manual_seed(0)
    check(function, torch.randn(shape), growth=max(shape[2:]) if name.startswith(WEIGHTED) else 1.0)


def test_planes_of_a_volume() -> None:
    """Each axis has places of its own."""
    x = torch.arange(5 * 2 * 3 * 4, dtype=torch.float32).reshape(1, 5, 2, 3, 4)
    check(
        lambda x: F.interpolate(F.pad(x, (1, 2, 0, 1, 1, 0), mode="reflect"), size=(4, 7, 5)), x, exact=True
    )


@pytest.mark.parametrize("sizes", [(7, 3), (10, 33), (3, 7), (100, 101), (33, 10), (64, 65), (5, 11)])
def test_nearest_places_are_those_of_torch(sizes: tuple[int, int]) -> None:
    source, target = sizes
    x = torch.arange(source * source, dtype=torch.float32).reshape(1, 1, source, source)
    for factor in (None, target / source):
        module = as_module(
            lambda x, factor=factor: (
                F.interpolate(x, scale_factor=factor) if factor else F.interpolate(x, size=(target, target))
            )
        )
        found = run(compiled(module, (x,), SETS[0]), (x,))
        np.testing.assert_array_equal(found, module(x).numpy())


@pytest.mark.sweep
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("size", [(4, 4), (8, 8), (7, 9), (4, 7)])
def test_bilinear_of_nan_and_infinity(size: tuple[int, int], corners: bool) -> None:
    x = torch.randn(1, 2, 4, 4)
    x[0, 0, 1, 2] = float("nan")
    x[0, 0, 3, 3], x[0, 1, 0, 0] = float("inf"), float("-inf")
    check(lambda x: F.interpolate(x, size=size, mode="bilinear", align_corners=corners), x, growth=4)


class Pyramid(nn.Module):
    """A resize between convolutions, with what follows it in one kernel."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode
        self.first, self.second = nn.Conv2d(3, 18, 3, padding=1), nn.Conv2d(18, 18, 3, 2, 1)
        self.last = nn.Conv2d(18, 5, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        z = F.interpolate(self.second(y), size=y.shape[-2:], mode=self.mode)
        z = torch.relu(z * self.first.bias[:, None, None] + y)
        return self.last(F.pad(z, (1, 1, 0, 2), mode="reflect"))


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_resize_with_its_sum(mode: str) -> None:
    torch.manual_seed(0)
    check(Pyramid(mode).eval(), torch.randn(2, 3, 9, 8), growth=5 if mode == "bilinear" else 1.0)
