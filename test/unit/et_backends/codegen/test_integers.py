"""Products of quantized numbers as machine code, bit by bit against their formula in numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support.native_modules import lowered, run, sets
from torch import nn

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_backends.native.format import read_native
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_schema.pte import read_pte
from et_vm.backends.cpu import cpu_features

SETS = [
    name
    for name, one in INSTRUCTION_SETS.items()
    if cpu_features().issuperset(one.with_dot_products().cpu_flags)
]

import_module("torch.ao.quantization.fx._decomposed")  # registers the operators
_OPS: Any = torch.ops.quantized_decomposed
_LIMITS = (-128, 127, torch.int8)


@dataclass
class Layer:
    """A layer between quantizations, as torchao leaves it."""

    product: Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]
    weights: tuple[int, ...]
    after: Callable[[torch.Tensor], torch.Tensor] = lambda x: x
    bounds: tuple[float, float] = (-np.inf, np.inf)
    bias: bool = True
    zero_points: tuple[int, int] = (-17, 9)
    extreme: bool = False
    """Whether all products of a column are the largest there are."""


class Quantized(nn.Module):
    """A layer of bytes between quantizations."""

    weights: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    bias: torch.Tensor

    def __init__(self, layer: Layer, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        columns, inner = layer.weights[0], int(np.prod(layer.weights[1:]))
        weights = torch.randint(-127, 128, layer.weights, dtype=torch.int8, generator=generator)
        if layer.extreme:
            weights[:] = 127
            weights[::2] = -127
        self.register_buffer("weights", weights)
        self.register_buffer("scales", torch.rand(columns, generator=generator) * 0.01 + 1e-3)
        self.register_buffer("zeros", torch.zeros(columns, dtype=torch.int64))
        bias = torch.randn(columns, generator=generator) * inner**0.5 * 0.1
        self.register_buffer("bias", bias if layer.bias else None)
        self.layer = layer
        self.scale = 0.03
        self.out_scale = 0.03 * 0.005 * 60 * inner**0.5 * (100 if layer.extreme else 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before, after = self.layer.zero_points
        stored = _OPS.quantize_per_tensor(x, self.scale, before, *_LIMITS)
        real = _OPS.dequantize_per_tensor(stored, self.scale, before, *_LIMITS)
        limits = (-127, 127, torch.int8)
        weights = _OPS.dequantize_per_channel(self.weights, self.scales, self.zeros, 0, *limits)
        made = self.layer.after(self.layer.product(real, weights, self.bias))
        return _OPS.quantize_per_tensor(made, self.out_scale, after, *_LIMITS)

    def formula(self, x: torch.Tensor) -> np.ndarray:
        """`clamp(round(sum * m + r) + z)`, whose sum is of integers, and the bias one of them but for `r`."""
        before, after = self.layer.zero_points
        stored = _OPS.quantize_per_tensor(x, self.scale, before, *_LIMITS)
        total = self.layer.product(stored.double() - before, self.weights.double(), None).numpy()
        channel = 1 if total.ndim == 4 else total.ndim - 1
        shape = [-1 if dim == channel else 1 for dim in range(total.ndim)]
        scales = self.scale * self.scales.numpy().astype(np.float64)
        bias = self.bias.numpy().astype(np.float64) / scales if self.layer.bias else np.zeros_like(scales)
        total = total + np.rint(bias).reshape(shape)
        # The product and the sum are rounded once.
        factors, remainders = (
            one.astype(np.float32).astype(np.float64).reshape(shape)
            for one in (scales / self.out_scale, (bias - np.rint(bias)) * (scales / self.out_scale))
        )
        sums = total.astype(np.int32).astype(np.float32)
        scaled = np.rint((sums * factors + remainders).astype(np.float32)) + after
        inverse = np.float32(1 / self.out_scale)
        low, high = (
            np.rint(np.float32(one) * inverse) + after if np.isfinite(one) else one
            for one in self.layer.bounds
        )
        return np.clip(scaled, max(low, -128), min(high, 127)).astype(np.int8)


def convolution(**options: int) -> Callable[..., torch.Tensor]:
    def product(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None) -> torch.Tensor:
        return F.conv2d(x, w, b, **options)

    return product


CASES: dict[str, tuple[Layer, tuple[int, ...]]] = {
    "linear": (Layer(F.linear, (50, 37)), (5, 37)),
    "linear-row": (Layer(F.linear, (100, 64)), (1, 64)),
    "linear-many-rows": (Layer(F.linear, (33, 16), bias=False), (2, 113, 16)),
    "linear-extreme": (Layer(F.linear, (19, 600), extreme=True, zero_points=(-128, 0)), (7, 600)),
    "linear-relu": (Layer(F.linear, (16, 12), torch.relu, (0, np.inf), zero_points=(127, -128)), (3, 12)),
    "point": (Layer(convolution(), (40, 24, 1, 1)), (2, 24, 5, 7)),
    "point-of-odd-channels": (Layer(convolution(), (17, 9, 1, 1)), (1, 9, 16, 15)),
    "point-relu6": (Layer(convolution(), (24, 16, 1, 1), F.relu6, (0, 6)), (1, 16, 6, 5)),
    "point-stride": (Layer(convolution(stride=2), (24, 16, 1, 1)), (1, 16, 7, 8)),
    "first": (
        Layer(convolution(stride=2, padding=1), (32, 3, 3, 3), torch.relu, (0, np.inf)),
        (2, 3, 13, 14),
    ),
    "filters": (Layer(convolution(padding=1), (24, 20, 3, 3)), (1, 20, 9, 17)),
    "filters-dilated": (Layer(convolution(padding=2, dilation=2), (16, 8, 3, 3), bias=False), (1, 8, 9, 10)),
    "filters-large": (Layer(convolution(padding=1), (128, 256, 3, 3)), (1, 256, 3, 4)),
    "filters-extreme": (
        Layer(convolution(padding=1), (16, 64, 3, 3), extreme=True, zero_points=(-128, 0)),
        (1, 64, 5, 5),
    ),
    "depthwise": (Layer(convolution(padding=1, groups=35), (35, 1, 3, 3), F.relu6, (0, 6)), (2, 35, 7, 9)),
    "depthwise-5": (Layer(convolution(padding=2, stride=2, groups=16), (16, 1, 5, 5)), (1, 16, 11, 20)),
    "depthwise-extreme": (
        Layer(convolution(groups=32), (32, 1, 4, 7), extreme=True, zero_points=(-128, 0)),
        (1, 32, 9, 9),
    ),
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", CASES)
def test_formula(name: str) -> None:
    layer, shape = CASES[name]
    module = Quantized(layer, seed=len(name)).eval()
    x = (
        torch.full(shape, 1e3)
        if layer.extreme
        else torch.randn(shape, generator=torch.Generator().manual_seed(1)) * 2
    )
    expected = module.formula(x)
    assert len(np.unique(expected)) > 1
    eager = module(x).numpy().astype(np.int32)
    assert np.abs(eager - expected).max() <= 1
    program = torch.export.export(module, (x,))
    for instruction_set in sets(SETS):
        file = lowered(program, instruction_set)
        for threads in (1, 2):
            np.testing.assert_array_equal(run(file, (x,), threads), expected, f"{instruction_set}, {threads}")


@pytest.mark.parametrize(
    ("product", "weights", "shape"),
    [
        (F.linear, (20, 1), (64, 1)),
        (convolution(), (20, 1, 1, 1), (1, 1, 8, 8)),
        (convolution(padding=1), (20, 2, 3, 3), (1, 2, 8, 8)),
        (convolution(groups=20), (20, 1, 1, 1), (1, 20, 8, 8)),
    ],
    ids=["linear", "point", "image", "depthwise"],
)
def test_biases_are_not_rounded(
    product: Callable[..., torch.Tensor], weights: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    """Where steps of the sums are as large as those of results, results follow the program in double precision."""
    layer = Layer(product, weights)
    module = Quantized(layer, seed=3).eval()
    module.weights.clamp_(-2, 2)
    module.scales[:] = torch.linspace(0.5, 2.0, 20)
    module.bias[:] = torch.linspace(-0.5, 0.5, 20)
    module.out_scale = module.scale
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1)) * 0.1
    before, after = layer.zero_points
    with torch.no_grad():
        stored = _OPS.quantize_per_tensor(x, module.scale, before, *_LIMITS).double() - before
        scales = module.scales.double().reshape(-1, *(1,) * (len(weights) - 1))
        real = product(stored * module.scale, module.weights.double() * scales, module.bias.double())
        steps = (real / module.out_scale).numpy()
    expected = np.clip(np.rint(steps) + after, -128, 127)
    ties = np.abs(np.abs(steps - np.rint(steps)) - 0.5) < 1e-4
    assert ties.mean() < 0.1
    program = torch.export.export(module, (x,))
    for instruction_set in sets(SETS):
        got = run(lowered(program, instruction_set), (x,), 1)
        np.testing.assert_array_equal(np.where(ties, expected, got), expected, instruction_set)


class Dynamic(nn.Module):
    """Linear layers of int8 weights whose activations are quantized by their range, as torchao leaves them."""

    weights: torch.Tensor
    other: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    bias: torch.Tensor

    def __init__(self, columns: int, inner: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(columns)
        for name in ("weights", "other"):
            made = torch.randint(-127, 128, (columns, inner), dtype=torch.int8, generator=generator)
            self.register_buffer(name, made)
        self.register_buffer("scales", torch.rand(columns, generator=generator) * 0.01 + 1e-3)
        self.register_buffer("zeros", torch.zeros(columns, dtype=torch.int64))
        self.register_buffer("bias", torch.randn(columns, generator=generator))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale, point = _OPS.choose_qparams.tensor(x, -128, 127, 2**-12, torch.int8)
        stored = _OPS.quantize_per_tensor.tensor(x, scale, point, *_LIMITS)
        real = _OPS.dequantize_per_tensor.tensor(stored, scale, point, *_LIMITS)
        layers = [
            F.linear(
                real,
                _OPS.dequantize_per_channel(one, self.scales, self.zeros, 0, -127, 127, torch.int8),
                bias,
            )
            for one, bias in ((self.weights, self.bias), (self.other, None))
        ]
        return F.relu(layers[0]) - layers[1]

    def formula(self, x: torch.Tensor) -> np.ndarray:
        """`(sum of integers) * (s t) + bias` in f32."""
        scale, point = _OPS.choose_qparams.tensor(x, -128, 127, 2**-12, torch.int8)
        stored = _OPS.quantize_per_tensor.tensor(x, scale, point, *_LIMITS)
        factors = self.scales.numpy() * np.float32(scale.item())
        totals = [
            F.linear(stored.double() - int(point), one.double()).numpy().astype(np.float32) * factors
            for one in (self.weights, self.other)
        ]
        return np.maximum(totals[0] + self.bias.numpy(), np.float32(0)) - totals[1]


DYNAMIC = {"row": (64, 512, (1, 512)), "rows": (50, 37, (2, 5, 37)), "many": (48, 64, (300, 64))}


@pytest.mark.parametrize("name", DYNAMIC)
@pytest.mark.parametrize("shift", [-3.0, 0.0, 5.0])
def test_dynamic(name: str, shift: float) -> None:
    """Two layers of one activation; numbers of both signs, or of one."""
    columns, inner, shape = DYNAMIC[name]
    module = Dynamic(columns, inner).eval()
    x = torch.randn(shape, generator=torch.Generator().manual_seed(2)) * 0.5 + shift
    expected = module.formula(x)
    np.testing.assert_allclose(expected, module(x).numpy(), rtol=1e-4, atol=1e-3 * inner**0.5)
    program = torch.export.export(module, (x,))
    for instruction_set in sets(SETS):
        file = lowered(program, instruction_set)
        for threads in (1, 2):
            np.testing.assert_array_equal(run(file, (x,), threads), expected, f"{instruction_set}, {threads}")


class Stored(Quantized):
    """The same, of bytes that come from elsewhere, which are returned too."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before, after = self.layer.zero_points
        real = _OPS.dequantize_per_tensor(x, self.scale, before, *_LIMITS)
        limits = (-127, 127, torch.int8)
        weights = _OPS.dequantize_per_channel(self.weights, self.scales, self.zeros, 0, *limits)
        made = self.layer.product(real, weights, self.bias)
        return _OPS.quantize_per_tensor(made, self.out_scale, after, *_LIMITS)


