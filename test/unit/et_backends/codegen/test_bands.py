"""Band kernels of the native backend: convolutions fused by rows of the image."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from native_modules import SETS, check, compiled, run
from torch import nn
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp

from et_backends.codegen.pipeline import observed


class Block(nn.Module):
    """An inverted residual: 1x1 convolution, depthwise one, 1x1 convolution, each of which may be missing."""

    def __init__(
        self,
        channels: int,
        inner: int,
        outer: int,
        *,
        size: int = 3,
        stride: int = 1,
        dilation: int = 1,
        expand: bool = True,
        project: bool = True,
        residual: bool = False,
    ):
        super().__init__()
        inner = inner if expand else channels
        self.residual = residual
        padding = (size - 1) // 2 * dilation
        depthwise = nn.Conv2d(inner, inner, size, stride, padding, dilation, groups=inner, bias=False)
        layers: list[nn.Module] = [nn.Conv2d(channels, inner, 1), nn.ReLU6()] if expand else []
        layers += [depthwise, nn.BatchNorm2d(inner), nn.Hardswish()]
        if project:
            layers += [nn.Conv2d(inner, outer, 1)]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layers(x)
        return y + x if self.residual else y


def kernels(module: nn.Module, x: torch.Tensor, **options: int | None) -> list[str]:
    """The names of the kernels that a partition calls, without numbers."""
    found: list[str] = []

    def listen(level: str, _: object, loops: ModuleOp) -> None:
        if level == "loops":
            calls = [op for op in loops.walk() if isinstance(op, CallOp)]
            found.extend(op.callee.string_value().rpartition("_")[0] for op in calls)

    with observed(listen):
        compiled(module, (x,), SETS[0], **options)
    return found


BLOCKS = [
    pytest.param(Block(8, 24, 8, residual=True), (1, 8, 9, 7), id="residual"),
    pytest.param(Block(16, 48, 24, residual=False), (2, 16, 14, 14), id="batch"),
    pytest.param(Block(3, 33, 17, stride=2), (2, 3, 11, 13), id="strided"),
    pytest.param(Block(20, 40, 20, size=5, residual=True), (2, 20, 12, 6), id="large-filters"),
    pytest.param(Block(4, 18, 5, size=5, stride=2), (1, 4, 17, 60), id="one-row-bands"),
    pytest.param(Block(8, 16, 9, dilation=3), (1, 8, 10, 53), id="dilated"),
    pytest.param(Block(8, 16, 9, stride=3, size=1), (1, 8, 10, 10), id="skipped-rows"),
    pytest.param(Block(6, 20, 0, project=False), (2, 6, 7, 50), id="expand"),
    pytest.param(Block(21, 0, 10, expand=False, stride=2), (2, 21, 9, 31), id="project"),
    pytest.param(Block(8, 16, 4), (3, 8, 1, 1), id="one-pixel"),
    pytest.param(Block(8, 16, 4, size=7), (1, 8, 2, 3), id="filters-larger-than-images"),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("block", "shape"), BLOCKS)
def test_block(block: Block, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    block = block.eval()
    assert "bands" in kernels(block, x, bands=0)
    assert "depthwise" not in kernels(block, x, bands=0)
    check(block, x, bands=0)


@pytest.mark.parametrize("threads", [2, 3, 9])
def test_bits_do_not_depend_on_threads(threads: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 8, 7, 50)
    file = compiled(Block(8, 24, 8, residual=True).eval(), (x,), SETS[0], bands=0)
    np.testing.assert_array_equal(run(file, (x,), threads), run(file, (x,)))


def test_small_images_are_not_fused() -> None:
    block, x = Block(8, 24, 8).eval(), torch.randn(1, 8, 20, 20)
    assert "bands" not in kernels(block, x)
    assert "bands" not in kernels(block, torch.randn(1, 8, 100, 100), bands=None)
    assert "bands" in kernels(block, torch.randn(1, 8, 100, 100))


class Gated(nn.Module):
    """A depthwise convolution whose result is read twice, and one that is multiplied by an image."""

    def __init__(self) -> None:
        super().__init__()
        self.expand, self.other = nn.Conv2d(8, 16, 1), nn.Conv2d(8, 16, 1)
        self.first = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.second = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.project = nn.Conv2d(16, 8, 1)
        self.field = nn.Parameter(torch.randn(16, 9, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(self.expand(x))
        gate = torch.sigmoid(nn.functional.adaptive_avg_pool2d(y, 1))
        return self.project(self.second(self.other(x) * self.field) * self.field + y * gate)


def test_only_what_is_computed_by_rows_is_fused() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 8, 9, 10)
    assert kernels(Gated(), x, bands=0).count("bands") == 1
    check(Gated().eval(), x, bands=0)
