"""Small programs for TOSA: one for each family of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from support.programs import Calls
from torch import Tensor, nn
from torch.nn import functional

Case = Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]


def _x(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def pointwise(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return x + 2 * y, x - y, x * y, x / (y.abs() + 1), -x, x**2, torch.maximum(x, y), 3 - x


def functions(x: Tensor) -> tuple[Tensor, ...]:
    y = x.abs() + 0.1
    return x.exp(), y.log(), x.sin(), x.cos(), y.sqrt(), x.erf(), x.floor(), x.ceil(), y.rsqrt(), y.log2()


def comparisons(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    chosen = torch.where(x <= y, x, y)
    return x > y, x >= 0.5, x == y, x != y, x < y, chosen, (x > 0) & (y > 0), (x > y).float()


def activations(x: Tensor) -> tuple[Tensor, ...]:
    return (
        torch.relu(x),
        functional.gelu(x),
        functional.gelu(x, approximate="tanh"),
        functional.silu(x),
        functional.hardswish(x),
        functional.hardsigmoid(x),
        functional.elu(x),
        functional.leaky_relu(x),
        torch.sigmoid(x),
        torch.tanh(x),
        x.clamp(-0.5, 0.5),
    )


def formulas(x: Tensor) -> tuple[Tensor, ...]:
    y = x.abs()
    return (
        *(x.sinh(), x.cosh(), x.tan(), x.asinh(), (y + 1).acosh(), (x * 0.25).atanh()),
        *(x.expm1(), y.log1p(), y.log10(), torch.logit(y * 0.25), x.exp2(), x**5, x.pow(-1)),
        *(x.sign(), x.trunc(), x.isinf(), x.isnan(), x.clamp(x - 1, x * 0.5), 2 / x),
        *(functional.selu(x), functional.celu(x, 0.5), functional.softplus(x), functional.mish(x)),
        functional.threshold(x, 0.5, -7.0),
    )


def reductions(x: Tensor) -> tuple[Tensor, ...]:
    return x.sum(1), x.mean((0, 2)), x.amax(-1), x.amin(0, keepdim=True), x.var(1), x.prod(2), x.mean()[None]


def softmaxes(x: Tensor) -> tuple[Tensor, ...]:
    return x.softmax(-1), x.log_softmax(1)


def shapes(x: Tensor) -> tuple[Tensor, ...]:
    return (
        x.reshape(4, 6) + 1,
        x.permute(2, 0, 1) + 1,
        x[:, 1:3] + 1,
        x[:, ::2] + 1,
        x[1] + 1,
        torch.cat([x, x * 2], 1),
        x.expand(3, 2, 3, 4) + 1,
        torch.flip(x, (1,)),
        x.repeat(1, 2, 1) + 1,
        torch.stack([x, x + 1], 2),
        functional.pad(x, (1, 2, 0, 1), value=3.0),
        *(part + 1 for part in x.split(2, 1)),
    )


def products(x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
    return x @ y, torch.bmm(z, z.transpose(1, 2)), torch.addmm(y[0], x, y)


def _function(function: Callable[..., Any], *inputs: Tensor) -> Case:
    return lambda: (Calls(function), inputs)


def _layer(build: Callable[[], nn.Module], *shape: int, channels_last: bool = False) -> Case:
    def case() -> tuple[nn.Module, tuple[Tensor, ...]]:
        torch.manual_seed(0)
        x = _x(*shape)
        return build().eval(), (x.to(memory_format=torch.channels_last) if channels_last else x,)

    return case


CASES: dict[str, Case] = {
    "pointwise": _function(pointwise, _x(2, 3, 4), _x(3, 1)),
    "functions": _function(functions, _x(3, 5)),
    "comparisons": _function(comparisons, _x(3, 5), _x(3, 5)),
    "activations": _function(activations, _x(4, 7) * 3),
    "formulas": _function(formulas, _x(4, 7)),
    "reductions": _function(reductions, _x(2, 3, 4)),
    "softmax": _function(softmaxes, _x(2, 3, 4)),
    "shapes": _function(shapes, _x(2, 3, 4)),
    "products": _function(products, _x(3, 4), _x(4, 5), _x(2, 3, 4)),
    "linear": _layer(lambda: nn.Linear(6, 5), 2, 3, 6),
    "conv": _layer(lambda: nn.Conv2d(3, 8, 3, stride=2, padding=1), 2, 3, 9, 10),
    "conv_uneven": _layer(lambda: nn.Conv2d(3, 4, 1, stride=2), 1, 3, 8, 8),
    "conv_dilated": _layer(lambda: nn.Conv2d(3, 4, 3, dilation=2, bias=False), 1, 3, 9, 9),
    "conv_grouped": _layer(lambda: nn.Conv2d(4, 6, 3, groups=2), 1, 4, 7, 7),
    "conv_depthwise": _layer(lambda: nn.Conv2d(4, 8, 3, groups=4, padding=1), 1, 4, 7, 7),
    "conv_transposed": _layer(
        lambda: nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), 1, 3, 5, 6
    ),
    "conv_1d": _layer(lambda: nn.Conv1d(3, 5, 3, padding=1), 2, 3, 11),
    "channels_last": _layer(lambda: nn.Conv2d(3, 4, 3), 1, 3, 6, 6, channels_last=True),
    "max_pool": _layer(lambda: nn.MaxPool2d(3, 2, 1), 1, 3, 8, 8),
    "avg_pool": _layer(lambda: nn.AvgPool2d(3, 2, 1), 1, 3, 8, 8),
    "avg_pool_inside": _layer(lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), 1, 3, 9, 9),
    "layer_norm": _layer(lambda: nn.LayerNorm(6), 2, 3, 6),
    "group_norm": _layer(lambda: nn.GroupNorm(2, 4), 2, 4, 5, 5),
    "batch_norm": _layer(lambda: nn.BatchNorm2d(4), 2, 4, 5, 5),
    "nearest": _layer(lambda: nn.Upsample(scale_factor=2.0), 1, 2, 5, 6),
    "nearest_down": _layer(lambda: nn.Upsample(size=(4, 3)), 1, 2, 6, 7),
    "bilinear": _layer(lambda: nn.Upsample(scale_factor=2.0, mode="bilinear"), 1, 2, 5, 6),
    "bilinear_corners": _layer(
        lambda: nn.Upsample(size=(9, 7), mode="bilinear", align_corners=True), 1, 2, 5, 4
    ),
    "pixel_shuffle": _layer(lambda: nn.Sequential(nn.PixelShuffle(2), nn.ReLU()), 1, 8, 3, 4),
}
"""By name: what makes a module and its inputs."""
