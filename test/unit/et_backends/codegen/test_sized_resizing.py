"""Resizes of images of dynamic size as machine code, against torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from native_modules import SETS, lowered, run
from support.programs import Calls, exported
from torch.export import Dim

RESIZES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "nearest, doubled": lambda x: F.interpolate(x, scale_factor=2.0),
    "nearest, smaller": lambda x: F.interpolate(x, scale_factor=(0.5, 3.0)),
    "nearest, by a size": lambda x: F.interpolate(x, size=(x.shape[3], 2 * x.shape[2])),
    "bilinear, doubled": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
    "bilinear, by factors": lambda x: F.interpolate(x, scale_factor=(2.5, 0.5), mode="bilinear"),
    "bilinear, by a factor that keeps small sizes": lambda x: F.interpolate(
        x, scale_factor=1.125, mode="bilinear"
    ),
    "bilinear, to a known size": lambda x: F.interpolate(x, size=(9, 1), mode="bilinear"),
    "bilinear, corners": lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=True),
    "bilinear, corners of one": lambda x: F.interpolate(
        x, size=(1, x.shape[2]), mode="bilinear", align_corners=True
    ),
}
SHAPES = {2: Dim("height", min=4, max=24), 3: Dim("width", min=4, max=24)}


def resized(name: str) -> Calls:
    """With a product in the same kernel."""
    return Calls(lambda x: RESIZES[name](x) * 0.5)


@pytest.mark.parametrize("name", RESIZES)
def test_sizes_of_one_file(name: str) -> None:
    torch.manual_seed(0)
    module = resized(name)
    file = lowered(exported(module, torch.randn(2, 19, 11, 13), dynamic_shapes=((SHAPES,),)), SETS[0])
    for height, width in ((11, 13), (5, 5), (24, 9), (4, 24), (8, 4)):
        x = torch.randn(2, 19, height, width)
        # Positions are rounded as numbers of the size of a dimension, by torch as here.
        torch.testing.assert_close(torch.from_numpy(run(file, (x,))), module(x), rtol=1e-5, atol=3e-5)


def test_infinities_of_a_size_that_is_kept() -> None:
    """No neighbor counts, as none has a weight."""
    module = Calls(lambda x: F.interpolate(x, size=(x.shape[3], x.shape[3]), mode="bilinear"))
    x = torch.randn(1, 3, 7, 7)
    x[0, 0, 2, 3] = float("nan")
    file = lowered(exported(module, torch.randn(1, 3, 7, 9), dynamic_shapes=((SHAPES,),)), SETS[0])
    torch.testing.assert_close(torch.from_numpy(run(file, (x,))), module(x), equal_nan=True)


@pytest.mark.parametrize("factor", [1.125, 2.1, 1.3])
def test_neighbors_that_depend_on_the_kernel_that_torch_takes(factor: float) -> None:
    """Of a dimension that is kept or doubled: by the sizes for small images, else by the factor."""
    torch.manual_seed(0)
    module = Calls(lambda x: F.interpolate(x, scale_factor=factor))
    shapes = {2: Dim("height", min=2, max=24), 3: Dim("width", min=2, max=140)}
    file = lowered(exported(module, torch.randn(1, 5, 7, 11), dynamic_shapes=((shapes,),)), SETS[0])
    for height, width in ((7, 11), (4, 130), (3, 7), (5, 140), (9, 4), (2, 3)):
        x = torch.randn(1, 5, height, width)
        torch.testing.assert_close(torch.from_numpy(run(file, (x,))), module(x), rtol=0, atol=0)
