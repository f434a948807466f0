"""Quantized networks as objects: the results of et-vm, in little memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import freestanding_machines as machines
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from et_backends.freestanding.compiler.programs import (
    FreestandingObject,
    compile_freestanding,
    compile_program,
)
from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_backends.freestanding.compiler.whole_program import UnsupportedProgram, WholeProgramPartitioner
from et_ir.driver.configs import EdgeCompileConfig, ExecutorchBackendConfig
from et_ir.driver.kept import KeptOperators
from et_ir.driver.managers import to_edge
from et_ir.quantization import quantize
from et_vm.runtime import Runtime
from examples.digits.network import DigitsNet


def images(count: int) -> Iterator[tuple[Tensor]]:
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        yield (torch.rand(1, 1, 8, 8, generator=generator),)


class Mixed(nn.Module):
    """Channels that are no multiple of four or of a panel, a depthwise convolution, an average and a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 7, 3, stride=2, padding=1)
        self.each = nn.Conv2d(7, 7, 3, padding=1, groups=7)
        self.point = nn.Conv2d(7, 7, 1)
        self.last = nn.Linear(7, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x))
        x = x + self.point(torch.relu(self.each(x)))
        return self.last(x.mean((2, 3)))


class Signals(nn.Module):
    """Rows of an image as signals: strides, dilation, each channel by itself, a point, and one channel."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(8, 7, 3, stride=2, padding=1)
        self.apart = nn.Conv1d(7, 7, 3, padding=2, dilation=2)
        self.each = nn.Conv1d(7, 7, 3, padding=1, groups=7)
        self.point = nn.Conv1d(7, 1, 1)
        self.one = nn.Conv1d(1, 5, 3, padding=1)
        self.last = nn.Linear(20, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x.squeeze(1)))
        x = torch.relu(self.apart(x))
        x = torch.relu(self.one(self.point(torch.relu(self.each(x)))))
        return self.last(x.flatten(1))


def quantized(module: nn.Module) -> ExportedProgram:
    (x,) = next(images(1))
    made = quantize(module.eval(), (x,), "int8", calibration=images(16))
    return torch.export.export(made.module, (x,))


@pytest.fixture(scope="module", params=[DigitsNet, Mixed, Signals])
def program(request: pytest.FixtureRequest) -> ExportedProgram:
    torch.manual_seed(0)
    return quantized(request.param())


def results_of_et_vm(program: ExportedProgram, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Images, and what et-vm computes of them."""
    file = to_edge(program).to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file).load_method("forward")
    for (x,) in images(count):
        yield x.numpy(), np.array(method.execute([x.numpy()])[0])


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4", "riscv32imac", "riscv64gc"])
def test_results_of_et_vm(program: ExportedProgram, target: str, tmp_path: Path):
    """To the bit."""
    made = compile_program(program, target, "net")
    for x, expected in results_of_et_vm(program, 2):
        found = machines.run(target, tmp_path, made, [x])
        assert found.status == 0
        assert found.stack <= made.stack_bytes
        np.testing.assert_array_equal(found.outputs[0], expected)


@pytest.mark.parametrize("target", machines.EMULATED)
def test_vectors(program: ExportedProgram, target: str, tmp_path: Path):
    """To the bit."""
    made = compile_program(program, target, "net")
    for x, expected in results_of_et_vm(program, 1):
        found = machines.run(target, tmp_path, made, [x])
        assert found.stack <= made.stack_bytes
        np.testing.assert_array_equal(found.outputs[0], expected)


@pytest.mark.parametrize("target", ["cortex-m4", "wasm32"])
def test_integers_in_and_out(target: str, tmp_path: Path):
    """Inputs and outputs as a sensor and a microcontroller have them; the header says what they stand for."""
    torch.manual_seed(0)
    program = quantized(DigitsNet())
    edge = to_edge(program, compile_config=EdgeCompileConfig(quantized_io=True))
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    loaded = Runtime().load_program(file)
    kept = KeptOperators.of(WholeProgramPartitioner())
    config = EdgeCompileConfig(quantized_io=True, preserve_ops=tuple(kept.names))
    module = to_edge(program, compile_config=config).module
    made = compile_freestanding(module, FREESTANDING_TARGETS[target], "digits", kept)
    x = np.random.default_rng(0).integers(-128, 128, (1, 1, 8, 8), np.int8)
    found = machines.run(target, tmp_path, made, [x])
    np.testing.assert_array_equal(found.outputs[0], np.array(loaded.load_method("forward").execute([x])[0]))
    assert [one.function for one in made.methods] == ["digits_forward"]
    assert "  const int8_t *image; /* 1 × 1 × 8 × 8 */" in made.header
    defined = dict(re.findall(r"#define DIGITS_FORWARD_(\w+) (\S+)", made.header))
    assert len(defined) == 10
    for name in ("input0_scale", "input0_zp", "output0_scale", "output0_zp"):
        (number,) = loaded.load_method(f"forward_{name}").execute([])
        assert float(defined[name.upper()].strip("()")) == number


