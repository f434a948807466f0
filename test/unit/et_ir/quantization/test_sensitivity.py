"""Operators whose values need more than 8 bits, and the errors of others."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest
import torch
from support.keyword_spotter import calibration, evaluate, model
from torch import Tensor, nn

from et_ir.quantization import QuantizedModule, quantize, quantize_to_accuracy, sensitivity, simulation
from et_ir.quantization.sensitivity import GOOD, LEAST, Sensitivities


class Function(nn.Module):
    """A function of a tensor and of a layer."""

    def __init__(self, function: Callable[[nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(16, 16)
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.layer, x)


def quantized(function: Callable[[nn.Module, Tensor], Tensor], decades: float, mode: str) -> QuantizedModule:
    """Of numbers from 1 to a power of ten."""
    torch.manual_seed(1)
    batches = [(10 ** (decades * torch.rand(4, 16)),) for _ in range(4)]
    return quantize(Function(function).eval(), batches[0], mode, calibration=batches)


def needing_more(found: QuantizedModule) -> list[str]:
    return [one.operator for one in found.unquantized if one.reason == "its values need more than 8 bits"]


@pytest.mark.parametrize("mode", ["int8", "int8:functions=8"])
def test_a_logarithm_in_the_front_end(mode: str) -> None:
    module, inputs = model()
    found = quantize(module, inputs, mode, calibration=calibration())
    assert evaluate(module) == 1
    assert evaluate(found.module) > 0.98
    (left,) = (one for one in found.unquantized if one.operator == "aten.add.Tensor")
    assert left.module == "mel"
    assert left.detail.startswith("aten.log.default (")
    assert "keyword_spotter.py:" in left.detail
    assert [one.name for one in found.operators] == [
        ":mul",
        "body.0:conv2d",
        "body.2:conv2d",
        "body.4:conv2d",
        ":mean",
        "head:linear",
    ]
    assert all(one.own_sqnr > 30 and one.output_sqnr > 30 for one in found.operators)
    assert found.remedy is None


@pytest.mark.parametrize(
    ("function", "mode"),
    [
        (lambda layer, x: layer(torch.log(x * x.flip(1))), "int8"),
        (lambda layer, x: layer(torch.rsqrt(x * x)), "int8"),
        (lambda layer, x: layer(1 / (x + 1e-3)), "int8"),
        (lambda layer, x: layer((x * x.flip(1)).pow(-0.5)), "int8"),
        (lambda layer, x: layer(x.flip(1) / (x + x.flip(0))), "int8"),
        (lambda layer, x: layer(torch.log(torch.cat([x[:, :8], x[:, 8:]], 1))), "int8"),
        (lambda _, x: torch.log(torch.bmm(x[:, :, None], x[:, None])), "int8:functions=8"),
    ],
    ids=["log", "rsqrt", "reciprocal", "pow", "div", "of a concatenation", "of a product"],
)
def test_functions_of_values_that_span_decades(
    function: Callable[[nn.Module, Tensor], Tensor], mode: str
) -> None:
    """What makes the values stays in floats; of values of similar size, it does not."""
    wide = quantized(function, 4.0, mode)
    assert needing_more(wide)
    assert wide.remedy is None
    assert all(one.own_sqnr >= LEAST for one in wide.operators)
    assert not needing_more(quantized(function, 0.3, mode))


def test_a_softmax_of_large_numbers() -> None:
    found = quantized(lambda layer, x: torch.softmax(layer(x) + 1e4, 1), 0.3, "int8:functions=8")
    assert needing_more(found) == ["aten.add.Tensor", "aten.softmax.int"]
    found = quantized(lambda layer, x: torch.softmax(layer(x), 1), 0.3, "int8:functions=8")
    assert not needing_more(found)


def test_operators_before_one_that_stays_in_floats() -> None:
    """Their errors go on to where the others' would have stopped."""
    found = quantized(lambda _, x: torch.log((x * x + 1e-6) * 3), 4.0, "int8")
    assert needing_more(found) == ["aten.mul.Tensor", "aten.add.Tensor", "aten.mul.Tensor"]
    assert not found.operators


def test_writes_in_place_and_states_are_none_of_the_measurement() -> None:
    class Counting(nn.Module):
        def __init__(self, in_place: bool) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 4)
            self.in_place = in_place
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x: Tensor) -> Tensor:
            self.get_buffer("calls").add_(1)
            y = self.first(x)
            y = y.mul_(x).relu_() if self.in_place else torch.relu(y * x)
            return self.second(y)

    torch.manual_seed(1)
    batches = [(torch.randn(2, 16),) for _ in range(3)]
    both = [quantize(Counting(one), batches[0], "int8", calibration=batches) for one in (False, True)]
    plain, other = (
        [ratio for one in found.operators for ratio in (one.own_sqnr, one.output_sqnr)] for found in both
    )
    assert len(plain) == 6
    assert plain == pytest.approx(other)


