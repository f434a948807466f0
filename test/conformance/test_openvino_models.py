"""Quantized models for OpenVINO, on et-vm and on the stock runtime."""

from __future__ import annotations

from pathlib import Path

import torch
from stock import StockRuntime

from et_backends.openvino.compiler import OpenvinoPartitioner
from et_ir import to_edge_transform_and_lower
from et_ir.quantization import quantize
from et_vm.program import Program
from et_vm.runtime import Runtime
from examples.digits import network
from examples.digits.quantized import calibration


def test_quantized_digits(stock: StockRuntime, tmp_path: Path) -> None:
    """Layers in 8 bits, on both runtimes: within steps of the quantized program in torch."""
    module, inputs = network.digits()[0], next(calibration())
    quantized = quantize(module, inputs, "int8", calibration=calibration()).module
    program = torch.export.export(quantized, inputs)
    path = tmp_path / "model.pte"
    to_edge_transform_and_lower(program, partitioner=OpenvinoPartitioner()).to_executorch().save(path)
    assert [one.name for one in Program.load(path).instructions(0)] == ["OpenvinoBackend"]
    with torch.no_grad():
        expected = program.module()(*inputs)
    loaded = Runtime().load_program(path, allow_native=True, poison=True)
    for (found,) in (
        loaded.load_method("forward").execute(list(inputs)),
        stock.run_in_place(path, inputs, as_data=True)[0],
    ):
        assert (torch.as_tensor(found) - expected).abs().max() <= 0.1 * expected.std()
