"""Parameters, results and memory that several operators share, in modules that are quantized."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

from et_ir.quantization import (
    XNNPACKQuantizer,
    calibration,
    get_symmetric_quantization_config,
    graphs,
    quantize,
)


class Layers(nn.Module):
    """A convolution and two batch normalizations that differ."""

    def __init__(self, run: Callable[[Layers, Tensor], Tensor]) -> None:
        super().__init__()
        self.run = run
        self.conv = nn.Conv2d(4, 4, 3, padding=1)
        self.other = nn.Conv2d(4, 4, 1)
        self.other.bias = self.conv.bias
        self.first, self.second = nn.BatchNorm2d(4), nn.BatchNorm2d(4)
        with torch.no_grad():
            for number, norm in enumerate((self.first, self.second), 1):
                norm.running_mean.fill_(0.2 * number)  # pyright: ignore[reportOptionalMemberAccess]
                norm.running_var.fill_(0.3**number)  # pyright: ignore[reportOptionalMemberAccess]
                norm.weight.copy_(torch.tensor([1.0, -2.0, 0.5, 3.0]) * number)

    def forward(self, x: Tensor) -> Tensor:
        return self.run(self, x)


def _row_written(m: Layers, x: Tensor) -> Tensor:
    y = m.conv(x)
    y[:, 0].mul_(4)
    return y


def _view_written(m: Layers, x: Tensor) -> Tensor:
    y = F.relu(m.conv(x))
    y.flatten(1)[:, 5:60] = 2.0
    return m.other(y)


def _part_written(m: Layers, x: Tensor) -> Tensor:
    y = m.conv(x)
    first, second = y.chunk(2, 1)
    first.mul_(second)
    return y


def _read_before_and_after(m: Layers, x: Tensor) -> Tensor:
    y = m.conv(x)
    z = y * 2
    y.add_(3)
    return z + m.other(y)


PROGRAMS: dict[str, Callable[[Layers, Tensor], Tensor]] = {
    "a weight with two norms": lambda m, x: m.second(m.conv(F.relu(m.first(m.conv(x))))),
    "a result with two norms": lambda m, x: m.first(m.conv(x)) + F.relu(m.second(m.conv(x))),
    "two norms in a row": lambda m, x: m.second(m.first(m.conv(x))),
    "a norm twice in a row": lambda m, x: m.first(m.first(m.conv(x))),
    "a norm and another reader": lambda m, x: (y := m.conv(x)) + m.second(y),
    "a weight with and without a norm": lambda m, x: m.conv(F.relu(m.second(m.conv(x)))),
    "a bias with and without a norm": lambda m, x: m.other(F.relu(m.second(m.conv(x)))),
    "a weight that is read": lambda m, x: m.second(m.conv(x)) * m.conv.weight.mean(),
    "a written row": _row_written,
    "a written view": _view_written,
    "a written part": _part_written,
    "a sum in place": _read_before_and_after,
}
FOLDED = ["a weight with two norms", "a result with two norms", "a weight with and without a norm"]


def _made(name: str) -> tuple[Layers, list[tuple[Tensor]]]:
    torch.manual_seed(3)
    return Layers(PROGRAMS[name]).eval(), [(torch.randn(2, 4, 6, 6),) for _ in range(3)]


@pytest.mark.parametrize("mode", ["int8", "int8-dynamic"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_of_what_is_shared(name: str, mode: str) -> None:
    module, batches = _made(name)
    found = quantize(module, batches[0], mode, calibration=batches)
    with torch.no_grad():
        wanted, got = module(*batches[0]), found.module(*batches[0])
    noise = 10 * torch.log10(wanted.square().sum() / (wanted - got).square().sum())
    assert noise > 25
    assert all(layer.output_sqnr > 25 for layer in found.layers)


@pytest.mark.parametrize("name", FOLDED)
def test_layers_are_compared_with_those_of_the_module(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What torchao folds wrong is seen in the report."""
    monkeypatch.setattr(calibration, "separate_normalized", lambda _: None)
    module, batches = _made(name)
    found = quantize(module, batches[0], "int8", calibration=batches)
    assert min(layer.output_sqnr for layer in found.layers) < 15


