"""Quantized networks in integers on et-vm: what their program says of real numbers, in a quarter of the memory.

The reference is the exported graph, interpreted in double precision.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from support.quantized_nets import NETS

from bench.double_precision import in_double_precision
from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from et_ir.driver.managers import ExecutorchProgramManager
from et_ir.quantization import XNNPACKQuantizer, get_symmetric_quantization_config, quantize
from et_vm.runtime import Runtime
from examples.digits import network
from examples.digits.quantized import calibration
from examples.models.mobilenet_v2 import mobilenet_v2

Q: Any = torch.ops.quantized_decomposed
BETWEEN = frozenset(
    {"quantized_decomposed::quantize_per_tensor.out", "quantized_decomposed::dequantize_per_tensor.out"}
)


def lowered(
    program: torch.export.ExportedProgram, level: str = "1", **options: Any
) -> ExecutorchProgramManager:
    edge = to_edge(program, compile_config=EdgeCompileConfig(level=level, **options))
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm", level=level))


def ran(manager: ExecutorchProgramManager, *inputs: Any) -> Any:
    return Runtime.get().load_program(manager.buffer).load_method("forward").execute(list(inputs))[0]


def kernels(manager: ExecutorchProgramManager) -> set[str]:
    return set(re.findall(r'kernel_call "([^"]*)"', str(manager.module)))


def arena(manager: ExecutorchProgramManager) -> int:
    found = re.search(r"arenas = array<i64: ([^>]*)>", str(manager.module))
    assert found is not None
    return sum(map(int, found[1].split(",")))


def exported(module: torch.nn.Module, shape: tuple[int, ...]) -> torch.export.ExportedProgram:
    torch.manual_seed(0)
    data = [(torch.randn(*shape),) for _ in range(4)]
    return torch.export.export(quantize(module, data[0], "int8", calibration=data).module, data[0])


INTEGERS = ("mlp", "image", "residual", "concatenation", "products", "sequence", "views", "twice")
"""Those of `NETS` that compute in integers alone."""


@pytest.mark.parametrize("name", INTEGERS)
def test_small_networks(name: str) -> None:
    make: Callable[[], torch.nn.Module] = NETS[name][0]
    torch.manual_seed(0)
    program = exported(make().eval(), NETS[name][1])
    manager = lowered(program)
    found = kernels(manager)
    moves = {one for one in found if one.startswith("aten::")}
    assert {one for one in found if one.startswith("quantized_decomposed::")} == BETWEEN
    assert moves <= {f"aten::{move}" for move in ("cat.out", "permute_copy.out", "slice_copy.Tensor_out")}
    for seed in range(3):
        x = torch.randn(*NETS[name][1], generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(
            ran(manager, x), in_double_precision(program, x).float(), rtol=1e-6, atol=0
        )


def test_batches_of_any_size() -> None:
    """Sizes known at run time only: the views between are of integers, too."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    torch.manual_seed(0)
    shape = NETS["image"][1][1:]
    data = torch.randn(3, *shape)
    batch = ({0: torch.export.Dim("batch", min=1, max=8)},)
    graph: Any = torch.export.export(NETS["image"][0]().eval(), (data,), dynamic_shapes=batch).module()
    config = get_symmetric_quantization_config(is_per_channel=True)
    prepared = prepare_pt2e(graph, XNNPACKQuantizer().set_global(config))
    prepared(data)
    program = torch.export.export(convert_pt2e(prepared), (data,), dynamic_shapes=batch)
    manager = lowered(program)
    assert kernels(manager) >= {"integer::convolution.out", "integer::linear.out", "integer::mean.dim_out"}
    assert not kernels(manager) & {
        "aten::convolution.out",
        "aten::linear.out",
        "aten::mm.out",
        "aten::mean.out",
    }
    method = Runtime.get().load_program(manager.buffer).load_method("forward")
    for count in (2, 8, 1, 3):
        x = torch.randn(count, *shape)
        torch.testing.assert_close(
            method.execute([x])[0], in_double_precision(program, x).float(), rtol=1e-6, atol=1e-6
        )


def test_what_has_no_integer_form_stays() -> None:
    """Transposed convolutions, and products, softmax and normalization of attention."""
    for name in ("transposed", "attention"):
        torch.manual_seed(0)
        program = exported(NETS[name][0]().eval(), NETS[name][1])
        manager, plain = lowered(program), lowered(program, "0")
        x = torch.randn(*NETS[name][1])
        torch.testing.assert_close(ran(manager, x), ran(plain, x), rtol=0.05, atol=0.05)


def test_mobilenet_v2() -> None:
    """All calls but the first and the last compute in integers, as in double precision, in a quarter of the memory."""
    module, inputs = mobilenet_v2()[:2]
    program = exported(module.eval(), tuple(inputs[0].shape))
    manager = lowered(program)
    assert {one for one in kernels(manager) if not one.startswith("integer::")} == BETWEEN
    x = torch.randn(inputs[0].shape, generator=torch.Generator().manual_seed(5))
    torch.testing.assert_close(ran(manager, x), in_double_precision(program, x).float(), rtol=1e-6, atol=0)
    floats = lowered(torch.export.export(module, inputs))
    assert arena(manager) <= arena(floats) / 3.9


@pytest.fixture(scope="module")
def digits() -> torch.export.ExportedProgram:
    module = network.digits()[0]
    inputs = next(calibration())
    quantized = quantize(module, inputs, "int8", calibration=calibration()).module
    return torch.export.export(quantized, inputs)


def test_digits(digits: torch.export.ExportedProgram) -> None:
    """The predictions of the program in floats, which quantizes and restores around each operator."""
    manager, floats = lowered(digits), lowered(digits, "0")
    assert arena(manager) <= arena(floats) / 2.5
    images = network.dataset().test_images.numpy()
    methods = [Runtime.get().load_program(one.buffer).load_method("forward") for one in (manager, floats)]
    found = [
        np.concatenate([np.array(method.execute([x])[0]) for x in np.split(images, len(images))])
        for method in methods
    ]
    step = np.diff(np.unique(found[1])).min()
    ties = np.partition(found[1], -2, 1)[:, -1] - np.partition(found[1], -2, 1)[:, -2] < 1.5 * step
    assert ((found[0].argmax(1) == found[1].argmax(1)) | ties).all()
    assert np.abs(found[0] - found[1]).max() <= 1.01 * step


def test_integers_at_inputs_and_outputs(digits: torch.export.ExportedProgram) -> None:
    """A caller that quantizes and restores for itself gets what it got from the program that did."""
    inner, outer = lowered(digits, quantized_io=True), lowered(digits)
    assert not kernels(inner) & BETWEEN
    loaded = Runtime.get().load_program(inner.buffer)
    keys = ("scale", "zp", "quant_min", "quant_max", "dtype")
    told = {
        f"{side}{key}": loaded.load_method(f"forward_{side}0_{key}").execute([])[0]
        for side in ("input", "output")
        for key in keys
    }
    assert told["inputdtype"] == told["outputdtype"] == 1
    x = network.dataset().test_images[:1]
    levels = Q.quantize_per_tensor(x, *(told[f"input{key}"] for key in keys[:4]), torch.int8)
    found = loaded.load_method("forward").execute([levels])[0]
    assert found.dtype == torch.int8
    restored = Q.dequantize_per_tensor(found, *(told[f"output{key}"] for key in keys[:4]), torch.int8)
    torch.testing.assert_close(restored, ran(outer, x), rtol=0, atol=0)
