"""The quantizer beside that of ExecuTorch, and what it says of operators in floats."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch
from support.quantized_nets import NETS as ALL
from support.quantized_nets import Net, made
from torch import nn
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.quantization.pt2e.quantizer import ComposableQuantizer, Quantizer

from et_ir.quantization import XNNPACKQuantizer, get_symmetric_quantization_config

CONFIGS: dict[str, dict[str, bool]] = {
    "per tensor": {},
    "per channel": {"is_per_channel": True},
    "dynamic": {"is_per_channel": True, "is_dynamic": True},
    "training": {"is_per_channel": True, "is_qat": True},
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Without what torchao says of itself."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(action="ignore"):
        yield
    logging.disable(logging.NOTSET)


def converted(
    quantizer: Quantizer, module: nn.Module, inputs: tuple[Any, ...], *, qat: bool = False
) -> GraphModule:
    torch.manual_seed(0)
    exported = torch.export.export(copy.deepcopy(module), inputs)
    return converted_export(quantizer, exported, inputs, qat=qat)


def converted_export(
    quantizer: Quantizer, exported: ExportedProgram, inputs: tuple[Any, ...], *, qat: bool
) -> GraphModule:
    prepared = (prepare_qat_pt2e if qat else prepare_pt2e)(copy.deepcopy(exported).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def text(module: GraphModule) -> list[tuple[str, tuple[str, ...]]]:
    """The calls of a graph, with the numbers that quantization is by."""
    return [
        (str(node.target), tuple(str(arg) for arg in node.args if not isinstance(arg, Node)))
        for node in module.graph.nodes
        if node.op == "call_function"
    ]


@cache
def exported(name: str, *, training: bool) -> tuple[ExportedProgram, tuple[Any, ...]]:
    torch.manual_seed(0)
    module, inputs = made(name, training=training)
    return torch.export.export(module, inputs), inputs


@pytest.mark.sweep
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("name", ALL)
def test_graphs_equal_those_of_executorch(name: str, config: str) -> None:
    from executorch.backends.xnnpack.quantizer import xnnpack_quantizer as stock

    qat = config == "training"
    program, inputs = exported(name, training=qat)
    theirs = stock.XNNPACKQuantizer()
    theirs.set_global(stock.get_symmetric_quantization_config(**CONFIGS[config]))
    ours = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**CONFIGS[config]))
    found, expected = (
        text(converted_export(quantizer, program, inputs, qat=qat)) for quantizer in (ours, theirs)
    )
    assert found == expected


def names(module: GraphModule) -> list[str]:
    return [str(node.target) for node in module.graph.nodes if node.op == "call_function"]


def test_more_convolutions_are_quantized_at_run_time_than_by_executorch() -> None:
    module, inputs = made("image")
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    quantizer = XNNPACKQuantizer().set_global(config)
    found = names(converted(quantizer, nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU()), inputs))
    assert "quantized_decomposed.choose_qparams.tensor" in found
    converted(quantizer, module, inputs)
    assert [str(one.reason) for one in quantizer.unquantized] == [
        "dynamic quantization is of convolutions of one group"
    ]


@pytest.mark.parametrize(
    ("kept", "count"),
    [("name", 1), ("inner name", 1), ("type", 0), ("operator", 0), ("packet", 0), ("filter", 1)],
)
def test_narrower_configurations(kept: str, count: int) -> None:
    module = nn.Sequential(nn.Sequential(nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, 4))
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
    match kept:
        case "name":
            quantizer.set_module_name("0", None)
        case "inner name":
            quantizer.set_module_name("0.0", None)
        case "type":
            quantizer.set_module_type(nn.Linear, None)
        case "operator":
            quantizer.set_operator_type(torch.ops.aten.linear.default, None)
        case "packet":
            quantizer.set_operator_type(torch.ops.aten.linear, None)
        case _:
            quantizer.set_filter_function(lambda node: node.name != "linear")
    found = names(converted(quantizer, module, (torch.randn(2, 4),)))
    # A weight is restored once for each layer that is quantized, the input and the output too.
    assert found.count("quantized_decomposed.dequantize_per_tensor.default") == 3 * count
    reasons = [one.reason for one in quantizer.unquantized if one.operator == "aten.linear.default"]
    assert reasons == ["left in floats by configuration"] * (2 - count)


def test_operators_in_floats_are_named_with_their_place() -> None:
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
    net = Net(lambda m, x: torch.sigmoid(m[0](x)), nn.Linear(4, 4))
    converted(quantizer, net, (torch.randn(2, 4),))
    (left,) = quantizer.unquantized
    assert (left.operator, left.reason) == ("aten.sigmoid.default", "no quantized kernel")
    assert "quantized_nets.py:" in left.place
    assert str(left).endswith(": aten.sigmoid.default: no quantized kernel")


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize(
    ("layer", "operator"),
    [
        (nn.LSTM(4, 4), "aten.lstm.input"),
        (nn.GRU(4, 4), "aten.gru.input"),
        (nn.RNN(4, 4), "aten.rnn_tanh.input"),
        (nn.LSTMCell(4, 4), "aten.lstm_cell.default"),
        (nn.Conv1d(4, 4, 3, padding="same"), "aten.conv1d.padding"),
    ],
    ids=["lstm", "gru", "rnn", "lstm cell", "convolution"],
)
def test_layers_in_floats_are_named(layer: nn.Module, operator: str, is_dynamic: bool) -> None:
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
    quantizer = XNNPACKQuantizer().set_global(config)
    converted(quantizer, Net(lambda m, x: m[0](x), layer), (torch.randn(4, 4),))
    assert [(one.operator, one.reason) for one in quantizer.unquantized if one.module] == [
        (operator, "no quantized kernel")
    ]


def test_composition_with_another_quantizer() -> None:
    dynamic = XNNPACKQuantizer().set_module_name(
        "0", get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    )
    static = XNNPACKQuantizer().set_module_name("2", get_symmetric_quantization_config())
    module = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    found = names(converted(ComposableQuantizer([dynamic, static]), module, (torch.randn(2, 4),)))
    assert found.count("quantized_decomposed.choose_qparams.tensor") == 1
    assert found.count("quantized_decomposed.quantize_per_tensor.default") == 2


def test_matrix_products_on_request() -> None:
    net = Net(lambda m, x: x @ x.mT)
    config = get_symmetric_quantization_config()
    for wanted in (False, True):
        quantizer = XNNPACKQuantizer(matrix_products=wanted).set_global(config)
        found = names(converted(quantizer, net, (torch.randn(2, 4, 4),)))
        assert ("quantized_decomposed.quantize_per_tensor.default" in found) == wanted
