"""Networks as they are initialized, and parameters in several roles: constants of equal bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Case = Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]


class Uses(nn.Module):
    """A function of modules and tensors."""

    def __init__(self, run: Callable[..., Any], *parts: nn.Module) -> None:
        super().__init__()
        self.run = run
        self.parts = nn.ModuleList(parts)

    def forward(self, *inputs: Tensor) -> Any:
        return self.run(*self.parts, *inputs)


def _x(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def _zero_bias(layer: nn.Linear) -> nn.Linear:
    nn.init.zeros_(layer.bias)
    return layer


def _layer(build: Callable[[], nn.Module], *shape: int) -> Case:
    return lambda: (build(), (_x(*shape),))


def _uses(run: Callable[..., Any], build: Callable[[], list[nn.Module]], *shape: int) -> Case:
    return lambda: (Uses(run, *build()), (_x(*shape),))


def _tied(layer: nn.Module, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A filter that is packed and multiplied with, and a bias that is packed and added."""
    return layer(x) * layer.weight, layer(x) + layer.bias, layer(x + layer.bias)


def _tied_image(layer: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    return layer(x), x.reshape(-1, 4) * layer.bias


def _mixer(mix: nn.Linear, norm: nn.LayerNorm, x: Tensor) -> Tensor:
    return x + F.gelu(mix(norm(x).transpose(1, 2))).transpose(1, 2)


def _both_ways(layer: nn.Linear, x: Tensor) -> tuple[Tensor, ...]:
    """A square weight that is multiplied with transposed and as it is."""
    return layer(x) @ layer.weight, layer(x @ layer.weight)


def _equal_weights(first: nn.Linear, second: nn.Linear, third: nn.Conv2d, x: Tensor) -> tuple[Tensor, ...]:
    """Filters of equal bytes: of one shape, of another, and of a convolution."""
    return first(x), second(first(x)), third(x[:, :, None, None])


def _residual() -> nn.Module:
    block = nn.Sequential(
        nn.Conv2d(4, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Conv2d(4, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
    )
    return Uses(lambda block, x: F.relu(block(x) + x), block)


def _constant(layer: nn.Module, value: float) -> nn.Module:
    for parameter in layer.parameters():
        nn.init.constant_(parameter, value)
    return layer


def _norms(channels: int) -> list[nn.Module]:
    """Two batch norms that differ."""
    made = [nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)]
    for number, norm in enumerate(made, 1):
        with torch.no_grad():
            assert norm.running_mean is not None
            assert norm.running_var is not None
            norm.running_mean.normal_()
            norm.running_var.fill_(number)
            norm.weight.uniform_(0.5, 2.0)
    return list(made)


CASES: dict[str, Case] = {
    "layer_norm_and_linear": _layer(
        lambda: nn.Sequential(nn.LayerNorm(64), _zero_bias(nn.Linear(64, 64))), 2, 64
    ),
    "encoder_layer": _layer(lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 1, 5, 8),
    "encoder_layer_norm_first": _layer(
        lambda: nn.TransformerEncoderLayer(8, 2, 8, 0.0, batch_first=True, norm_first=True), 1, 5, 8
    ),
    "decoder_layer": lambda: (
        nn.TransformerDecoderLayer(8, 2, 8, 0.0, batch_first=True),
        (_x(1, 3, 8), _x(1, 5, 8)),
    ),
    "mixer": _uses(_mixer, lambda: [_zero_bias(nn.Linear(8, 8)), nn.LayerNorm(8)], 2, 8, 8),
    "residual_block": _layer(_residual, 1, 4, 6, 6),
    "tied_linear": _uses(_tied, lambda: [nn.Linear(8, 8)], 8, 8),
    "tied_linear_of_zeros": _uses(_tied, lambda: [_constant(nn.Linear(8, 8), 0.0)], 8, 8),
    "tied_conv": _uses(_tied_image, lambda: [nn.Conv2d(4, 4, 3)], 1, 4, 5, 5),
    "tied_depthwise": _uses(_tied_image, lambda: [nn.Conv2d(4, 4, 3, groups=4)], 1, 4, 5, 5),
    "tied_transposed": _uses(_tied_image, lambda: [nn.ConvTranspose2d(4, 4, 3)], 1, 4, 5, 5),
    "layer_twice": _uses(lambda f, x: f(F.relu(f(x))), lambda: [nn.Linear(8, 8)], 3, 8),
    "conv_twice": _uses(lambda f, x: f(F.relu(f(x))), lambda: [nn.Conv2d(4, 4, 3, padding=1)], 1, 4, 5, 5),
    "conv_twice_with_norms": _uses(
        lambda f, a, b, x: b(f(F.relu(a(f(x))))),
        lambda: [nn.Conv2d(4, 4, 3, padding=1), *_norms(4)],
        1,
        4,
        5,
        5,
    ),
    "shared_activation": _uses(
        lambda a, b, c, x: (a(x), b(x), c(x)),
        lambda: [nn.Conv2d(4, 6, 1), nn.Conv2d(4, 5, 3, padding=1), nn.Conv2d(4, 3, 1, stride=2)],
        1,
        4,
        6,
        6,
    ),
    "both_ways": _uses(_both_ways, lambda: [nn.Linear(8, 8, bias=False)], 2, 8),
    "equal_weights": _uses(
        _equal_weights,
        lambda: [
            _constant(nn.Linear(8, 4, bias=False), 0.5),
            _constant(nn.Linear(4, 8), 0.5),
            _constant(nn.Conv2d(8, 4, 1, bias=False), 0.5),
        ],
        3,
        8,
    ),
}
"""Programs with constants of equal bytes, which a file has once where that is right."""
