"""Reductions, softmax and norms of the native backend against torch, on every instruction set of this machine."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

import pytest
import torch
from native_modules import check
from torch import nn
from torch.nn import functional as F

_Function = Callable[..., torch.Tensor]

REDUCTIONS = [
    pytest.param(lambda x: x.sum(-1), (3, 5, 37), id="sum"),
    pytest.param(lambda x: x.sum(), (3, 5, 37), id="sum-of-all"),
    pytest.param(lambda x: x.sum((0, 2), keepdim=True), (3, 5, 37), id="sum-around"),
    pytest.param(lambda x: x.sum((1, 3)), (2, 3, 4, 70), id="sum-of-alternate"),
    pytest.param(lambda x: x.mean((2, 3)), (2, 6, 7, 7), id="pool"),
    pytest.param(lambda x: x.mean((2, 3), keepdim=True), (1, 3, 16, 20), id="pool-kept"),
    pytest.param(lambda x: x.mean(), (129,), id="mean-of-all"),
    pytest.param(lambda x: x.amax(-1, keepdim=True), (4, 1), id="one-element"),
    pytest.param(lambda x: x.amax(0), (5, 67), id="columns"),
    pytest.param(lambda x: x.amin((0, 1)), (3, 4, 3), id="narrow-columns"),
    pytest.param(lambda x: x.amin(-1), (2, 300), id="amin"),
    pytest.param(lambda x: x.prod(1), (3, 9, 5), id="product"),
    pytest.param(lambda x: x.var(-1), (3, 70), id="variance"),
    pytest.param(lambda x: x.var(1, keepdim=True, correction=0), (3, 9, 5), id="variance-of-columns"),
    pytest.param(lambda x: x.std((0, 2)), (3, 9, 5), id="deviation"),
]


@pytest.mark.parametrize(("function", "shape"), REDUCTIONS)
def test_reduction(function: _Function, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    check(function, torch.randn(shape))


NORMALIZATIONS = [
    pytest.param(lambda x: F.softmax(x, -1), (3, 5, 37), id="softmax"),
    pytest.param(lambda x: F.softmax(x, -1), (2, 1), id="softmax-of-one"),
    pytest.param(lambda x: F.softmax(x, -1), (2, 64), id="softmax-of-whole-vectors"),
    pytest.param(lambda x: F.softmax(x, -1), (3, 1000), id="softmax-of-long-rows"),
    pytest.param(lambda x: F.softmax(x, 1), (3, 5, 37), id="softmax-of-columns"),
    pytest.param(lambda x: F.softmax(x, 0), (7, 130), id="softmax-of-first"),
    pytest.param(lambda x: F.log_softmax(x, -1), (3, 101), id="log-softmax"),
    pytest.param(lambda x: F.log_softmax(x, 1), (2, 9, 3), id="log-softmax-of-columns"),
    pytest.param(nn.LayerNorm(37), (3, 5, 37), id="layer-norm"),
    pytest.param(nn.LayerNorm((5, 37)), (3, 5, 37), id="layer-norm-of-two"),
    pytest.param(nn.LayerNorm(768), (2, 768), id="layer-norm-of-long-rows"),
    pytest.param(nn.LayerNorm(9, bias=False), (3, 9), id="layer-norm-without-bias"),
    pytest.param(nn.LayerNorm(9, elementwise_affine=False), (3, 9), id="layer-norm-alone"),
    pytest.param(nn.RMSNorm(80), (3, 80), id="rms-norm"),
    pytest.param(nn.GroupNorm(2, 6), (2, 6, 5, 9), id="group-norm"),
    pytest.param(nn.GroupNorm(3, 3), (1, 3, 70), id="instance-norm"),
    pytest.param(nn.GroupNorm(1, 4, affine=False), (2, 4), id="group-norm-of-rows"),
]


@pytest.mark.parametrize(("function", "shape"), NORMALIZATIONS)
def test_normalization(function: _Function, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    if isinstance(function, nn.Module):
        for one in function.parameters():
            nn.init.normal_(one)
    check(function, torch.randn(shape) * 3)


FUSED = [
    pytest.param(
        lambda x, y: F.softmax(x * 0.25 + y, -1), (2, 3, 4, 37), (4, 37), id="mask-before-a-softmax"
    ),
    pytest.param(
        lambda x, y: F.softmax(x + y, -1) * x, (2, 3, 4, 70), (2, 1, 1, 70), id="input-again-after-it"
    ),
    pytest.param(lambda x, y: F.layer_norm(x + y, (37,)) + x, (5, 37), (5, 37), id="residual"),
    pytest.param(lambda x, y: torch.relu(x * y).mean((0, 2)).sqrt() + 1, (2, 6, 9), (6, 1), id="both-sides"),
    pytest.param(lambda x, y: (x * y).sum(1) * y, (6, 6), (6,), id="one-operand-of-two-shapes"),
    pytest.param(lambda x, y: torch.where(x > y, x, -inf).softmax(-1), (5, 37), (37,), id="masked-softmax"),
    pytest.param(lambda x, y: (x + y).logsumexp(-1), (5, 37), (37,), id="logsumexp"),
    pytest.param(lambda x, y: F.group_norm(x, 2) * y + x, (2, 4, 3, 3), (2, 4, 3, 3), id="group-norm"),
    pytest.param(lambda x, y: F.group_norm(x + y, 2), (1, 4, 2), (1, 4, 1), id="group-norm-of-channels"),
    pytest.param(lambda x, y: F.group_norm(x + y, 2), (2, 4, 3, 5), (4, 1, 5), id="group-norm-of-lines"),
    pytest.param(lambda x, y: F.instance_norm(x * y), (2, 4, 8), (2, 4, 1), id="instance-norm-of-a-gate"),
    pytest.param(
        lambda x, y: F.instance_norm(x) * y + y[:1], (2, 4, 8), (2, 4, 1), id="instance-norm-adapted"
    ),
    pytest.param(
        lambda x, y: F.group_norm(x * y, 2, y, y) - y, (2, 4, 4), (4,), id="group-norm-with-its-weight"
    ),
    pytest.param(
        lambda x, y: (x.permute(0, 3, 1, 2) + y).sum(1),
        (2, 5, 1, 3),
        (1, 1, 1, 7),
        id="operands-without-any-of-rows",
    ),
]


@pytest.mark.parametrize(("function", "shape", "other"), FUSED)
def test_fused(function: _Function, shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    check(function, torch.randn(shape), torch.randn(other))


@pytest.mark.parametrize(
    "reduce",
    [
        lambda x: x.mean((2, 3)),
        lambda x: x.mean((2, 3), keepdim=True),
        lambda x: x.sum(1),
        lambda x: x.amax(0) + 1,
        lambda x: x.amin((1, 3), keepdim=True),
        lambda x: F.softmax(x, 1),
        lambda x: (x * x.mean((2, 3), keepdim=True)).sum(),
    ],
    ids=["pool", "pool-kept", "channels", "batch", "columns", "softmax", "all"],
)
def test_rows_of_an_image(reduce: _Function) -> None:
    """Of memory with channels innermost, as a convolution leaves it."""
    torch.manual_seed(0)
    layer = nn.Conv2d(3, 19, 3)

    class Reduced(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return reduce(self.layer(x))

    check(Reduced().eval(), torch.randn(2, 3, 7, 6))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.amax(-1),
        lambda x: x.amin(-1),
        lambda x: x.t().contiguous().amax(0),
        lambda x: x.sum(-1),
        lambda x: x.mean(-1),
        lambda x: x.var(-1),
        lambda x: F.softmax(x, -1),
        lambda x: F.log_softmax(x, -1),
        lambda x: F.softmax(x.t(), 0),
        lambda x: F.layer_norm(x, (67,)),
    ],
    ids=["amax", "amin", "columns", "sum", "mean", "var", "softmax", "log-softmax", "softmax-0", "norm"],
)
def test_nan_and_infinities(function: _Function) -> None:
    torch.manual_seed(0)
    x = torch.randn(8, 67)
    x[0, 66] = nan
    x[1, 0] = nan
    x[2, 65] = inf
    x[3, 5] = -inf
    x[4] = -inf
    x[5, 1], x[5, 64] = inf, -inf
    x[6] = nan
    check(function, x)


def test_a_long_sum_is_accurate() -> None:
    torch.manual_seed(0)
    check(lambda x: x.mean(), torch.rand(1_000_003), terms=1000)


def _rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


SPREAD = [
    pytest.param(_rms_norm, (3, 5, 37), (37,), id="rms-norm"),
    pytest.param(_rms_norm, (2, 300), (300,), id="rms-norm-of-long-rows"),
    pytest.param(_rms_norm, (2, 3, 4, 64), (64,), id="rms-norm-of-heads"),
    pytest.param(lambda x, y: (x - x.mean(0, keepdim=True)) * y, (7, 21), (7, 1), id="columns"),
    pytest.param(lambda x, y: x / (x.norm(dim=-1, keepdim=True) + y), (7, 130), (7, 1), id="length"),
    pytest.param(
        lambda x, y: torch.relu(x * 2).amax(1, keepdim=True) - y, (3, 7, 5), (3, 7, 5), id="of-another"
    ),
    pytest.param(lambda x, y: y * x.sum((1, 2), keepdim=True) + x, (3, 7, 5), (5,), id="two-dimensions"),
    pytest.param(lambda x, y: x - x.mean((2, 3), keepdim=True) * y, (1, 3, 6, 7), (3, 1, 1), id="image"),
    pytest.param(lambda x, y: x * x.sum(-1, keepdim=True) + y, (5, 1), (5, 1), id="rows-of-one"),
]


@pytest.mark.parametrize(("function", "rows", "other"), SPREAD)
def test_rows_scaled_by_a_reduction(
    function: _Function, rows: tuple[int, ...], other: tuple[int, ...]
) -> None:
    torch.manual_seed(0)
    check(function, torch.randn(rows), torch.randn(other))


@pytest.mark.parametrize("function", [lambda x: torch.softmax(x, -1), lambda x: torch.softmax(x, 0)])
def test_softmax_far_below_the_largest(function: _Function) -> None:
    """Exponentials of differences are right up to where they vanish."""
    x = torch.linspace(-130, 0, 700).reshape(2, 350)
    check(function, x)
    check(lambda x: torch.log(function(x)[0, :70] + 1e-37), x)


def _randomized(norm: nn.Module) -> nn.Module:
    torch.manual_seed(1)
    for one in (*norm.parameters(), *norm.buffers()):
        if one.is_floating_point():
            one.data = torch.rand(one.shape) + 0.5
    return norm.eval()


BATCH_NORMS = [
    pytest.param(lambda: nn.BatchNorm2d(6), (2, 6, 5, 7), id="image"),
    pytest.param(lambda: nn.BatchNorm2d(6, affine=False), (2, 6, 5, 7), id="without-weight"),
    pytest.param(lambda: nn.BatchNorm1d(6), (3, 6), id="rows"),
    pytest.param(lambda: nn.BatchNorm1d(6), (3, 6, 5), id="signal"),
    pytest.param(
        lambda: nn.Sequential(nn.ReLU(), nn.BatchNorm2d(6), nn.Conv2d(6, 4, 3)), (1, 6, 9, 9), id="before"
    ),
]


@pytest.mark.parametrize(("make", "shape"), BATCH_NORMS)
def test_batch_norm(make: Callable[[], nn.Module], shape: tuple[int, ...]) -> None:
    norm = _randomized(make())
    torch.manual_seed(0)
    check(norm, torch.randn(shape))


def _layer_norm(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.native_layer_norm(x, [5, 9], None, None, 1e-5)


def _group_norm(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.native_group_norm(x, None, None, 2, 6, 45, 3, 1e-5)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: _layer_norm(x)[1], id="mean"),
        pytest.param(lambda x: _layer_norm(x)[2], id="deviation"),
        pytest.param(lambda x: _layer_norm(x)[0] * _layer_norm(x)[2], id="with-the-norm"),
        pytest.param(lambda x: _group_norm(x)[1] + _group_norm(x)[2], id="of-groups"),
    ],
)
def test_statistics_of_norms(function: _Function) -> None:
    torch.manual_seed(0)
    check(function, torch.randn(2, 6, 5, 9))
