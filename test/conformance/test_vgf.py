"""VGF files on et-vm, by Arm's scenario runner on a Vulkan device with Arm's emulation layers; eager and TOSA."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import torch
from example_models import FACTORIES, build
from support.quantized_nets import made as quantized_net
from support.random_quantized import random_program
from support.vulkan_device import require_device
from tosa_programs import CASES

from et_backends.tosa.compiler import TOSAPartitioner
from et_backends.vgf.compiler import VgfPartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.delegation.partitioner import Partitioner
from et_ir.driver.managers import EdgeProgramManager
from et_ir.quantization import quantize
from et_vm.runtime import Runtime

TOLERANCE = 1e-4
"""Absolute and relative difference of floats, which are summed up in different orders."""

PACKAGES = ("model_converter", "scenario_runner", "emulation_layer")

pytestmark = pytest.mark.skipif(
    None in map(find_spec, PACKAGES) and "CI" not in os.environ,
    reason="needs the converter, the scenario runner and the emulation layers, the extra 'vgf'",
)


@pytest.fixture(autouse=True)
def _on_a_device() -> None:
    require_device()


def results(program: torch.export.ExportedProgram, partitioner: Partitioner, inputs: Any) -> list[Any]:
    """What a program with partitions computes, twice in one method."""
    edge = to_edge_transform_and_lower(program, partitioner=partitioner)
    assert any(op.name == "backend.call" for op in edge.module.walk())
    config = ExecutorchBackendConfig(target="et-vm", extra_backends=["VgfBackend"])
    file = edge.to_executorch(config).buffer
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    first = [np.asarray(one).copy() for one in method.execute(list(inputs))]
    for again, before in zip(method.execute(list(inputs)), first, strict=True):
        np.testing.assert_array_equal(again, before)
    return first


@pytest.mark.sweep
@pytest.mark.parametrize("name", CASES)
def test_operators(name: str) -> None:
    module, inputs = CASES[name]()
    with torch.no_grad():
        expected = module(*inputs)
    expected = [expected] if isinstance(expected, torch.Tensor) else expected
    made = results(torch.export.export(module, inputs), VgfPartitioner(), inputs)
    for got, wanted in zip(made, expected, strict=True):
        np.testing.assert_allclose(got, wanted.numpy(), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", ["concatenation", "image", "mlp", "residual", "views"])
def test_integers(name: str) -> None:
    """Networks of 8 bits have the bits of their TOSA on et-vm."""
    module, inputs = quantized_net(name)
    program = torch.export.export(quantize(module, inputs, "int8", calibration=[inputs]).module, inputs)
    tosa, vgf = (
        results(program, partitioner, inputs) for partitioner in (TOSAPartitioner(), VgfPartitioner())
    )
    for got, wanted in zip(vgf, tosa, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(6))
def test_random_integers(seed: int) -> None:
    """Random quantized programs have the bits of their TOSA on et-vm, as far as they are integers."""
    found: list[list[Any]] = []
    for partitioner in (TOSAPartitioner(), VgfPartitioner()):
        program = random_program(seed)
        edge = EdgeProgramManager(program.module).to_backend(partitioner)
        config = ExecutorchBackendConfig(target="et-vm", extra_backends=["VgfBackend"])
        file = edge.to_executorch(config).buffer
        method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
        found.append([np.asarray(one).copy() for one in method.execute(program.inputs)])
    for got, wanted in zip(*found, strict=True):
        np.testing.assert_array_equal(got, wanted)


def check_model(name: str) -> None:
    model = build(name)
    for got, wanted in zip(
        results(model.program, VgfPartitioner(), model.inputs), model.expected, strict=True
    ):
        assert np.abs(got - wanted.numpy()).max() <= 1e-3 * float(wanted.std())


def test_digits() -> None:
    check_model("digits")


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FACTORIES if name != "digits"])
def test_example_models(name: str) -> None:
    check_model(name)
