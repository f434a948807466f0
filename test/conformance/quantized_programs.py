"""Programs with the operators of `quantized_decomposed`, as PT2E quantisation leaves them: written by hand, with
weights that are integers and numbers that are restored where they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # defines the operators
from torch import nn
from torch.nn import functional

Q = torch.ops.quantized_decomposed
I8 = (-128, 127, torch.int8)
U8 = (0, 255, torch.uint8)
I4 = (-8, 7, torch.int8)

Program = tuple[nn.Module, tuple[torch.Tensor, ...]]


def there_and_back(x: torch.Tensor, scale: float, zero: int, kind: tuple[Any, ...] = I8) -> torch.Tensor:
    """`x` as far as integers hold it."""
    quantised = Q.quantize_per_tensor(x, scale, zero, *kind)
    return Q.dequantize_per_tensor(quantised, scale, zero, *kind)


class PerTensor(nn.Module):
    """Element types of every width; the integers are results, too."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found: list[torch.Tensor] = []
        for low, high, kind in (I8, U8, (-32768, 32767, torch.int16), (-(2**20), 2**20, torch.int32)):
            q = Q.quantize_per_tensor(x, 0.02, 3, low, high, kind)
            found += [q, Q.dequantize_per_tensor(q, 0.02, 3, low, high, kind)]
        half = Q.dequantize_per_tensor(found[0], 0.02, 3, *I8, out_dtype=torch.float16)
        return *found, half, Q.quantize_per_tensor(half, 0.05, 0, *I8)


