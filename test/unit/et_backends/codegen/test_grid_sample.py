"""Images at the points of a grid as machine code, against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from native_modules import SETS, check, lowered, run
from support.programs import Calls, exported
from torch.export import Dim

INSIDE = [
    (mode, padding) for mode in ("bilinear", "nearest") for padding in ("zeros", "border", "reflection")
]


def sampled(x: torch.Tensor, grid: torch.Tensor, **options: Any) -> torch.Tensor:
    """With a sum in the same kernel."""
    return F.grid_sample(x, grid, **options) * 0.5 + x[:, :, :1, :1]


def points(batch: int, height: int, width: int) -> torch.Tensor:
    """Points of which some are outside, on the edges, and far away."""
    found = torch.rand(batch, height, width, 2) * 4 - 2
    edges = torch.tensor([-1.0, 1.0, 0.0, 1e10, -1e10, float("inf"), float("-inf"), float("nan")])
    found.view(-1)[: len(edges)] = edges
    return found


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize(("mode", "padding"), INSIDE)
def test_points_inside_and_outside(mode: str, padding: str, corners: bool) -> None:
    torch.manual_seed(0)
    x, grid = torch.randn(2, 19, 6, 5), points(2, 4, 7)
    if padding == "reflection":
        grid.nan_to_num_(0.3, 0.4, 0.6).clamp_(
            -9, 9
        )  # far outside, positions are apart by more than the image
    program = exported(
        Calls(lambda x, grid: sampled(x, grid, mode=mode, padding_mode=padding, align_corners=corners)),
        x,
        grid,
    )
    found = torch.from_numpy(run(lowered(program, SETS[0]), (x, grid)))
    expected = sampled(x, grid, mode=mode, padding_mode=padding, align_corners=corners)
    # Torch computes positions in the same order of operations: the places are the same, and weights to a rounding.
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5, equal_nan=True)


def test_pixels_that_are_not_read_do_not_count() -> None:
    """A NaN of the first pixel is no part of what is outside."""
    x = torch.zeros(1, 1, 3, 3)
    x[0, 0, 0, 0] = float("nan")
    grid = torch.tensor([5.0, 5.0, -5.0, 0.0, 1.0, 1.0]).view(1, 1, 3, 2)
    check(lambda x, grid: F.grid_sample(x, grid, align_corners=True), x, grid, exact=True)


def test_images_of_any_size() -> None:
    size, length, batch = Dim("size", min=2, max=9), Dim("length", min=1, max=9), Dim("batch", max=4)
    module = Calls(lambda x, grid: F.grid_sample(x, grid, align_corners=False))
    inputs = torch.randn(2, 3, 6, 5), points(2, 4, 7)
    shapes = {0: batch, 2: size}, {0: batch, 2: length}
    file = lowered(exported(module, *inputs, dynamic_shapes=((shapes),)), SETS[0])
    for rows, columns, images in ((6, 7, 2), (9, 9, 4), (2, 4, 1)):
        given = torch.randn(images, 3, rows, 5), points(images, 4, columns)
        torch.testing.assert_close(
            torch.from_numpy(run(file, given)), module(*given), rtol=1e-5, atol=1e-5, equal_nan=True
        )
