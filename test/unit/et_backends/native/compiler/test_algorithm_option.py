"""Algorithms that are asked for: their error, bits on any number of threads, and what is not finite."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.native_modules import SETS, compiled, run, sets
from torch import nn

from et_backends.native.compiler import NativePartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.analysis.choices import ExplainingContext, explained

BOUND = 1e-4
"""The largest error, in standard deviations of the result."""


def _compiled(module: nn.Module, x: torch.Tensor, name: str, algorithm: str | None) -> bytes:
    program = torch.export.export(module.eval(), (x,))
    partitioner = NativePartitioner(instruction_sets=[name], algorithm=algorithm)
    edge = to_edge_transform_and_lower(program, partitioner=partitioner)
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


def _check(module: nn.Module, x: torch.Tensor, algorithm: str) -> None:
    with torch.no_grad():
        expected = module.double()(x.double()).numpy()
    module.float()
    for name in sets():
        file = _compiled(module, x, name, algorithm)
        found = run(file, (x,))
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() <= BOUND * max(float(expected.std()), 1e-3)
        # The number of threads changes no bits.
        np.testing.assert_array_equal(run(file, (x,), 2), found)


@pytest.mark.sweep
@pytest.mark.parametrize("algorithm", ["winograd_2", "winograd_4"])
@pytest.mark.parametrize(
    ("batch", "channels", "columns", "height", "width", "padding"),
    [
        (1, 1, 1, 1, 1, 1),
        (1, 3, 17, 2, 9, 1),
        (2, 16, 16, 5, 4, 1),
        (1, 17, 33, 3, 3, 0),
        (3, 5, 70, 7, 6, 0),
        (1, 70, 5, 1, 8, (2, 2)),
        (2, 33, 48, 9, 7, (0, 2)),
        (1, 64, 32, 29, 30, 1),
    ],
)
def test_sizes(
    algorithm: str,
    batch: int,
    channels: int,
    columns: int,
    height: int,
    width: int,
    padding: int | tuple[int, int],
) -> None:
    torch.manual_seed(batch * channels + columns)
    module = nn.Conv2d(channels, columns, 3, padding=padding)
    _check(module, torch.randn(batch, channels, height, width), algorithm)


class _Residual(nn.Module):
    """What follows a convolution in its kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(20, 20, 3, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(x) + x) * 0.5


@pytest.mark.parametrize("algorithm", ["winograd_2", "winograd_4"])
def test_epilogue(algorithm: str) -> None:
    torch.manual_seed(0)
    _check(_Residual(), torch.randn(2, 20, 6, 11), algorithm)


@pytest.mark.parametrize(
    "module",
    [
        nn.Conv2d(32, 32, 3, stride=2, padding=1),
        nn.Conv2d(32, 32, 3, dilation=2, padding=2),
        nn.Conv2d(32, 32, 5, padding=2),
        nn.Conv2d(32, 32, 1),
    ],
    ids=["strided", "dilated", "large", "points"],
)
def test_others_are_computed_directly(module: nn.Module) -> None:
    x = torch.randn(1, 32, 12, 12)
    direct, forced = (_compiled(module, x, SETS[0], name) for name in ("direct", "winograd_4"))
    np.testing.assert_array_equal(run(forced, (x,)), run(direct, (x,)))


@pytest.mark.parametrize(("place", "value"), [((0, 0, 5, 5), np.inf), ((0, 3, 11, 0), np.nan)])
def test_what_is_not_finite_stays_in_its_tiles(place: tuple[int, ...], value: float) -> None:
    torch.manual_seed(0)
    module = nn.Conv2d(16, 16, 3, padding=1)
    x = torch.randn(1, 16, 12, 12)
    for name in sets():
        file = _compiled(module, x, name, "winograd_4")
        finite = run(file, (x,))
        changed = x.clone()
        changed[place] = value
        found = run(file, (changed,))
        # The pixels that eager has no number for are none here either, nor are others of the same tiles.
        with torch.no_grad():
            assert not np.isfinite(found[~np.isfinite(module(changed).numpy())]).any()
        tiles = (np.abs(np.arange(12) // 4 * 4 + 1.5 - one) <= 2.5 for one in place[2:])
        reached = np.logical_and.outer(*tiles)
        np.testing.assert_array_equal(found[:, :, ~reached], finite[:, :, ~reached])


def test_choice() -> None:
    """The cost model: many channels of many pixels are worth transforms, few are not."""
    torch.manual_seed(0)
    for channels, size, transformed in ((64, 56, True), (8, 56, False), (64, 1, False)):
        module, x = nn.Conv2d(channels, channels, 3, padding=1), torch.randn(1, channels, size, size)
        direct = run(_compiled(module, x, SETS[0], "direct"), (x,))
        assert np.array_equal(run(compiled(module.eval(), (x,), SETS[0]), (x,)), direct) is not transformed


def test_unknown_algorithm() -> None:
    with pytest.raises(
        ValueError, match="unknown algorithm 'fft'; there are: direct, winograd_2, winograd_4"
    ):
        NativePartitioner(algorithm="fft")


def test_explanation() -> None:
    """The candidates of a convolution with their estimated times; others have no choice."""
    context = ExplainingContext()
    module = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.Conv2d(64, 64, 3, stride=2))
    with explained(context):
        _compiled(module, torch.randn(1, 64, 56, 56), SETS[0], None)
    (choice,) = context.choices
    assert choice.chosen == "winograd_4"
    seconds = {one.name: one.seconds or 0.0 for one in choice.candidates}
    assert list(seconds) == ["direct", "winograd_2", "winograd_4"]
    assert min(seconds, key=lambda name: seconds[name]) == choice.chosen
    assert choice.shapes.startswith("1x64x56x56, 64x64x3x3")
