"""Modes of quantization by name: what they make of a module, the report of its layers, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import pytest
import torch
from torch import nn

from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_ir.backends import make_partitioner
from et_ir.quantization import QuantizationError, QuantizationMode, quantize, quantize_to_accuracy
from et_vm.runtime import Runtime

MODES = ("int8", "int8-dynamic", "int8-weights", "8da4w:group=16", "8da4w:group=16,embedding=4")


class Classifier(nn.Module):
    """An embedding, a convolution and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(50, 32)
        self.body = nn.Sequential(nn.Conv1d(32, 32, 3, padding=1), nn.BatchNorm1d(32), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.table(ids).transpose(1, 2)).mean(2))


def ids() -> torch.Tensor:
    return torch.randint(50, (2, 6))


def calibration() -> list[tuple[torch.Tensor, ...]]:
    torch.manual_seed(1)
    return [(ids(),) for _ in range(4)]


def test_arguments_in_another_order() -> None:
    with pytest.raises(TypeError, match=r"the mode is a list, not a name .* calibration=\[inputs"):
        quantize(Classifier(), "int8", [(ids(),)])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="expected a module or an exported program to quantize, got a str"):
        quantize("net.pt2", (ids(),), "int8")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("mode", MODES)
def test_the_program_computes_what_the_quantized_module_does(mode: str) -> None:
    module = Classifier().eval()
    before = [one.clone() for one in module.parameters()]
    found = quantize(module, (ids(),), mode, calibration=calibration())
    assert all(map(torch.equal, module.parameters(), before))
    x = ids()
    with torch.no_grad():
        plain, expected = module(x), found.module(x)
    assert 0 < (plain - expected).abs().max() < 0.2 * plain.abs().max()
    exported = torch.export.export(found.module, (ids(),))
    file = to_edge(exported).to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    (result,) = Runtime().load_program(file, poison=True).load_method("forward").execute([x])
    # A sum that is half way between two steps may be rounded either way.
    torch.testing.assert_close(torch.as_tensor(result), expected, rtol=0.02, atol=0.02)


def sizes(mode: str, **options: Any) -> dict[str, tuple[int, int]]:
    found = quantize(Classifier(), (ids(),), mode, calibration=calibration(), **options)
    return {layer.name: (layer.bytes_before, layer.bytes_after) for layer in found.layers}


def test_bytes_of_layers() -> None:
    assert sizes("int8") == {
        "table": (6400, 6400),
        "body.0": (12288, 3072 + 32 * 12),
        "head.0": (2048, 512 + 16 * 12),
        "head.2": (256, 64 + 4 * 12),
    }
    assert sizes("int8-weights") == {
        "table": (6400, 1600 + 50 * 5),
        "body.0": (12288, 3072 + 32 * 12),
        "head.0": (2048, 512 + 16 * 12),
        "head.2": (256, 64 + 4 * 12),
    }
    found = sizes("8da4w:group=16")
    assert found["body.0"] == (12288, 12288)
    assert found["table"] == (6400, 1600 + 50 * 5)
    assert sizes("8da4w:group=16,embedding=4")["table"] == (6400, 50 * (16 + 2 * (4 + 1)))
    # Half a byte each; an f32 scale and a zero point for each group.
    assert found["head.0"][1] in range(256 + 32 * 4, 256 + 32 * 5 + 1)


def test_display() -> None:
    """Also of a layer whose integers and scales take as many bytes as its floats."""
    found = quantize(nn.Linear(4, 3), (torch.ones(1, 4),), "int8", calibration=[(torch.ones(1, 4),)])
    (layer,) = found.layers
    assert layer.bytes_before == layer.bytes_after
    assert repr(found) == "<QuantizedModule: 1 of 1 layers quantized, 0 operators in floats>"
    html = found._repr_html_()
    assert f"<td>{layer.operator}</td><td>48</td><td>48</td><td>{layer.weight_sqnr:.1f}</td>" in html


