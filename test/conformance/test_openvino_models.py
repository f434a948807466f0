"""Example models as models for OpenVINO, on et-vm and on the stock runtime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from example_models import Model

from et_backends.openvino.compiler import OpenvinoPartitioner
from et_ir import to_edge_transform_and_lower
from et_ir.quantization import quantize
from et_vm.program import Program
from et_vm.runtime import Runtime
from examples.digits import network
from examples.digits.quantized import calibration

ACCURACY = 1e-4
"""Of an output, its largest error to its standard deviation."""
ON_STOCK = 0.1
"""The same on the stock runtime: it cannot tell OpenVINO to keep to f32 on CPUs with bfloat16, and some
of the marks by which nodes keep to it get lost when OpenVINO fuses them.
"""


SCRIPT = """
import sys
import torch
from executorch.runtime import Runtime
# From a path, the runtime frees blobs when models have been imported, and OpenVINO 2026 goes on to read weights there.
# executorch's extra asks for an earlier one.
data = open(sys.argv[1], "rb").read()
program = Runtime.get().load_program(data)
method = program.load_method("forward")
torch.save([one.clone() for one in method.execute(torch.load(sys.argv[2]))], sys.argv[3])
"""


@pytest.fixture(scope="module")
def file(model: Model) -> bytes:
    edge = to_edge_transform_and_lower(model.program, partitioner=OpenvinoPartitioner())
    assert any(op.name == "backend.call" for op in edge.module.walk())
    return edge.to_executorch().buffer


def test_on_the_vm(model: Model, file: bytes) -> None:
    program = Runtime(threads=2).load_program(file, allow_native=True, poison=True)
    _check(model, program.load_method("forward").execute(model.inputs), ACCURACY)


def test_on_the_stock_runtime(model: Model, file: bytes, tmp_path: Path) -> None:
    _check(model, on_stock(file, model.inputs, tmp_path), ON_STOCK)


def on_stock(file: bytes, inputs: list[Any], folder: Path) -> list[Any]:
    """The outputs of a file on the stock runtime, in a process of its own."""
    paths = [folder / name for name in ("model.pte", "inputs.pt", "outputs.pt")]
    paths[0].write_bytes(file)
    torch.save(inputs, paths[1])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, paths)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return torch.load(paths[2])


def _check(model: Model, found: list[object], accuracy: float) -> None:
    for got, wanted in zip(found, model.expected, strict=True):
        assert (torch.as_tensor(got) - wanted).abs().max() <= accuracy * wanted.std()


def test_quantized_digits(tmp_path: Path) -> None:
    """Layers in 8 bits, on both runtimes: within steps of the quantized program in torch."""
    module, inputs = network.digits()[0], next(calibration())
    quantized = quantize(module, inputs, "int8", calibration=calibration()).module
    program = torch.export.export(quantized, inputs)
    edge = to_edge_transform_and_lower(program, partitioner=OpenvinoPartitioner())
    file = edge.to_executorch().buffer
    assert [one.name for one in Program.load(file).instructions(0)] == ["OpenvinoBackend"]
    with torch.no_grad():
        expected = program.module()(*inputs)
    loaded = Runtime().load_program(file, allow_native=True, poison=True)
    for (found,) in (
        loaded.load_method("forward").execute(list(inputs)),
        on_stock(file, list(inputs), tmp_path),
    ):
        assert (torch.as_tensor(found) - expected).abs().max() <= 0.1 * expected.std()
