"""Biases that take back what rounding shifts means by, and where they are left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from support.quantized_nets import Net
from torch import Tensor, nn
from torch.fx import GraphModule
from torch.nn import functional as F
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from et_ir.quantization import (
    XNNPACKQuantizer,
    bias_correction,
    flow,
    get_symmetric_quantization_config,
    quantize,
)
from et_ir.quantization.bias_correction import bias_corrections, correct_biases

COUNT = 64
"""Inputs of each layer."""


def one_sided(weight: Tensor, by: float = 0.4) -> None:
    """Give each output channel a scale of 1/127, and otherwise weights that all round to 0 from the same side."""
    with torch.no_grad():
        weight.fill_(by / 127)
        weight.flatten(1)[:, 0] = 1.0


def layers(count: int) -> list[nn.Linear]:
    torch.manual_seed(0)
    made = [nn.Linear(COUNT, COUNT) for _ in range(count)]
    for one in made:
        one_sided(one.weight)
    return made


def data(*shape: int, count: int = 8, signal: float = 0.0) -> list[tuple[Tensor]]:
    """Numbers between 0.5 and 1.5; those of the first column differ by so much more."""
    torch.manual_seed(1)
    batches = [(torch.rand(*shape) + 0.5,) for _ in range(count)]
    for (x,) in batches:
        x[..., 0] += signal * (torch.rand(shape[:-1]) - 0.5)
    return batches


def prepared(module: nn.Module, batches: list[tuple[Tensor]], *, in_floats: bool = False) -> GraphModule:
    """The graph with observers that have seen the data."""
    config = None if in_floats else get_symmetric_quantization_config(is_per_channel=True)
    exported: Any = torch.export.export(module.eval(), batches[0]).module()
    made = prepare_pt2e(exported, XNNPACKQuantizer().set_global(config))
    for batch in batches:
        made(*batch)
    return made


def shift(module: nn.Module, other: nn.Module, batches: list[tuple[Tensor]]) -> float:
    """The largest difference of the mean results of two modules."""
    with torch.no_grad():
        means = [
            torch.cat([one(*batch).flatten(0, -2) for batch in batches]).mean(0) for one in (module, other)
        ]
    return float((means[0] - means[1]).abs().max())


@pytest.mark.parametrize("mode", ["int8", "int8-dynamic", "int8-weights"])
def test_a_shifted_mean(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = nn.Sequential(*layers(1)).eval()
    *batches, other = data(16, COUNT, count=9, signal=8.0)
    corrected = quantize(module, batches[0], mode, calibration=batches)
    monkeypatch.setattr(flow, "correct_biases", lambda *_: {})
    plain = quantize(module, batches[0], mode, calibration=batches)
    assert shift(module, plain.module, batches) > 0.15
    assert shift(module, corrected.module, batches) < 0.01
    assert shift(module, corrected.module, [other]) < 0.05
    assert corrected.layers[0].output_sqnr > plain.layers[0].output_sqnr + 10
    assert corrected.operators[0].output_sqnr > plain.operators[0].output_sqnr + 10


def test_errors_in_the_report_are_those_after_correction() -> None:
    module = nn.Conv2d(COUNT, 4, 1).eval()
    one_sided(module.weight)
    batches = [(x.reshape(2, 8, COUNT).mT.reshape(2, COUNT, 4, 2),) for (x,) in data(16, COUNT, signal=8.0)]
    found = quantize(module, batches[0], "int8", calibration=batches)
    (operator,), (layer,) = found.operators, found.layers
    assert operator.output_sqnr > 40
    assert layer.output_sqnr > 40


def test_no_correction_without_calibration_data() -> None:
    module = nn.Sequential(*layers(1)).eval()
    batches = data(4, COUNT, signal=8.0)
    assert shift(module, quantize(module, batches[0], "int8-weights").module, batches) > 0.15


def test_errors_of_layers_before_are_corrected_first() -> None:
    """The second layer takes back its own errors, not those of the first, which that has taken back."""
    module = nn.Sequential(*layers(2)).eval()
    batches = data(4, COUNT)
    graph = prepared(module, batches)
    with torch.no_grad():
        found = list(correct_biases(graph, batches, {}).values())
        lost = [layer.weight[:, 1:].sum(1) for layer in module]
        inputs = torch.cat([batch[0] for batch in batches])
        results = (inputs, module[0](inputs))
        expected = [one * float(x[:, 1:].mean()) for one, x in zip(lost, results, strict=True)]
    assert len(found) == 2
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, rtol=0.1)
    assert shift(module, convert_pt2e(graph), batches) < 0.01


LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "convolution": (lambda: nn.Conv2d(8, 4, 3), (2, 8, 5, 5)),
    "without a batch": (lambda: nn.Conv2d(8, 4, 3), (8, 5, 5)),
    "without a bias": (lambda: nn.Conv2d(8, 4, 3, bias=False), (2, 8, 5, 5)),
    "linear without a bias": (lambda: nn.Linear(COUNT, 4, bias=False), (2, COUNT)),
    "1-d": (lambda: nn.Conv1d(8, 4, 9), (2, 8, 12)),
    "depthwise": (lambda: nn.Conv2d(4, 4, 6, groups=4), (2, 4, 8, 8)),
    "sequence": (lambda: nn.Linear(COUNT, 4), (2, 3, COUNT)),
    "two readers": (
        lambda: Net(lambda m, x: torch.stack([y := m[0](x), y.relu()]), nn.Linear(COUNT, 4)),
        (2, COUNT),
    ),
    "relu": (lambda: nn.Sequential(nn.Linear(COUNT, 4), nn.ReLU()), (2, COUNT)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    make, shape = LAYERS[name]
    torch.manual_seed(0)
    module = make().eval()
    for one in module.modules():
        if hasattr(one, "weight"):
            one_sided(one.weight)
    batches = data(*shape)
    graph = prepared(module, batches)
    found = correct_biases(graph, batches, {})
    assert found
    graph.graph.lint()
    made = convert_pt2e(graph)
    torch.export.export(made, batches[0])
    with torch.no_grad():
        error = torch.stack([(module(*batch) - made(*batch)).mean() for batch in batches]).mean()
    assert abs(float(error)) < 0.01
    assert all(float(one.min()) > 0.05 for one in found.values())


def test_transposed() -> None:
    module = nn.ConvTranspose2d(COUNT, 3, 1).eval()
    with torch.no_grad():
        module.weight.fill_(0.4 / 127)
        module.weight[0] = 1.0
    batches = data(2, COUNT, 3, 3)
    graph = prepared(module, batches)
    (found,) = correct_biases(graph, batches, {}).values()
    assert torch.allclose(found, torch.full((3,), 63 * 0.4 / 127), rtol=0.1)


def test_a_bias_of_two_layers() -> None:
    """Each gets its own; that of the module stays as it is."""

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = layers(2)
            self.second.bias = self.first.bias
            one_sided(self.second.weight, 0.2)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.first(x), self.second(x)

    module, batches = Tied().eval(), data(4, COUNT)
    before = module.first.bias.detach().clone()
    graph = prepared(module, batches)
    first, second = correct_biases(graph, batches, {}).values()
    assert torch.allclose(first, 2 * second, rtol=0.1)
    assert torch.equal(module.first.bias, before)
    made = convert_pt2e(graph)
    for place in (0, 1):
        one, other = (nn.Sequential(each, _Part(place)) for each in (module, made))
        assert shift(one, other, batches) < 0.01


class _Part(nn.Module):
    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place

    def forward(self, parts: tuple[Tensor, ...]) -> Tensor:
        return parts[self.place]


def left_alone(name: str) -> tuple[nn.Module, list[tuple[Tensor]]]:
    (layer,) = layers(1)
    if name == "a computed bias":
        return Net(lambda m, x: F.linear(x, m[0].weight, m[0].bias * x.mean()), layer), data(4, COUNT)
    if name == "one sample":
        return layer, data(1, COUNT, count=1)
    return layer, data(4, COUNT, count=0)


@pytest.mark.parametrize("name", ["a computed bias", "a layer in floats", "one sample", "no data"])
def test_biases_that_are_left_alone(name: str) -> None:
    module, batches = left_alone(name)
    graph = prepared(module, batches or data(4, COUNT), in_floats=name == "a layer in floats")
    assert bias_corrections(graph, batches, {}) == {}


def test_a_bias_that_is_written_to() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            (layer,) = layers(1)
            self.weight = layer.weight
            self.register_buffer("bias", torch.zeros(COUNT))

        def forward(self, x: Tensor) -> Tensor:
            self.bias.add_(1.0)
            return F.linear(x, self.weight, self.bias)

    batches = data(4, COUNT)
    assert bias_corrections(prepared(Counting(), batches), batches, {}) == {}


def test_noise_is_no_shift() -> None:
    """Of errors that are as often positive as negative little is taken for a shift, less than of their means."""
    torch.manual_seed(0)
    errors = torch.randn(16, 1000)
    pairs = [(one[None], torch.zeros(1, 1000)) for one in errors]
    found = bias_correction._shift(pairs, 0)
    assert found is not None
    assert float(found.square().mean()) < 0.4 * float(errors.mean(0).square().mean())
    shifted = bias_correction._shift([(one + 1, zero) for one, zero in pairs], 0)
    assert shifted is not None
    assert float((shifted - 1).square().mean()) < 0.1


def test_the_limit_of_bytes_limits_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """The data that are used are at equal distances."""
    (layer,) = layers(1)
    batches = data(4, COUNT)
    graph = prepared(layer, batches)
    everything = next(iter(bias_corrections(graph, batches, {}).values()))
    few = next(iter(bias_corrections(graph, batches[::2], {}).values()))
    values = 2 * 4 * COUNT * 4  # those of one input and result
    monkeypatch.setattr(bias_correction, "_BYTES", 4 * 2 * values)
    assert torch.equal(next(iter(bias_corrections(graph, batches, {}).values())), few)
    monkeypatch.setattr(bias_correction, "_BYTES", 8 * 2 * values)
    assert torch.equal(next(iter(bias_corrections(graph, batches, {}).values())), everything)