def test_parameters_of_a_layer_alone_are_kept() -> None:
    module = torch.export.export(_made("a written row")[0], _made("a written row")[1][0]).module()
    names = set(dict(module.named_parameters()))
    graphs.separate_normalized(module)
    assert set(dict(module.named_parameters())) == names


@pytest.mark.parametrize(
    ("run", "shared"),
    [
        (lambda m, x: F.relu(m.conv(x), inplace=True), False),
        (lambda m, x: m.conv(x).flatten(1).relu_(), False),
        (_row_written, True),
        (_part_written, True),
        (_read_before_and_after, True),
    ],
)
def test_writes_to_shared_memory(run: Callable[[Layers, Tensor], Tensor], shared: bool) -> None:
    module = torch.export.export(
        Layers(run).eval().requires_grad_(False), (torch.randn(1, 4, 5, 5),)
    ).module()
    assert graphs.writes_to_shared(module.graph) is shared


@pytest.mark.parametrize(
    "layers",
    [
        (nn.ConvTranspose2d(8, 16, 3, groups=2), nn.BatchNorm2d(16)),
        (nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16, track_running_stats=False)),
        (nn.ConvTranspose2d(8, 16, 3), nn.BatchNorm2d(16, track_running_stats=False)),
    ],
    ids=["transposed groups", "statistics of the batch", "those of a transposed convolution"],
)
def test_normalizations_that_torchao_folds_wrongly(layers: tuple[nn.Module, nn.Module]) -> None:
    """They stay, and the layer is none of a normalization."""
    torch.manual_seed(0)
    with torch.no_grad():
        nn.init.uniform_(layers[1].get_parameter("weight"))
    x = torch.randn(2, 8, 6, 6)
    module = nn.Sequential(*layers).eval()
    graph = torch.export.export(module, (x,)).module()
    graphs.separate_normalized(graph)
    quantizer = XNNPACKQuantizer()
    quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True))
    with torch.no_grad():
        prepared = prepare_pt2e(graph, quantizer)
        torch.testing.assert_close(prepared(x), module(x))


class Stream(nn.Module):
    """A running average of its inputs, and a count of them."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("average", torch.zeros(2, 4))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.get_buffer("calls").add_(1)
        self.get_buffer("average").mul_(0.5).add_(x)
        return self.layer(x) + self.get_buffer("average")


@pytest.mark.parametrize("mode", ["int8", "int8-dynamic", "int8-weights", "8da4w:group=2"])
def test_states_are_written_and_start_as_they_were(mode: str) -> None:
    torch.manual_seed(0)
    module, batches = Stream(), [(torch.randn(2, 4),) for _ in range(3)]
    found = quantize(module, batches[0], mode, calibration=batches)
    with torch.no_grad():
        for batch in batches:
            torch.testing.assert_close(
                found.module(*batch), module(*batch), rtol=0, atol=0.3 if "4w" in mode else 0.06
            )
    assert int(found.module.get_buffer("calls")) == 3
    torch.testing.assert_close(found.module.get_buffer("average"), module.get_buffer("average"))


def test_states_that_change_are_not_constants() -> None:
    class Fading(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layer = nn.Linear(16, 16)
            self.register_buffer("gain", torch.ones(1, 16))

        def forward(self, x: Tensor) -> Tensor:
            gain = self.get_buffer("gain").mul_(0.5)
            return self.layer(x) + gain

    torch.manual_seed(1)
    batches = [(torch.randn(3, 16),) for _ in range(3)]
    module = Fading()
    found = quantize(module, batches[0], "int8", calibration=batches)
    assert [one.name for one in found.operators] == ["layer:linear", ":add"]
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(found.module(*batches[0]), module(*batches[0]), rtol=0, atol=0.05)