def test_noise_of_layers() -> None:
    found = quantize(Classifier(), (ids(),), "int8", calibration=calibration(), keep_float=["head.0"])
    layers = {layer.name: layer for layer in found.layers}
    assert 35 < layers["body.0"].weight_sqnr < 60
    assert layers["head.0"].weight_sqnr == inf
    assert 20 < layers["head.0"].output_sqnr < 60  # of what it is given
    assert not layers["head.0"].is_quantized
    reasons = {(one.module, one.reason) for one in found.unquantized}
    assert ("head.0", "left in floats by configuration") in reasons


def test_patterns_of_modules_in_floats() -> None:
    kept = sizes("int8", keep_float=["head.*"])
    assert kept["head.0"] == (2048, 2048)
    assert kept["head.2"] == (256, 256)
    assert sizes("int8", keep_float=["head"]) == kept
    with pytest.raises(QuantizationError, match=r"matches 'tail\.\*': there is table"):
        sizes("int8", keep_float=["tail.*"])


def test_groups_that_do_not_divide_stay_floats() -> None:
    found = quantize(Classifier(), (ids(),), "8da4w:group=12")
    assert [str(one) for one in found.unquantized] == [
        "head.0: Linear: groups of 12 do not divide its 32 inputs",
        "head.2: Linear: groups of 12 do not divide its 16 inputs",
    ]
    found = quantize(Classifier(), (ids(),), "8da4w:group=12,embedding=4")
    assert "table: Embedding: groups of 12 do not divide its 32 columns" in map(str, found.unquantized)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("int4", "'int4' is not a quantization mode"),
        ("int8:group=4", "int8 has no option 'group'"),
        ("8da4w:group=1", "at least 2"),
        ("8da4w:size=32", "no option 'size'"),
        ("int8:functions=4", "functions=4: expected 8 or 32 bits"),
        ("8da4w:embedding=2", "embedding=2: expected 4 or 8 bits"),
        (
            "int8-weights:embedding=4",
            "int8-weights has no option 'embedding'; 8da4w has group=N and embedding=4; int8 has functions=8 and "
            "results=32",
        ),
        ("int8", "needs calibration data: pass calibration="),
    ],
)
def test_modes_that_are_none(mode: str, message: str) -> None:
    with pytest.raises(QuantizationError, match=message):
        quantize(Classifier(), (ids(),), mode)


def test_calibration_data_that_cannot_be_used() -> None:
    module = nn.Linear(3, 2)
    bad = torch.tensor([[1.0, float("nan"), 0.0]])
    with pytest.raises(QuantizationError, match="calibration data 1, tensor 0: NaN or infinity"):
        quantize(module, (torch.ones(1, 3),), "int8", calibration=[(torch.ones(1, 3),), (bad,)])
    with pytest.raises(QuantizationError, match="calibration data 0: the module fails"):
        quantize(module, (torch.ones(1, 3),), "int8", calibration=[(torch.ones(1, 4),)])


class Chosen(nn.Module):
    """A layer of the rows whose first number is positive."""

    def __init__(self) -> None:
        super().__init__()
        self.expert = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.expert(x[x[:, 0] > 0])


def test_a_layer_that_saw_no_data() -> None:
    x = torch.ones(2, 4)
    with pytest.raises(QuantizationError, match="'expert' reads, had no elements"):
        quantize(Chosen(), (x,), "int8", calibration=[(-x,)])
    with pytest.raises(QuantizationError, match="calibration data 1, tensor 0: no elements"):
        quantize(nn.Linear(4, 2), (x,), "int8", calibration=[(x,), (x[:0],)])


@pytest.mark.parametrize(
    ("sign", "place"),
    [
        (-1.0, r"calibration data 0: NaN or infinity in 0 \(aten.linear"),
        (1.0, r"'linear', which '1' reads, .* was not finite"),
    ],
    ids=["NaN behind them", "infinities behind them"],
)
def test_layers_that_make_infinities(sign: float, place: str) -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    huge = torch.full((1, 3), 1e38)
    with torch.no_grad():
        module[0].weight.fill_(10.0)
        module[1].weight.copy_(torch.tensor([1.0, sign, 1.0]))
    with pytest.raises(QuantizationError, match=place):
        quantize(module, (torch.ones(1, 3),), "int8", calibration=[(huge,)])


