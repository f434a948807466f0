"""Small modules that the stock compiler leaves to XNNPACK, whole: every kind of node that it makes, by name."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

Program = tuple[nn.Module, tuple[torch.Tensor, ...]]


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


class Net(nn.Module):
    """Convolutions of most kinds, a residual, a pool and a classifier: something to quantize."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point = nn.Conv2d(8, 8, 1)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.stem(x)))
        x = x + F.hardtanh(self.point(self.depthwise(x)), 0, 6)
        x = torch.cat([self.pool(x), F.avg_pool2d(x, 2, 2, count_include_pad=False)], 1)[:, :8]
        return self.head(x.mean((2, 3), keepdim=True).flatten(1))


class Perceptron(nn.Module):
    def __init__(self, bias: bool = True) -> None:
        super().__init__()
        self.first = nn.Linear(64, 96, bias=bias)
        self.second = nn.Linear(96, 32, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(F.relu(self.first(x)))


class Attention(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def _image(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes)


def _call(function: Callable[..., Any], *inputs: torch.Tensor) -> Callable[[], Program]:
    return lambda: (Call(function), inputs)


def _layer(make: Callable[[], nn.Module], *sizes: int) -> Callable[[], Program]:
    return lambda: (make(), (torch.randn(*sizes),))


def _small() -> torch.Tensor:
    return torch.linspace(-4, 4, 48).reshape(2, 3, 8)


def _positive() -> torch.Tensor:
    return torch.linspace(0.1, 4, 48).reshape(2, 3, 8)


FUNCTIONS: dict[str, Callable[[], Program]] = {
    "abs": _call(torch.abs, _small()),
    "ceil": _call(torch.ceil, _small()),
    "clamp": _call(lambda x: torch.clamp(x, -1, 2), _small()),
    "clamp_min": _call(lambda x: torch.clamp(x, min=-1), _small()),
    "cos": _call(torch.cos, _small()),
    "elu": _call(lambda x: F.elu(x), _small()),
    "exp": _call(torch.exp, _small()),
    "floor": _call(torch.floor, _small()),
    "gelu": _call(F.gelu, _small()),
    "hardswish": _call(F.hardswish, _small()),
    "hardtanh": _call(F.hardtanh, _small()),
    "leaky_relu": _call(lambda x: F.leaky_relu(x, 0.2), _small()),
    "log": _call(torch.log, _positive()),
    "neg": _call(torch.neg, _small()),
    "pow": _call(lambda x: x**2, _small()),
    "relu": _call(F.relu, _small()),
    "rsqrt": _call(torch.rsqrt, _positive()),
    "sigmoid": _call(torch.sigmoid, _small()),
    "sin": _call(torch.sin, _small()),
    "softmax": _call(lambda x: torch.softmax(x, -1), _small()),
    "sqrt": _call(torch.sqrt, _positive()),
    "square": _call(torch.square, _small()),
    "tanh": _call(torch.tanh, _small()),
}

ARITHMETIC: dict[str, Callable[[], Program]] = {
    "add": _call(lambda x, y: x + y, _small(), _positive()),
    "add_broadcast": _call(lambda x, y: x + y, _small(), torch.randn(3, 1)),
    "add_relu": _call(lambda x, y: F.relu(x + y), _small(), _positive()),
    "add_twice": _call(lambda x: x + x, _small()),
    "sub": _call(lambda x, y: x - y, _small(), _positive()),
    "mul": _call(lambda x, y: x * y, _small(), _positive()),
    "div": _call(lambda x, y: x / y, _small(), _positive()),
    "minimum": _call(torch.minimum, _small(), _positive()),
    "maximum": _call(torch.maximum, _small(), _positive()),
    "prelu": _layer(lambda: nn.PReLU(5), 2, 5, 6, 7),
}

MATRICES: dict[str, Callable[[], Program]] = {
    "linear": _layer(lambda: nn.Linear(16, 9), 5, 16),
    "linear_3d": _layer(lambda: nn.Linear(16, 9, bias=False), 2, 5, 16),
    "linear_relu": _layer(lambda: nn.Sequential(nn.Linear(16, 9), nn.ReLU()), 5, 16),
    "addmm": _layer(lambda: nn.Linear(16, 9), 1, 16),
    "bmm": _call(torch.bmm, torch.randn(3, 4, 5), torch.randn(3, 5, 6)),
    "perceptron": lambda: (Perceptron(), (torch.randn(3, 64),)),
    "attention": lambda: (
        Attention(),
        (torch.randn(1, 2, 6, 8), torch.randn(1, 2, 6, 8), torch.randn(1, 2, 6, 8), torch.randn(6, 6)),
    ),
}

IMAGES: dict[str, Callable[[], Program]] = {
    "conv": _layer(lambda: nn.Conv2d(3, 8, 3, padding=1), 2, 3, 9, 11),
    "conv_stride": _layer(lambda: nn.Conv2d(3, 8, (3, 5), stride=(2, 3), padding=(1, 2)), 1, 3, 19, 21),
    "conv_dilated": _layer(lambda: nn.Conv2d(3, 8, 3, dilation=2), 1, 3, 12, 11),
    "conv_groups": _layer(lambda: nn.Conv2d(8, 12, 3, groups=4, bias=False), 2, 8, 9, 11),
    "conv_pointwise": _layer(lambda: nn.Sequential(nn.Conv2d(8, 12, 1), nn.ReLU6()), 2, 8, 9, 11),
    "conv_depthwise": _layer(
        lambda: nn.Sequential(nn.Conv2d(6, 6, 3, padding=1, groups=6), nn.ReLU()), 1, 6, 9, 11
    ),
    "conv_depthwise_many": _layer(lambda: nn.Conv2d(6, 12, 3, stride=2, groups=6), 1, 6, 9, 11),
    "conv_1d": _layer(lambda: nn.Conv1d(4, 6, 3, padding=1), 2, 4, 17),
    "conv_transposed": _layer(
        lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), 1, 4, 5, 7
    ),
    "conv_transposed_groups": _layer(lambda: nn.ConvTranspose2d(4, 6, 2, stride=2, groups=2), 2, 4, 5, 7),
    "max_pool": _layer(lambda: nn.MaxPool2d(3, 2, 1), 2, 4, 11, 12),
    "max_pool_dilated": _layer(lambda: nn.MaxPool2d((2, 3), 1, dilation=(1, 2)), 2, 4, 11, 12),
    "max_pool_ceil": _layer(lambda: nn.MaxPool2d(3, 2, ceil_mode=True), 2, 4, 12, 12),
    "avg_pool": _layer(lambda: nn.AvgPool2d(3, 2, count_include_pad=False), 2, 4, 11, 12),
    "avg_pool_padded": _layer(lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), 2, 4, 11, 12),
    "mean": _call(lambda x: x.mean((2, 3), keepdim=True), _image(2, 4, 6, 5)),
    "max_dim": _call(lambda x: tuple(torch.max(x, 2, keepdim=True)), _image(1, 3, 8, 5)),
    "resize": _call(
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False), _image(2, 3, 5, 6)
    ),
    "resize_corners": _call(
        lambda x: F.interpolate(x, size=(9, 13), mode="bilinear", align_corners=True), _image(2, 3, 5, 6)
    ),
    "channels_last": lambda: (
        nn.Conv2d(3, 8, 3),
        (torch.randn(2, 3, 9, 11).to(memory_format=torch.channels_last),),
    ),
    "net": lambda: (Net(), (torch.randn(2, 3, 16, 16),)),
}