def test_integer_instructions():
    """Products of bytes are by Helium's and RISC-V's vectors."""
    torch.manual_seed(0)
    program = quantized(Mixed())
    assert "vmul.i32" in compile_program(program, "cortex-m55", "net").assembly
    assert "vmacc.v" in compile_program(program, "riscv64gcv", "net").assembly


class Bordered(nn.Module):
    """A depthwise convolution of integers whose bordered image has rows of an odd number of bytes, and a residual."""

    weights: Tensor
    limits = (-128, 127, torch.int8)

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weights", torch.arange(-13, 14, dtype=torch.int8).reshape(3, 1, 3, 3))

    def forward(self, x: Tensor) -> Tensor:
        ops = torch.ops.quantized_decomposed
        stored = ops.quantize_per_tensor(x, 0.5, 3, *self.limits)
        real = ops.dequantize_per_tensor(stored, 0.5, 3, *self.limits)
        weights = ops.dequantize_per_tensor(self.weights, 0.125, 0, -127, 127, torch.int8)
        made = nn.functional.conv2d(real, weights, padding=1, groups=3)
        stored = ops.quantize_per_tensor(made, 0.5, 3, *self.limits)
        return ops.dequantize_per_tensor(stored, 0.5, 3, *self.limits) + real


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4", "riscv32imac", "wasm32"])
def test_borders_of_odd_rows(target: str, tmp_path: Path):
    """No byte behind the bordered image is written, which has no room to spare: 16 rows of 21 bytes."""
    x = torch.randn(1, 3, 14, 5, generator=torch.Generator().manual_seed(1)) * 8
    made = compile_program(torch.export.export(Bordered().eval(), (x,)), target, "net")
    found = machines.run(target, tmp_path, made, [x.numpy()])
    np.testing.assert_array_equal(found.outputs[0], Bordered()(x).numpy())


class Curves(nn.Module):
    """Elementary functions, a division, a square root and a comparison, in floats."""

    def forward(self, x: Tensor) -> Tensor:
        rows = torch.softmax(x[0, 0] * 8 - 4, -1)
        y = torch.tanh(rows) / torch.sqrt(x[0, 0] + 1) + torch.sigmoid(x[0, 0]).round()
        return torch.where(y > 0.5, torch.floor(y * 3), y.clamp(max=0.25))


@pytest.mark.parametrize("target", ["cortex-m0plus", "riscv32imac"])
@pytest.mark.parametrize("kind", [Curves, Mixed])
def test_soft_float(kind: type[nn.Module], target: str, tmp_path: Path):
    """Floats on processors without a unit for them."""
    torch.manual_seed(0)
    (x,) = next(images(1))
    program = torch.export.export(kind().eval(), (x,))
    made = compile_program(program, target, "net")
    for image, expected in results_of_et_vm(program, 1):
        found = machines.run(target, tmp_path, made, [image])
        assert found.stack <= made.stack_bytes
        np.testing.assert_allclose(found.outputs[0], expected, rtol=0, atol=1e-5)


class Conversions(nn.Module):
    """Floats to integers of 64 bits, and back."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        whole = (x * 1e7 - 5e6).to(torch.int64)
        return whole, (whole * 1_000_003).to(torch.float32)


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m33", "cortex-m0plus"])
def test_integers_of_64_bits(target: str, tmp_path: Path):
    (x,) = next(images(1))
    program = torch.export.export(Conversions().eval(), (x,))
    found = machines.run(target, tmp_path, compile_program(program, target, "net"), [x.numpy()])
    for one, expected in zip(found.outputs, Conversions()(x), strict=True):
        np.testing.assert_array_equal(one, expected.numpy())


class Sums(nn.Module):
    """Sums of floats that torch computes in float64."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cumsum(x, -1)


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4", "riscv32imac"])
def test_no_unit_for_float64(target: str):
    program = torch.export.export(Sums().eval(), next(images(1)))
    with pytest.raises(
        UnsupportedProgram, match=f"{target} has no unit for float64, which an operator computes in"
    ):
        compile_program(program, target, "net")


def test_memory_of_the_digits_network():
    torch.manual_seed(0)
    made: FreestandingObject = compile_program(quantized(DigitsNet()), "cortex-m4", "digits")
    assert made.code_bytes + made.constant_bytes < 34 << 10
    assert made.interface.arena_bytes + made.stack_bytes < 4 << 10
    assert "smlad" in made.assembly
    assert "smlabb" not in made.assembly


def test_no_products_of_halves_elsewhere():
    torch.manual_seed(0)
    assert "smlad" not in compile_program(quantized(Mixed()), "riscv64gc", "net").assembly


def test_unknown_processor(program: ExportedProgram):
    with pytest.raises(ValueError, match="unknown processor 'z80', expected one of cortex-m0plus"):
        compile_program(program, "z80", "net")