def test_weights_of_4_bits_are_rounded_for_the_calibration_data() -> None:
    """Of inputs that lie near a plane, layers compute less noise; a layer that none reaches is as without data."""

    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.used, self.idle = nn.Linear(32, 64), nn.Linear(32, 64)

        def forward(self, x: torch.Tensor, branch: bool = False) -> torch.Tensor:
            return self.idle(x) if branch else self.used(x)

    module = Two()
    plane = torch.randn(4, 32)
    batches = [(torch.randn(8, 4) @ plane,) for _ in range(8)]
    held_out = torch.randn(8, 4) @ plane
    noise: list[float] = []
    for data in ((), batches):
        found = quantize(module, (held_out,), "8da4w", calibration=data).module
        with torch.no_grad():
            noise.append(float((found(held_out) - module(held_out)).square().mean()))
    assert noise[1] < 0.5 * noise[0]


def test_rounding_of_undefined_inputs_of_layers() -> None:
    module = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 32))
    with torch.no_grad():
        module[0].weight.fill_(10.0)
    with pytest.raises(QuantizationError, match="NaN or infinity in the inputs of '1'"):
        quantize(module, (torch.ones(1, 32),), "8da4w", calibration=[(torch.full((1, 32), 3e38),)])
    with pytest.raises(QuantizationError, match="calibration data 0: the module fails"):
        quantize(module, (torch.ones(1, 32),), "8da4w", calibration=[(torch.ones(1, 31),)])


