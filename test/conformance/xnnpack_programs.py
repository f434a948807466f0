"""Small programs that XNNPACK is to take whole, by family: each as a function of tensors, with its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Inputs = Sequence[Tensor]


class Program(nn.Module):
    """A function of tensors, beside the modules whose weights it uses."""

    def __init__(self, run: Callable[..., Any], *parts: nn.Module) -> None:
        super().__init__()
        self.run = run
        self.parts = nn.ModuleList(parts)

    def forward(self, *inputs: Tensor) -> Any:
        return self.run(*self.parts, *inputs)


def _image(*shape: int) -> Tensor:
    return torch.randn(*(shape or (2, 6, 9, 11)))


def _positive(*shape: int) -> Tensor:
    return torch.rand(*shape) + 0.5


def _conv(*arguments: Any, **options: Any) -> Callable[[], tuple[Program, Inputs]]:
    def make() -> tuple[Program, Inputs]:
        layer = nn.Conv2d(*arguments, **options)
        return Program(lambda layer, x: layer(x), layer), (_image(2, arguments[0], 9, 11),)

    return make


def _of(run: Callable[..., Any], *inputs: Tensor) -> Callable[[], tuple[Program, Inputs]]:
    return lambda: (Program(run), inputs)


def _with(
    run: Callable[..., Any], parts: Callable[[], Sequence[nn.Module]], *inputs: Tensor
) -> Callable[[], tuple[Program, Inputs]]:
    return lambda: (Program(run, *parts()), inputs)


def _calibrated(layer: nn.BatchNorm2d) -> nn.BatchNorm2d:
    with torch.no_grad():
        layer.running_mean.normal_()  # pyright: ignore[reportOptionalMemberAccess]
        layer.running_var.uniform_(0.5, 2.0)  # pyright: ignore[reportOptionalMemberAccess]
        layer.weight.normal_()
        layer.bias.normal_()
    return layer


torch.manual_seed(7)

PROGRAMS: dict[str, Callable[[], tuple[Program, Inputs]]] = {
    # convolutions
    "conv": _conv(6, 8, 3, padding=1),
    "conv_without_bias": _conv(6, 8, 3, bias=False),
    "conv_stride_dilation": _conv(6, 8, 3, stride=(2, 1), padding=(2, 1), dilation=(1, 2)),
    "conv_groups": _conv(6, 4, 3, groups=2),
    "conv_depthwise": _conv(6, 6, 3, padding=1, groups=6),
    "conv_depthwise_multiplier": _conv(6, 12, 3, padding=1, groups=6),
    "conv_of_one_channel": _conv(1, 5, 3),
    "conv_relu": _with(lambda c, x: F.relu(c(x)), lambda: [nn.Conv2d(6, 4, 1)], _image()),
    "conv_relu6": _with(lambda c, x: F.relu6(c(x)), lambda: [nn.Conv2d(6, 4, 1)], _image()),
    "conv_clamp": _with(lambda c, x: c(x).clamp(-0.2, 0.3), lambda: [nn.Conv2d(6, 4, 1)], _image()),
    "conv_clamp_twice_used": _with(
        lambda c, x: (c(x).clamp(min=0.0), c(x)), lambda: [nn.Conv2d(6, 4, 1)], _image()
    ),
    "conv_batch_norm": _with(
        lambda c, n, x: F.relu(n(c(x))),
        lambda: [nn.Conv2d(6, 4, 3, bias=False), _calibrated(nn.BatchNorm2d(4))],
        _image(),
    ),
    "batch_norm": _with(lambda n, x: n(F.relu(x)), lambda: [_calibrated(nn.BatchNorm2d(6))], _image()),
    "conv_transpose": _with(
        lambda c, x: c(x),
        lambda: [nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1)],
        _image(),
    ),
    "conv_transpose_groups": _with(
        lambda c, x: c(x), lambda: [nn.ConvTranspose2d(6, 4, 3, groups=2)], _image()
    ),
    "conv1d": _with(
        lambda c, x: F.relu(c(x)), lambda: [nn.Conv1d(6, 4, 3, padding=1, stride=2)], _image(2, 6, 17)
    ),
    "conv_of_channels_last": _with(
        lambda c, x: c(x), lambda: [nn.Conv2d(6, 4, 3)], _image().to(memory_format=torch.channels_last)
    ),
    # products
    "linear": _with(lambda c, x: c(x), lambda: [nn.Linear(5, 7)], torch.randn(3, 5)),
    "linear_without_bias": _with(lambda c, x: c(x), lambda: [nn.Linear(5, 7, False)], torch.randn(3, 5)),
    "linear_of_rank_4": _with(lambda c, x: F.relu(c(x)), lambda: [nn.Linear(5, 7)], torch.randn(2, 3, 4, 5)),
    "linear_of_image": _with(
        lambda c, n, x: n(c(x).permute(0, 2, 3, 1)),
        lambda: [nn.Conv2d(6, 4, 3), nn.Linear(4, 3)],
        _image(),
    ),
    "mm": _of(lambda a, b: a @ b, torch.randn(3, 4), torch.randn(4, 5)),
    "mm_constant": _of(lambda a: a @ torch.arange(20.0).reshape(4, 5), torch.randn(3, 4)),
    "addmm_constant": _of(
        lambda a: torch.addmm(torch.arange(5.0), a, torch.arange(20.0).reshape(4, 5)), torch.randn(3, 4)
    ),
    "addmm": _of(
        lambda c, a, b: F.relu(torch.addmm(c, a, b)), torch.randn(5), torch.randn(3, 4), torch.randn(4, 5)
    ),
    "bmm": _of(lambda a, b: torch.bmm(a, b), torch.randn(2, 3, 4), torch.randn(2, 4, 5)),
    "bmm_transposed": _of(
        lambda a, b: torch.bmm(a, b.transpose(1, 2)), torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    ),
    "matmul_of_rank_4": _of(lambda a, b: a @ b, torch.randn(2, 3, 4, 5), torch.randn(2, 3, 5, 2)),
    "baddbmm": _of(
        lambda c, a, b: torch.baddbmm(c, a, b),
        torch.randn(2, 3, 5),
        torch.randn(2, 3, 4),
        torch.randn(2, 4, 5),
    ),
    "attention": _of(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        *(torch.randn(2, 3, 5, 8) for _ in range(3)),
    ),
    # pooling
    "max_pool": _of(lambda x: F.max_pool2d(x, 3, 2, 1), _image()),
    "max_pool_dilation": _of(lambda x: F.max_pool2d(x, 2, 1, dilation=2), _image()),
    "max_pool_ceil": _of(lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), _image(2, 6, 10, 12)),
    "avg_pool": _of(lambda x: F.avg_pool2d(x, 3, 2), _image()),
    "avg_pool_padded": _of(lambda x: F.avg_pool2d(x, 3, 2, 1), _image()),
    "avg_pool_padding_not_counted": _of(
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), _image()
    ),
    "adaptive_avg_pool_to_one": _of(lambda x: F.adaptive_avg_pool2d(x, 1), _image()),
    "adaptive_avg_pool_divides": _of(lambda x: F.adaptive_avg_pool2d(x, (3, 4)), _image(1, 6, 9, 8)),
    "mean_of_image": _of(lambda x: x.mean((2, 3)), _image()),
    "mean_of_image_kept": _of(lambda x: x.mean((-1, -2), keepdim=True), _image()),
    "mean_last": _of(lambda x: x.mean(-1, keepdim=True), torch.randn(2, 3, 40)),
    "mean_middle": _of(lambda x: x.mean(1), torch.randn(2, 30, 4)),
    "sum_last": _of(lambda x: x.sum(-1), torch.randn(2, 3, 40)),
    "upsample_bilinear": _of(
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False), _image()
    ),
    "upsample_aligned": _of(
        lambda x: F.interpolate(x, (13, 20), mode="bilinear", align_corners=True), _image()
    ),
    # shapes
    "view_of_conv": _with(lambda c, x: c(x).view(2, 4, -1), lambda: [nn.Conv2d(6, 4, 3)], _image()),
    "flatten_of_conv": _with(lambda c, x: c(x).flatten(1), lambda: [nn.Conv2d(6, 4, 3)], _image()),
    "permute": _of(lambda x: x.permute(2, 0, 3, 1) + 1, _image()),
    "permute_twice": _of(lambda x: x.permute(1, 2, 3, 0).permute(3, 2, 0, 1).neg(), _image()),
    "transpose": _of(lambda x: x.transpose(-1, 1).abs(), _image()),
    "squeeze": _of(lambda x: x.squeeze(1).neg(), torch.randn(2, 1, 4)),
    "unsqueeze": _of(lambda x: x.neg().unsqueeze(1), torch.randn(2, 4)),
    "cat": _of(lambda x, y: torch.cat([x, y], 1), torch.randn(2, 3, 4), torch.randn(2, 5, 4)),
    "cat_images": _with(
        lambda c, x: torch.cat([c(x), x, x.neg()], 1), lambda: [nn.Conv2d(6, 4, 1)], _image()
    ),
    "cat_of_nine": _of(lambda x: torch.cat([x + n for n in range(9)], -1), torch.randn(2, 3)),
    "cat_with_constant": _of(lambda x: torch.cat([x, torch.ones(2, 2)], 1), torch.randn(2, 3)),
    "slice": _of(lambda x: x[:, 1:-1, 2:].neg(), torch.randn(2, 5, 6)),
    "slice_of_conv": _with(lambda c, x: c(x)[:, 1:3], lambda: [nn.Conv2d(6, 4, 3)], _image()),
    "select": _of(lambda x: x[:, -2] + 1, torch.randn(2, 5, 6)),
    "split": _of(lambda x: [part.abs() for part in x.split([1, 4], 1)], torch.randn(2, 5, 6)),
    "chunk": _of(lambda x: [part.abs() for part in x.chunk(3, -1)], torch.randn(2, 5, 6)),
    "unbind": _of(lambda x: [part.abs() for part in x.unbind(1)], torch.randn(2, 3, 6)),
    "pad": _of(lambda x: F.pad(x, (1, 2, 0, 3), value=1.5), _image()),
    "pad_of_conv": _with(lambda c, x: F.pad(c(x), (1, 2)), lambda: [nn.Conv2d(6, 4, 3)], _image()),
    "expand": _of(lambda x: x.neg().expand(4, 3, 5), torch.randn(3, 1)),
    # element by element
    "abs": _of(torch.abs, _image()),
    "ceil": _of(torch.ceil, _image()),
    "cos": _of(torch.cos, _image()),
    "elu": _of(lambda x: F.elu(x, 0.7), _image()),
    "exp": _of(torch.exp, _image()),
    "floor": _of(torch.floor, _image()),
    "gelu": _of(F.gelu, _image()),
    "gelu_tanh": _of(lambda x: F.gelu(x, approximate="tanh"), _image()),
    "hardsigmoid": _of(F.hardsigmoid, _image() * 4),
    "hardswish": _of(F.hardswish, _image() * 4),
    "hardtanh": _of(F.hardtanh, _image() * 4),
    "leaky_relu": _of(F.leaky_relu, _image()),
    "log": _of(torch.log, _positive(2, 3)),
    "neg": _of(torch.neg, _image()),
    "reciprocal": _of(torch.reciprocal, _positive(2, 3)),
    "relu": _of(F.relu, _image()),
    "rsqrt": _of(torch.rsqrt, _positive(2, 3)),
    "sigmoid": _of(torch.sigmoid, _image()),
    "silu": _of(F.silu, _image()),
    "sin": _of(torch.sin, _image()),
    "sqrt": _of(torch.sqrt, _positive(2, 3)),
    "square": _of(torch.square, _image()),
    "cube": _of(lambda x: x**3, _image()),
    "tanh": _of(torch.tanh, _image()),
    "add": _of(lambda x, y: F.relu(x + y), _image(), _image()),
    "add_number": _of(lambda x: x + 1.5, _image()),
    "sub": _of(lambda x, y: x - y, _image(), _image(6, 1, 11)),
    "sub_from_number": _of(lambda x: 2.0 - x, _image()),
    "mul": _of(lambda x, y: x * y, torch.randn(4, 1, 3), torch.randn(5, 1)),
    "div": _of(lambda x, y: x / y, _image(), _positive(11)),
    "div_number": _of(lambda x: x / 3.0, _image()),
    "minimum": _of(torch.minimum, _image(), _image()),
    "maximum": _of(torch.maximum, _image(), _image(11)),
    "sub_clamp": _of(lambda x, y: (x - y).clamp(-0.1, 0.2), _image(), _image()),
    "mul_clamp": _of(lambda x, y: (x * y).clamp(-0.1, 0.2), _image(), _image()),
    "div_clamp": _of(lambda x, y: (x / y).clamp(-0.1, 0.2), _image(), _positive(11)),
    "mm_relu": _of(lambda a, b: F.relu(a @ b), torch.randn(3, 4), torch.randn(4, 5)),
    "mm_constant_relu": _of(lambda a: F.relu(a @ torch.arange(-9.0, 11.0).reshape(4, 5)), torch.randn(3, 4)),
    "bmm_relu": _of(lambda a, b: F.relu(torch.bmm(a, b)), torch.randn(2, 3, 4), torch.randn(2, 4, 5)),
    "silu_clamp": _of(lambda x: F.silu(x).clamp(-0.1, 0.2), _image()),
    "reciprocal_clamp": _of(lambda x: torch.reciprocal(x).clamp(0.9, 1.2), _positive(2, 3)),
    "sigmoid_clamp": _of(lambda x: torch.sigmoid(x).clamp(0.4, 0.6), _image()),
    "add_channels_to_conv": _with(
        lambda c, x, y: c(x) * y[:, :, None, None] + torch.arange(4.0)[:, None, None],
        lambda: [nn.Conv2d(6, 4, 3)],
        _image(),
        torch.randn(2, 4),
    ),
    "add_row_to_conv": _with(
        lambda c, x, y: c(x) + y, lambda: [nn.Conv2d(6, 4, 3, padding=1)], _image(), torch.randn(9, 11)
    ),
    "prelu": _with(lambda p, x: p(x) + 1, lambda: [nn.PReLU(6, 0.3)], _image()),
    "prelu_of_conv": _with(lambda c, p, x: p(c(x)), lambda: [nn.Conv2d(6, 4, 3), nn.PReLU(4)], _image()),
    "prelu_of_rows": _with(lambda p, x: p(x), lambda: [nn.PReLU()], torch.randn(3, 5)),
    "amax": _of(lambda x: x.amax(1), torch.randn(2, 5, 7)),
    "amax_of_image": _with(lambda c, x: c(x).amax(2, keepdim=True), lambda: [nn.Conv2d(6, 4, 3)], _image()),
    "max": _of(lambda x: x.max(-1), torch.randn(2, 3, 5, 7)),
    "max_kept": _of(lambda x: x.max(1, keepdim=True), torch.randn(2, 5, 7)),
    "max_of_two_equal": _of(lambda x: x.floor().max(1), torch.randn(4, 50)),
    "max_of_image": _with(
        lambda c, x: (c(x).max(1, keepdim=True), c(x).max(3)), lambda: [nn.Conv2d(6, 4, 3)], _image()
    ),
    "max_of_channels_last": _of(
        lambda x: x.max(1, keepdim=True), _image().to(memory_format=torch.channels_last)
    ),
    "max_values": _of(lambda x: x.max(-1).values, torch.randn(2, 3, 5, 7)),
    "softmax": _of(lambda x: torch.softmax(x, -1), torch.randn(2, 3, 7)),
    "softmax_of_channels": _with(lambda c, x: torch.softmax(c(x), 1), lambda: [nn.Conv2d(6, 4, 3)], _image()),
    "softmax_middle": _of(lambda x: torch.softmax(x, 1), torch.randn(2, 5, 7)),
    "layer_norm": _with(lambda n, x: n(x), lambda: [nn.LayerNorm(20)], torch.randn(2, 3, 20) * 3 + 1),
    "rms_norm": _with(lambda n, x: n(x), lambda: [nn.RMSNorm(20)], torch.randn(2, 3, 20) * 3),
    # what a graph gives back
    "output_twice": _of(lambda x: (x.neg(), x.neg()), _image()),
    "output_used_inside": _with(
        lambda c, x: (c(x), F.relu(c(x)) + 1), lambda: [nn.Conv2d(6, 4, 3)], _image()
    ),
    "output_of_moved_memory": _of(lambda x: (x.neg(), x.neg().permute(0, 2, 3, 1)), _image()),
    "rank_6": _of(lambda x: x.permute(5, 0, 1, 2, 3, 4) * 2, torch.randn(2, 1, 2, 3, 2, 2)),
}