class PerChannel(nn.Module):
    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis
        self.register_buffer("scales", torch.rand(6) * 0.05 + 0.01)
        self.register_buffer("zeros", torch.arange(6) - 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        q = Q.quantize_per_channel(x, self.scales, self.zeros, self.axis, *I8)
        fake = Q.fake_quant_per_channel(x, self.scales, self.zeros, self.axis, -8, 7)
        return q, Q.dequantize_per_channel(q, self.scales, self.zeros, self.axis, *I8), fake


class PerToken(nn.Module):
    """Activations quantised row by row as they come, and a linear layer on a weight quantised by groups: 8da4w."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-8, 8, (24, 64), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(24, 2) * 0.1 + 0.01)
        self.register_buffer("zeros", torch.zeros(24, 2, dtype=torch.int32))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        scales, zeros = Q.choose_qparams_per_token_asymmetric(x, torch.int8)
        q = Q.quantize_per_token(x, scales, zeros, *I8)
        rows = Q.dequantize_per_token(q, scales, zeros, *I8, torch.float32)
        weight = Q.dequantize_per_channel_group(self.weight, self.scales, self.zeros, *I4, 32, torch.float32)
        return q, rows, functional.linear(rows, weight)


class SymmetricRows(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        scales, zeros = Q.choose_qparams_per_token(x, torch.int8)
        q = Q.quantize_per_token(x, scales, zeros, *I8)
        return q, Q.dequantize_per_token(q, scales, zeros, *I8, torch.float32), scales


class Groups(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scales", torch.rand(4, 3) + 0.1)
        self.register_buffer("zeros", torch.zeros(4, 3, dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        q = Q.quantize_per_channel_group(x, self.scales, self.zeros, *I4, 8)
        back = Q.dequantize_per_channel_group(q, self.scales, self.zeros, *I4, 8, torch.float32)
        return q, back, Q.dequantize_per_channel_group(q, self.scales, None, *I4, 8, torch.float16)


class Dynamic(nn.Module):
    """Scales of whole tensors, chosen from what comes in."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found: list[torch.Tensor] = []
        for choose, kind in (
            (Q.choose_qparams, I8),
            (Q.choose_qparams, U8),
            (Q.choose_qparams_symmetric, I8),
        ):
            scale, zero = choose.tensor(x, *kind[:2], 1e-5, kind[2])
            q = Q.quantize_per_tensor.tensor(x, scale, zero, *kind)
            found += [scale, zero, q, Q.dequantize_per_tensor.tensor(q, scale, zero, *kind)]
        return tuple(found)


class Converted(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        half = Q.convert_element_type.no_fuse(x, torch.float16)
        return half, Q.convert_element_type.no_fuse(x * 20, torch.int32)


class Mlp(nn.Module):
    """Static activations, weights by channel, biases as i32."""

    def __init__(self) -> None:
        super().__init__()
        for name, rows, columns in (("first", 48, 32), ("second", 10, 48)):
            weight = torch.randint(-127, 128, (rows, columns), dtype=torch.int8)
            self.register_buffer(f"{name}_weight", weight)
            self.register_buffer(f"{name}_scales", torch.rand(rows) * 0.01 + 0.002)
            self.register_buffer(f"{name}_zeros", torch.zeros(rows, dtype=torch.int64))
            self.register_buffer(f"{name}_bias", torch.randint(-500, 500, (rows,), dtype=torch.int32))

    def _layer(self, name: str, x: torch.Tensor) -> torch.Tensor:
        weight, scales, zeros, bias = (
            getattr(self, f"{name}_{part}") for part in ("weight", "scales", "zeros", "bias")
        )
        weight = Q.dequantize_per_channel(weight, scales, zeros, 0, *I8)
        limits = -(2**31), 2**31 - 1, torch.int32
        return functional.linear(x, weight, Q.dequantize_per_tensor(bias, 2e-4, 0, *limits))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = there_and_back(x, 0.03, -5)
        x = there_and_back(functional.relu(self._layer("first", x)), 0.05, -128)
        y = Q.quantize_per_tensor(self._layer("second", x), 0.3, 2, *I8)
        return y, Q.dequantize_per_tensor(y, 0.3, 2, *I8)


class ConvNet(nn.Module):
    """Two convolutions, one depthwise, a sum, pooling and a linear layer, as a mobile network has them."""

    def __init__(self) -> None:
        super().__init__()
        for name, *sizes in (("stem", 8, 3, 3, 3), ("depth", 8, 1, 3, 3), ("head", 5, 8)):
            weight = torch.randint(-127, 128, sizes, dtype=torch.int8)
            self.register_buffer(f"{name}_weight", weight)
            self.register_buffer(f"{name}_scales", torch.rand(sizes[0]) * 0.005 + 0.001)
            self.register_buffer(f"{name}_zeros", torch.zeros(sizes[0], dtype=torch.int64))
        self.bias = nn.Parameter(torch.randn(8))

    def _weight(self, name: str) -> torch.Tensor:
        weight, scales, zeros = (getattr(self, f"{name}_{part}") for part in ("weight", "scales", "zeros"))
        return Q.dequantize_per_channel(weight, scales, zeros, 0, *I8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = there_and_back(x, 0.02, 0)
        x = functional.conv2d(x, self._weight("stem"), self.bias, stride=2, padding=1)
        x = there_and_back(functional.relu(x), 0.04, -128)
        y = functional.conv2d(x, self._weight("depth"), padding=1, groups=8)
        y = there_and_back(y, 0.06, 4)
        x = there_and_back(x + y, 0.08, -20)
        x = there_and_back(functional.adaptive_avg_pool2d(x, 1).flatten(1), 0.05, -10)
        scores = Q.quantize_per_tensor(functional.linear(x, self._weight("head")), 0.02, 0, *U8)
        return scores, Q.dequantize_per_tensor(scores, 0.02, 0, *U8)


class Table(nn.Module):
    """An embedding, and a linear layer on what it gives."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 64)
        self.linear = nn.Linear(64, 12)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (self.linear(self.table((x.abs() * 5).clamp(max=19).to(torch.int64))),)


def _in_integers(config: Callable[[], Any]) -> Callable[[], nn.Module]:
    """The module with weights that torchao quantizes."""

    def build() -> nn.Module:
        from torchao.quantization.quant_api import quantize_
        from torchao.utils import unwrap_tensor_subclass

        module = Table()
        quantize_(module, config(), lambda one, _: isinstance(one, nn.Linear | nn.Embedding))
        return unwrap_tensor_subclass(module)

    return build


def _dynamic_4_bits(group: int) -> Any:
    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig

    return Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(group))


def _weights(dtype: torch.dtype, group: int | None = None) -> Any:
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import IntxWeightOnlyConfig

    return IntxWeightOnlyConfig(
        weight_dtype=dtype, granularity=PerAxis(0) if group is None else PerGroup(group)
    )


def _dynamic_layer() -> nn.Module:
    from torchao.quantization.quant_api import quantize_
    from torchao.utils import unwrap_tensor_subclass

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(64, 12)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return (self.linear(x),)

    module = Layer()
    quantize_(module, _dynamic_4_bits(32))
    return unwrap_tensor_subclass(module)


def _program(module: Callable[[], nn.Module], *shape: int) -> Callable[[], Program]:
    def build() -> Program:
        torch.manual_seed(7)
        made = module().eval()
        return made, (torch.randn(shape) * 2,)

    return build


PROGRAMS: dict[str, Callable[[], Program]] = {
    "per tensor": _program(PerTensor, 4, 9),
    "per channel, first": _program(lambda: PerChannel(0), 6, 5),
    "per channel, middle": _program(lambda: PerChannel(1), 2, 6, 5),
    "per token": _program(PerToken, 3, 64),
    "per token, symmetric": _program(SymmetricRows, 3, 16),
    "per group": _program(Groups, 4, 24),
    "dynamic": _program(Dynamic, 5, 7),
    "convert": _program(Converted, 5, 7),
    "mlp": _program(Mlp, 4, 32),
    "convnet": _program(ConvNet, 2, 3, 16, 16),
    "torchao, 8-bit weights": _program(_in_integers(lambda: _weights(torch.int8)), 3, 5),
    "torchao, 4-bit weights by group": _program(_in_integers(lambda: _weights(torch.int4, 16)), 3, 5),
    "torchao, 2-bit weights": _program(_in_integers(lambda: _weights(torch.int2)), 3, 5),
    "torchao, 8da4w": _program(_dynamic_layer, 3, 64),
    "torchao, 8da4w of a batch": _program(_dynamic_layer, 2, 3, 64),
}
"""Modules with their arguments, by name."""
