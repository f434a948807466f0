"""Resizes of images of dynamic size as machine code, against torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from native_modules import SETS, lowered, run
from support.programs import Calls, exported
from torch.export import Dim

from et_backends.native.compiler import NativePartitioner
from et_ir import to_edge_transform_and_lower

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


def test_factors_whose_neighbors_depend_on_the_kernel_that_torch_takes() -> None:
    module = Calls(lambda x: F.interpolate(x, scale_factor=1.3))
    program = exported(module, torch.randn(1, 3, 7, 9), dynamic_shapes=((SHAPES,),))
    edge = to_edge_transform_and_lower(program, partitioner=NativePartitioner(instruction_sets=[SETS[0]]))
    assert "edge.upsample_nearest2d.vec" in [op.name for op in edge.module.walk()]
