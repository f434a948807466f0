"""Winograd convolution against torch, by both sizes of tiles, and the choice of algorithms."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest
import torch
from native_modules import SETS, WINOGRAD_GROWTH, check, sets
from torch import nn

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.passes import choose_algorithms
from et_backends.codegen.passes.choose_algorithms import ChooseAlgorithmsPass
from et_backends.native.compiler import NativePartitioner
from et_ir import to_edge_transform_and_lower

SHAPES = [
    (16, 16, 8, 8, 1, 1),
    (64, 64, 14, 14, 1, 1),
    (20, 37, 7, 9, 2, 1),
    (16, 33, 5, 4, 1, 0),
    (48, 16, 3, 3, 1, 2),
    (17, 70, 1, 9, 1, 1),
    (32, 48, 27, 30, 3, 1),
    (130, 140, 7, 9, 1, 1),
    (96, 176, 5, 6, 2, 1),
    (130, 140, 20, 22, 1, 1),
]
"""Channels before and after, height, width, images, border. Of the last three, filters may be transformed in calls."""


@pytest.fixture(params=WINOGRAD_GROWTH)
def forced(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each of the algorithms, where it can be used at all."""
    costs = choose_algorithms.costs

    def one(kernel: KernelOp) -> dict[str, float]:
        return {form: float(form != request.param) for form in costs(kernel)}

    with patch.object(choose_algorithms, "costs", one):
        yield request.param


@pytest.mark.sweep
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_convolutions(shape: tuple[int, ...], forced: str) -> None:
    channels, columns, height, width, images, border = shape
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Conv2d(channels, columns, 3, padding=border), nn.Hardswish())
    with patch.object(
        ChooseAlgorithmsPass, "apply", autospec=True, side_effect=ChooseAlgorithmsPass.apply
    ) as apply:
        check(layer, torch.randn(images, channels, height, width), growth=WINOGRAD_GROWTH[forced])
    forms = [
        op.form.data for call in apply.mock_calls for op in call.args[2].walk() if isinstance(op, KernelOp)
    ]
    assert forms.count(forced) == len(sets())


def test_a_residual_sum_is_computed_with_it(forced: str) -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(24, 24, 3, padding=1)
            self.second = nn.Conv2d(24, 24, 3, padding=1, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.second(torch.relu(self.first(x))) + x)

    torch.manual_seed(0)
    check(Block(), torch.randn(1, 24, 11, 6), growth=WINOGRAD_GROWTH[forced])


@pytest.mark.parametrize(
    ("channels", "pixels", "form"),
    [(64, 56, "winograd_4"), (128, 28, "winograd_4"), (256, 14, "winograd_2"), (512, 7, "winograd_2")],
)
def test_choice(channels: int, pixels: int, form: str) -> None:
    """Of the layers of a ResNet."""
    layer = nn.Conv2d(channels, channels, 3, padding=1)
    program = torch.export.export(layer, (torch.randn(1, channels, pixels, pixels),))
    with patch.object(
        ChooseAlgorithmsPass, "apply", autospec=True, side_effect=ChooseAlgorithmsPass.apply
    ) as apply:
        to_edge_transform_and_lower(program, partitioner=NativePartitioner(instruction_sets=SETS[:1]))
    (kernel,) = [
        op
        for op in apply.mock_calls[0].args[2].walk()
        if isinstance(op, KernelOp) and op.form.data not in ("transpose", "move")
    ]
    assert kernel.form.data == form


def test_steps_of_two_have_no_other_algorithm() -> None:
    check(nn.Conv2d(32, 32, 3, stride=2, padding=1), torch.randn(1, 32, 9, 9))


class TwoShapes(nn.Module):
    """Filters from 32 to 16 channels and from 16 to 32, whose panels have the same bytes."""

    def __init__(self) -> None:
        super().__init__()
        numbers = torch.randn(9 * 32 * 16) / 20
        narrow = numbers.view(3, 3, 32, 16).permute(3, 2, 0, 1)
        wide = numbers.view(2, 3, 3, 16, 16).permute(0, 4, 3, 1, 2).reshape(32, 16, 3, 3)
        self.narrow, self.wide = (nn.Parameter(one.contiguous()) for one in (narrow, wide))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.conv2d(nn.functional.conv2d(x, self.narrow, padding=1), self.wide, padding=1)


def test_filters_of_the_same_bytes() -> None:
    torch.manual_seed(0)
    check(
        TwoShapes().eval(),
        torch.randn(1, 32, 24, 24),
        algorithm="winograd_2",
        growth=WINOGRAD_GROWTH["winograd_2"],
    )
