"""Values that `int8` rounds: what layers read and nothing else, or results, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from support.quantized_nets import Net
from torch import nn
from torch.fx import GraphModule, Node

from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_ir.backends import make_partitioner
from et_ir.quantization import QuantizationError, QuantizationMode, QuantizedModule, quantize
from et_vm.runtime import Runtime

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(8, 8), (2, 4, 8)),
    "signal": (lambda: nn.Conv1d(8, 8, 3, padding=1), (2, 8, 8)),
    "image": (lambda: nn.Conv2d(8, 8, 3, padding=1), (2, 8, 8, 8)),
    "depthwise": (lambda: nn.Conv2d(8, 8, 3, padding=1, groups=8), (2, 8, 8, 8)),
    "transposed signal": (lambda: nn.ConvTranspose1d(8, 8, 3, padding=1), (2, 8, 8)),
    "transposed image": (lambda: nn.ConvTranspose2d(8, 8, 3, padding=1), (2, 8, 8, 8)),
}
"""By name: what makes a layer, and the shape of its operand and result."""

CONSUMERS: dict[str, tuple[Callable[..., torch.Tensor], int]] = {
    "nothing": (lambda m, x: m[0](x), 1),
    "layer": (lambda m, x: m[1](m[0](x)), 2),
    "two layers": (lambda m, x: m[1](y := m[0](x)) * m[2](y), 2),
    "relu": (lambda m, x: m[1](torch.relu(m[0](x))), 2),
    "relu6": (lambda m, x: m[1](nn.functional.relu6(m[0](x))), 2),
    "hardswish": (lambda m, x: m[1](nn.functional.hardswish(m[0](x))), 2),
    "silu": (lambda m, x: m[1](nn.functional.silu(m[0](x))), 2),
    "gelu": (lambda m, x: nn.functional.gelu(m[0](x)), 1),
    "sigmoid": (lambda m, x: m[0](x) * torch.sigmoid(m[1](x)), 1),
    "softmax": (lambda m, x: torch.softmax(m[0](x), -1), 1),
    "norm": (lambda m, x: m[1](nn.functional.layer_norm(x + m[0](x), x.shape[-1:])), 2),
    "sum": (lambda m, x: x + m[0](x), 1),
    "chain of sums": (lambda m, x: (y := x + m[0](x)) + m[1](y), 2),
    "concatenation": (lambda m, x: m[1](torch.cat([m[0](x), x], 0)), 2),
    "views": (lambda m, x: m[1](m[0](x).flip(0)[:1]), 2),
    "mean": (lambda m, x: m[0](x).mean(-1), 1),
}
"""By name: a function of layers, and how many different values they read."""


def batches(*shape: int) -> list[tuple[torch.Tensor, ...]]:
    torch.manual_seed(1)
    return [(torch.randn(shape),) for _ in range(4)]


def _readers(node: Node) -> list[Node]:
    """The operators that read a quantized value."""
    return [reader for restored in node.users for reader in restored.users]


def _roundings(module: nn.Module) -> list[Node]:
    assert isinstance(module, GraphModule)
    return [
        node
        for node in module.graph.nodes
        if str(node.target).startswith("quantized_decomposed.quantize_per_tensor")
    ]


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_only_what_layers_read_is_rounded(layer: str, consumer: str) -> None:
    build, shape = LAYERS[layer]
    function, count = CONSUMERS[consumer]
    torch.manual_seed(0)
    module = Net(function, *(build() for _ in range(3))).eval()
    data = batches(*shape)
    found = quantize(module, data[0], "int8:results=32", calibration=data)
    roundings = _roundings(found.module)
    assert found.rounded == len(roundings) == count
    readers = [reader for node in roundings for reader in _readers(node)]
    operators = {one.operator for one in found.operators}
    assert {str(reader.target) for reader in readers} == operators
    assert not found.unquantized
    assert all(one.is_quantized for one in found.layers)


class Encoder(nn.Module):
    """Layers of a transformer whose residual streams have outliers, which the norms after them scale down."""

    def __init__(self, width: int = 32, count: int = 2) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    **{name: nn.Linear(width, width) for name in "qkvo"},
                    "up": nn.Linear(width, 4 * width),
                    "down": nn.Linear(4 * width, width),
                    "first": nn.LayerNorm(width),
                    "second": nn.LayerNorm(width),
                }
            )
            for _ in range(count)
        )
        with torch.no_grad():
            for layer in self.layers:
                modules: Any = layer
                modules["down"].bias[7] = 30.0
                modules["second"].weight[7] = 0.1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            modules: Any = layer
            q, k, v = (modules[name](x).unflatten(-1, (2, -1)).transpose(1, 2) for name in "qkv")
            scores = torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1)
            x = modules["first"](x + modules["o"]((scores @ v).transpose(1, 2).flatten(2)))
            x = modules["second"](x + modules["down"](nn.functional.gelu(modules["up"](x))))
        return x


def _decibels(wanted: torch.Tensor, found: torch.Tensor) -> float:
    return float(10 * torch.log10(wanted.square().sum() / (wanted - found).square().sum()))


def quantized_encoder(mode: str) -> tuple[nn.Module, QuantizedModule, tuple[torch.Tensor, ...]]:
    module = Encoder().eval()
    data = batches(1, 16, 32)
    return module, quantize(module, data[0], mode, calibration=data), data[0]


def test_outliers_of_a_residual_stream() -> None:
    ratios: dict[str, float] = {}
    for mode, rounded in (("int8", 42), ("int8:results=32", 8)):
        module, found, (x,) = quantized_encoder(mode)
        assert found.rounded == rounded
        with torch.no_grad():
            ratios[mode] = _decibels(module(x), found.module(x))
    assert ratios["int8:results=32"] > 40
    assert ratios["int8:results=32"] > ratios["int8"] + 20


class Mixed(nn.Module):
    """Convolutions, a residual sum, curves, a norm and linear layers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.SiLU())
        self.wide = nn.Sequential(nn.Conv2d(16, 32, 1), nn.ReLU6())
        self.depthwise = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Hardswish())
        self.narrow = nn.Conv2d(32, 16, 1)
        self.norm = nn.LayerNorm(16)
        self.head = nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.Linear(24, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        x = x + self.narrow(self.depthwise(self.wide(x)))
        return self.head(self.norm(x.mean((2, 3))))


@pytest.mark.parametrize("backend", ["", "native"])
def test_programs_compute_what_the_quantized_module_does(backend: str) -> None:
    module = Mixed().eval()
    data = batches(1, 3, 16, 16)
    found = quantize(module, data[0], "int8:results=32", calibration=data)
    assert found.rounded == 6
    program = torch.export.export(found.module, data[0])
    config = ExecutorchBackendConfig(target="et-vm")
    if backend:
        edge = to_edge_transform_and_lower(program, partitioner=make_partitioner(backend))
        calls = [op.name for op in edge.module.walk() if op.name.startswith(("edge.", "backend.call"))]
        assert calls == ["backend.call"]  # no weight is restored before it
    else:
        edge = to_edge(program)
    method = Runtime().load_program(edge.to_executorch(config).buffer, allow_native=True, poison=True)
    method = method.load_method("forward")
    for (x,) in data:
        with torch.no_grad():
            floats, expected = module(x), found.module(x)
        result = torch.as_tensor(method.execute([x])[0])
        # A number next to the middle between two steps may be rounded to the other.
        assert _decibels(expected, result) > _decibels(floats, expected) + 6


def test_backends_that_choose() -> None:
    mode = QuantizationMode.parse("int8")
    assert str(mode.for_backends(["native"])) == "int8:results=32"
    assert not mode.for_backends(["native"]).rounds_results
    for names in ([], ["xnnpack"], ["native", "xnnpack"], ["tosa"], ["ethos-u"], ["unheard-of"]):
        assert mode.for_backends(names) == QuantizationMode.parse("int8:results=8")
        assert mode.for_backends(names).rounds_results
    for text in ("int8:results=8", "int8:functions=8", "int8-dynamic"):
        assert str(QuantizationMode.parse(text).for_backends(["native"])) == text.removesuffix(":results=8")
    assert QuantizationMode.parse("int8:results=32").for_backends(["xnnpack"]).results == 32
    with pytest.raises(QuantizationError, match="functions=8 rounds results"):
        QuantizationMode.parse("int8:functions=8,results=32")


CONVOLUTIONS: dict[str, Callable[[], nn.Module]] = {
    "plain": lambda: nn.Conv1d(8, 24, 5, padding=2),
    "strided": lambda: nn.Conv1d(8, 20, 5, stride=2, padding=1),
    "dilated": lambda: nn.Conv1d(8, 16, 3, padding=4, dilation=4),
    "depthwise": lambda: nn.Conv1d(8, 8, 7, padding=3, groups=8),
    "point": lambda: nn.Conv1d(8, 40, 1),
    "of one channel": lambda: nn.Sequential(nn.Conv1d(8, 1, 3), nn.Conv1d(1, 17, 9, stride=4)),
    "transposed": lambda: nn.ConvTranspose1d(8, 12, 4, stride=2, padding=1),
    "transposed without steps": lambda: nn.ConvTranspose1d(8, 12, 3, padding=1, dilation=2),
    "transposed of an image": lambda: nn.ConvTranspose2d(8, 10, 3, stride=2, padding=1, output_padding=1),
    "transposed by other steps": lambda: nn.ConvTranspose2d(8, 10, 3, stride=(2, 3), bias=False),
}
"""Convolutions of eight channels."""


@pytest.mark.parametrize("results", [8, 32])
@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_convolutions_of_bytes_in_native_code(kind: str, results: int) -> None:
    """Weights are read as integers: nothing restores them, inside or before the delegate."""
    torch.manual_seed(0)
    module = nn.Sequential(CONVOLUTIONS[kind](), nn.ReLU()).eval()
    data = batches(2, 8, *([9, 7] if "image" in kind or "other" in kind else [50]))
    found = quantize(module, data[0], f"int8:results={results}", calibration=data)
    program = torch.export.export(found.module, data[0])
    edge = to_edge_transform_and_lower(program, partitioner=make_partitioner("native"))
    calls = [op.name for op in edge.module.walk() if op.name.startswith(("edge.", "backend.call"))]
    assert calls == ["backend.call"]
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    for (x,) in data:
        with torch.no_grad():
            expected = found.module(x)
        # Sums are exact; a bias is added to them in f32. Next to a tie, that is a step of the result.
        step = float(expected.max()) * (1 / 255 if results == 8 else 1e-6)
        assert (torch.as_tensor(method.execute([x])[0]) - expected).abs().max() <= 1.01 * step