def test_errors_of_the_results_of_a_module_with_keyword_arguments() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x: Tensor, *, offset: Tensor) -> dict[str, Tensor]:
            return {"y": self.layer(x) + offset, "label": x.argmax(1)}

    torch.manual_seed(0)
    batches = [(torch.randn(2, 8),) for _ in range(3)]
    found = quantize(Scaled(), batches[0], "int8", kwargs={"offset": torch.randn(8)}, calibration=batches)
    assert [one.name for one in found.operators] == ["layer:linear", ":add"]
    assert all(25 < one.own_sqnr < 60 for one in found.operators)


@pytest.mark.parametrize("mode", ["int8-dynamic", "int8-weights"])
def test_errors_of_layers_alone(mode: str) -> None:
    found = quantized(lambda layer, x: layer(torch.log(x)), 2.0, mode)
    (layer,) = found.operators
    assert (layer.name, layer.operator, layer.module) == ("layer:linear", "aten.linear.default", "layer")
    assert "test_sensitivity.py:" in layer.place
    (row,) = found.layers
    assert layer.own_sqnr == pytest.approx(row.output_sqnr, abs=6)


def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quantize what needs more than 8 bits."""
    monkeypatch.setattr(Sensitivities, "coarse", lambda _: [])


def test_a_remedy_for_results_that_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    unmeasured(monkeypatch)
    module, inputs = model()
    found = quantize(module, inputs, "int8", calibration=calibration())
    assert evaluate(found.module) < 0.8
    remedy = found.remedy
    assert remedy is not None
    assert [one.name for one in remedy.operators] == ["mel:add"]
    assert remedy.operators[0].own_sqnr == -inf
    assert remedy.keep_float == ("mel",)
    assert remedy.found_sqnr < LEAST
    assert remedy.output_sqnr > GOOD
    kept = quantize(module, inputs, "int8", calibration=calibration(), keep_float=remedy.keep_float)
    assert kept.remedy is None
    assert evaluate(kept.module) > 0.98


def test_a_remedy_of_many_operators() -> None:
    """A loop that amplifies each error: the results are lost, the next value is not."""

    class Chaotic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.step = nn.Linear(8, 8)
            with torch.no_grad():
                self.step.weight.normal_(0, 1.2)

        def forward(self, x: Tensor) -> Tensor:
            for _ in range(12):
                x = torch.sin(self.step(x))
            return x

    torch.manual_seed(1)
    batches = [(torch.randn(2, 8),) for _ in range(3)]
    found = quantize(Chaotic().eval(), batches[0], "int8", calibration=batches)
    assert [one.name for one in found.operators][:3] == ["step:linear", "step:linear.1", "step:linear.2"]
    assert all(one.own_sqnr > 20 for one in found.operators)
    assert found.remedy is not None
    assert len(found.remedy.operators) > 3
    kept = quantize(
        Chaotic().eval(), batches[0], "int8", calibration=batches, keep_float=found.remedy.keep_float
    )
    assert kept.remedy is None


def test_the_search_for_a_bound_keeps_single_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    unmeasured(monkeypatch)
    module, inputs = model()
    found = quantize_to_accuracy(module, inputs, "int8", evaluate, 0.01, calibration=calibration())
    assert found.kept == ("mel:add",)
    assert found.quality > 0.98
    assert all(layer.is_quantized for layer in found.module.layers)


def test_the_limit_of_bytes_limits_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensitivity, "_CACHE_BYTES", 1)
    seen: list[object] = []
    run = simulation.Rounding.run
    monkeypatch.setattr(
        simulation.Rounding,
        "run",
        lambda self, *args, **kwargs: [seen.append(args), run(self, *args, **kwargs)][1],
    )
    torch.manual_seed(0)
    batches = [(torch.randn(2, 16),) for _ in range(20)]
    module = Function(lambda layer, x: layer(x)).eval()
    quantize(module, batches[0], "int8", calibration=batches)
    few = len(seen)
    seen.clear()
    monkeypatch.setattr(sensitivity, "_CACHE_BYTES", 2**20)
    quantize(module, batches[0], "int8", calibration=batches)
    assert len(seen) == 7 * few


def test_rounding_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As torch's operator does, whatever part of the rows is rounded at a time."""
    value = torch.randn(12, 5, 3, generator=torch.Generator().manual_seed(0))
    scale = value.flatten(1).abs().amax(1) / 100
    value[0, 0, 0] = 0.5 * scale[0]
    expected = torch.fake_quantize_per_channel_affine(value, scale, torch.zeros(12).int(), 0, -90, 90)
    for elements in (1, 64, 1 << 16):
        monkeypatch.setattr(simulation, "_ELEMENTS", elements)
        found = simulation._rounded_rows(value, scale, -90, 90)
        assert torch.equal(found, expected)