class Block(nn.Module):
    """Attention by two products and a softmax, normalizations, and an activation that is no bound."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.norm, self.q, self.k = nn.LayerNorm(16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        weights = torch.softmax(torch.bmm(self.q(y), self.k(y).transpose(1, 2)) * 0.25, -1)
        x = x + torch.bmm(weights, y)
        return x + self.mlp(self.norm(x))


def test_functions_in_8_bits() -> None:
    """Nothing is left in floats; et-vm looks activations up, and native code reads and writes bytes alone."""
    torch.manual_seed(0)
    module = Block().eval()
    batches = [(torch.randn(2, 5, 16),) for _ in range(6)]
    plain = quantize(module, batches[0], "int8", calibration=batches)
    assert {one.operator for one in plain.unquantized} == {
        "aten.layer_norm.default",
        "aten.bmm.default",
        "aten.softmax.int",
        "aten.gelu.default",
    }
    found = quantize(module, batches[0], "int8:functions=8", calibration=batches)
    assert not found.unquantized
    program = torch.export.export(found.module, batches[0])
    calls = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert calls.count("quantized_decomposed.quantize_per_tensor.default") > 12
    (softmax,) = (node for node in program.graph.nodes if str(node.target) == "aten.softmax.int")
    assert next(iter(softmax.users)).args[1:3] == (1 / 256, -128)
    x = torch.randn(2, 5, 16)
    with torch.no_grad():
        expected, floats = found.module(x), module(x)
    assert (expected - floats).abs().max() < 0.1 * floats.abs().max()
    step = float(
        next(node.args[1] for node in reversed(program.graph.nodes) if "dequantize" in str(node.target))
    )
    config = ExecutorchBackendConfig(target="et-vm")
    vm = to_edge(program).to_executorch(config)
    assert "integer::lookup.out" in str(vm.module)
    native = to_edge_transform_and_lower(program, partitioner=make_partitioner("native"))
    assert [op.name for op in native.module.walk() if op.name.startswith(("edge.", "backend.call"))] == [
        "backend.call"
    ]
    for file in (vm.buffer, native.to_executorch(config).buffer):
        method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
        # A value next to the middle between two steps of any of the grids is rounded either way.
        assert (torch.as_tensor(method.execute([x])[0]) - expected).abs().max() <= 2.01 * step


def test_parsed_modes() -> None:
    assert str(QuantizationMode.parse("8da4w")) == "8da4w:group=32"
    assert str(QuantizationMode.parse("int8")) == "int8"
    assert str(QuantizationMode.parse("int8:functions=8")) == "int8:functions=8"
    assert str(QuantizationMode.parse("8da4w:embedding=4,group=64")) == "8da4w:group=64,embedding=4"


def search(loss: float) -> Any:
    module = Classifier().eval()
    batches = calibration()
    with torch.no_grad():
        wanted = [module(*batch) for batch in batches]

    def closeness(one: nn.Module) -> float:
        with torch.no_grad():
            error = max(float((one(*b) - w).abs().max()) for b, w in zip(batches, wanted, strict=True))
        return 1 - error

    return quantize_to_accuracy(module, (ids(),), "int8", closeness, loss, calibration=batches)


def test_search_for_a_bound() -> None:
    loose = search(0.5)
    assert loose.kept == ()
    assert len(loose.trials) == 1
    tight = search((1 - loose.quality) / 2)
    assert tight.kept
    assert tight.quality >= 1 - (1 - loose.quality) / 2
    fewer = [trial.quality for trial in tight.trials if len(trial.kept) < len(tight.kept)]
    assert max(fewer) < tight.quality
    assert not {layer.name for layer in tight.module.layers if layer.is_quantized} & set(tight.kept)


class Reading(nn.Module):
    """A layer or a table whose weight is read directly."""

    def __init__(self, layer: nn.Module, read: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.layer = layer
        self.read = read
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.read(self.layer, x)


IDS = torch.arange(6).view(2, 3)


@pytest.mark.parametrize("mode", ["int8-weights", "int8-dynamic", "8da4w"])
@pytest.mark.parametrize(
    ("read", "inputs", "reader"),
    [
        (lambda table, x: table(x) @ table.weight.T, IDS, "__get__"),
        (lambda table, x: nn.functional.one_hot(x, 20).float() @ table.weight, IDS, "matmul"),
        (lambda table, x: x + table.weight[:3], torch.randn(2, 3, 32), "__getitem__"),
    ],
    ids=["transposed", "factor", "part"],
)
def test_tables_that_something_else_reads_stay_floats(
    read: Callable[..., torch.Tensor], inputs: torch.Tensor, reader: str, mode: str
) -> None:
    module = Reading(nn.Embedding(20, 32), read)
    quantized = quantize(module, (inputs,), mode)
    assert ("layer", f"its weight is read by {reader} too") in [
        (one.module, one.reason) for one in quantized.unquantized
    ]
    torch.testing.assert_close(quantized.module(inputs), module(inputs), rtol=0.1, atol=0.1)
    assert "".join(name for name, _ in quantized.module.named_buffers()).count("scale") == 0


def test_sizes_and_types_of_weights_may_be_read() -> None:
    module = Reading(
        nn.Linear(32, 16), lambda layer, x: layer(x.to(layer.weight.dtype)) * layer.weight.shape[0]
    )
    quantized = quantize(module, (torch.randn(2, 32),), "8da4w")
    assert not quantized.unquantized
    assert module.calls == 0


def test_layers_that_other_functions_compute_stay_floats() -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True).eval()
    quantized = quantize(layer, (torch.randn(2, 5, 32),), "8da4w")
    assert [(one.module, one.reason) for one in quantized.unquantized] == [
        ("self_attn.out_proj", "its weight is read by multi_head_attention_forward too")
    ]
    assert {one.name for one in quantized.layers if one.is_quantized} == {"linear1", "linear2"}


def test_computed_weights_stay_floats() -> None:
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(32, 16))
    quantized = quantize(nn.Sequential(layer), (torch.randn(2, 32),), "8da4w")
    assert [one.reason for one in quantized.unquantized] == ["its weight is computed"]


def test_calibration_data_of_other_sizes() -> None:
    layer = nn.Linear(4, 2)
    with pytest.raises(
        QuantizationError, match=r"Guard failed.*; the sizes are those of the example inputs: pass dyn"
    ):
        quantize(layer, (torch.randn(1, 4),), "int8", calibration=[(torch.randn(3, 4),)])
    batch = torch.export.Dim("batch", max=8)
    quantize(
        layer, (torch.randn(2, 4),), "int8", calibration=[(torch.randn(3, 4),)], dynamic_shapes=({0: batch},)
    )
