"""The networks of MLPerf Tiny in integers: their sizes, and the bits of the native backend."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from pathlib import Path

import freestanding_machines as machines
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from et_backends.freestanding.compiler.programs import compile_program
from et_backends.native.compiler.partitioner import NativePartitioner
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.managers import to_edge_transform_and_lower
from et_ir.quantization import quantize
from et_vm.runtime import Runtime
from examples.models import mlperf_tiny
from examples.models.mobilenet_v2 import mobilenet_v2_small

PARAMETERS = {
    mlperf_tiny.keyword_spotting: 23_180,
    mlperf_tiny.anomaly_detection: 265_864,
    mlperf_tiny.image_classification: 77_946,
    mlperf_tiny.visual_wake_words: 213_586,
    mobilenet_v2_small: 1_677_128,
}


@pytest.mark.parametrize("factory", PARAMETERS, ids=lambda one: one.__name__)
def test_parameters(factory: Callable[[], tuple[nn.Module, tuple[Tensor]]]):
    module, inputs = factory()
    assert sum(one.numel() for one in module.parameters()) == PARAMETERS[factory]
    assert module(*inputs).isfinite().all()


def integers(
    factory: Callable[[], tuple[nn.Module, tuple[Tensor]]], data: Callable[[], Iterator[tuple[Tensor]]]
) -> tuple[ExportedProgram, np.ndarray]:
    """A network in integers, and an input."""
    module, inputs = factory()
    made = quantize(module, inputs, "int8", calibration=data()).module
    round_biases(made)
    return torch.export.export(made, inputs), inputs[0].numpy()


def round_biases(module: nn.Module) -> None:
    """Make the biases of a quantized graph multiples of the products of scales that they are added to.

    So code for microcontrollers has them, as integers; the native backend has them as they are.
    """
    assert isinstance(module, torch.fx.GraphModule)
    products = (torch.ops.aten.conv2d, torch.ops.aten.linear)
    rounded = 0
    for node in module.graph.nodes:
        if getattr(node.target, "overloadpacket", None) not in products:
            continue
        x, weight, bias = node.args[:3]
        unit = float(x.args[1]) * module.get_buffer(weight.args[1].target).double()
        values = module.get_parameter(bias.target)
        values.data = (torch.round(values.double() / unit) * unit).float()
        rounded += 1
    assert rounded


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code of the native backend is for x86-64")
@pytest.mark.parametrize(
    ("factory", "data", "flash", "memory"),
    [
        (mlperf_tiny.keyword_spotting, mlperf_tiny.keyword_data, 32_000, 21_000),
        (mlperf_tiny.anomaly_detection, mlperf_tiny.anomaly_data, 280_000, 1_000),
    ],
    ids=["keyword_spotting", "anomaly_detection"],
)
def test_bits_of_the_native_backend(
    factory: Callable[[], tuple[nn.Module, tuple[Tensor]]],
    data: Callable[[], Iterator[tuple[Tensor]]],
    flash: int,
    memory: int,
    tmp_path: Path,
):
    program, x = integers(factory, data)
    made = compile_program(program, "cortex-m4", "net")
    assert made.code_bytes + made.constant_bytes < flash
    assert made.arena_bytes + made.stack_bytes < memory
    partitioner = NativePartitioner(instruction_sets=("x86-64-v3",))
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner])
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, allow_native=True).load_method("forward")
    found = machines.run("cortex-m4", tmp_path, made, [x])
    assert found.stack <= made.stack_bytes
    np.testing.assert_array_equal(found.outputs[0], np.array(method.execute([x])[0]))