MOVES: dict[str, Callable[[], Program]] = {
    "permute": _call(lambda x: torch.permute(x, (0, 2, 3, 1)) + 0, _image(2, 3, 4, 5)),
    "view": _call(lambda x: torch.abs(x.view(6, 20)), _image(2, 3, 4, 5)),
    "pad": _call(lambda x: F.pad(x, (1, 2, 0, 3), value=2.5), _image(2, 3, 4, 5)),
    "slice": _call(lambda x: torch.abs(x[:, 1:3, :, 2:4]), _image(2, 3, 4, 5)),
    "cat": _call(lambda *xs: torch.cat(xs, 1), *(_image(2, n, 4, 5) for n in (1, 2))),
    "cat_last": _call(lambda *xs: torch.cat(xs, -1), *(_image(2, 3, n) for n in (1, 2, 3))),
    "cat_many": _call(lambda *xs: torch.cat(xs, 0), *(_image(n, 3) for n in (1, 2, 3, 4, 5, 6))),
    "clone": _call(lambda x: torch.abs(x.clone()), _image(2, 3, 4, 5)),
    "squeeze": _call(lambda x: torch.abs(x.squeeze(1).unsqueeze(0)), _image(2, 1, 4, 5)),
}

SINGLES = {**FUNCTIONS, **ARITHMETIC, **MATRICES, **IMAGES, **MOVES}

STATIC: dict[str, Callable[[], Program]] = {
    name: SINGLES[name]
    for name in (
        "add", "add_relu", "mul", "conv", "conv_pointwise", "conv_depthwise", "conv_transposed", "linear",
        "linear_relu", "perceptron", "net", "cat", "permute",
    )
}  # fmt: skip
"""Programs quantized to integers of 8 bits by calibration."""

HALVES = ("abs", "add", "mul", "sigmoid", "softmax", "linear", "conv", "conv_depthwise", "max_pool", "avg_pool",
          "mean", "bmm", "cat", "net", "exp", "hardswish", "conv_transposed", "resize")  # fmt: skip


def lowered(module: nn.Module, inputs: tuple[torch.Tensor, ...], dynamic_shapes: Any = None) -> bytes:
    """The file that stock makes of a module, with all that it can leave to XNNPACK left to it."""
    return lowered_program(torch.export.export(module, inputs, dynamic_shapes=dynamic_shapes, strict=False))


def lowered_program(program: torch.export.ExportedProgram) -> bytes:
    """The same of an exported program."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    # Stock's passes change the program that they are given.
    edge = to_edge_transform_and_lower(copy.deepcopy(program), partitioner=[XnnpackPartitioner()])
    return edge.to_executorch().buffer


def calibrated(
    module: nn.Module,
    inputs: tuple[torch.Tensor, ...],
    *,
    per_channel: bool = True,
    dynamic: bool = False,
    weights: tuple[int, int] = (-127, 127),
) -> nn.Module:
    """The module quantized by stock's quantizer: statically, or the activations as they come. `weights` is the range
    of the weights' integers.
    """
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer()
    config = get_symmetric_quantization_config(
        is_per_channel=per_channel, is_dynamic=dynamic, weight_qmin=weights[0], weight_qmax=weights[1]
    )
    quantizer.set_global(config)
    prepared = prepare_pt2e(torch.export.export(module.eval(), inputs, strict=False).module(), quantizer)
    prepared(*inputs)
    random = torch.Generator().manual_seed(0)
    for _ in range(2):
        prepared(*(torch.randn(x.shape, dtype=x.dtype, generator=random) * x.std() for x in inputs))
    return convert_pt2e(prepared)


def in_blocks(module: nn.Module, group: int) -> nn.Module:
    """The linear layers with 4-bit weights, a scale for each `group` of inputs of a channel, and activations that are
    quantized as they come.
    """
    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.utils import unwrap_tensor_subclass

    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(group)
    )
    module = module.eval()
    quantize_(module, config)
    return unwrap_tensor_subclass(module)