@pytest.mark.parametrize("zero_point", [-128, 0, 127])
def test_stored_bytes(zero_point: int) -> None:
    """All bytes with a sign, of every zero point, are those of the formula without one."""
    module = Stored(Layer(F.linear, (21, 64), zero_points=(zero_point, 3)), seed=3).eval()
    x = torch.arange(-128, 128).to(torch.int8).view(4, 64)
    real = _OPS.dequantize_per_tensor(x, module.scale, zero_point, *_LIMITS)
    program = torch.export.export(module, (x,))
    for instruction_set in sets(SETS):
        file = lowered(program, instruction_set)
        np.testing.assert_array_equal(run(file, (x,)), module.formula(real))


def test_unfit_operands_stay_outside() -> None:
    """Weights with zero points are no operands of these kernels; the program runs with them all the same."""
    module = Quantized(Layer(F.linear, (20, 12)), seed=1).eval()
    module.zeros += 1
    x = torch.randn(3, 12)
    edge = to_edge_transform_and_lower(
        torch.export.export(module, (x,)), partitioner=NativePartitioner(instruction_sets=SETS[:1])
    )
    outside = [op.name for op in edge.module.walk() if op.name.startswith("edge.")]
    assert "edge.quantized_decomposed.dequantize_per_channel" in outside
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    assert np.abs(run(file, (x,)).astype(int) - module(x).numpy()).max() <= 1


def test_products_left_out() -> None:
    """Without linear layers, their factors stay outside too."""
    module = Quantized(Layer(F.linear, (20, 12)), seed=1).eval()
    x = torch.randn(3, 12)
    partitioner = NativePartitioner(instruction_sets=SETS[:1], without=["linear"])
    edge = to_edge_transform_and_lower(torch.export.export(module, (x,)), partitioner=partitioner)
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    assert np.abs(run(file, (x,)).astype(int) - module(x).numpy()).max() <= 1


def test_processor_features() -> None:
    """Code for x86-64-v4 names the feature that its products of bytes need; that of floats does not."""
    module = Quantized(Layer(F.linear, (20, 12)), seed=1).eval()
    for one, needed in ((module, True), (nn.Linear(12, 20), False)):
        names = _features(one)
        assert ("avx512_vnni" in names) == needed
        assert "avx512f" in names


def _features(module: nn.Module) -> list[str]:
    edge = to_edge_transform_and_lower(
        torch.export.export(module.eval(), (torch.randn(3, 12),)),
        partitioner=NativePartitioner(instruction_sets=["x86-64-v4"]),
    )
    pte = read_pte(memoryview(edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer))
    (delegate,) = pte.program.execution_plan[0].delegates
    assert delegate.processed is not None
    return read_native(pte.delegate_data(delegate.processed)).objects[0].cpu_features.split()
