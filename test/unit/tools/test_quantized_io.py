"""Integers at the inputs and outputs of a program (`--quantized-io`), and why some are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from support.command_line import Command

from et_ir.driver.configs import EdgeCompileConfig
from et_ir.driver.managers import to_edge
from et_ir.quantization import quantize
from et_vm.runtime import Runtime

MODELS = """
import torch
from torch import nn
from torch.nn.functional import pad


class Net(nn.Module):
    def __init__(self, first):
        super().__init__()
        self.first = first
        self.conv = nn.Conv2d(3, 4, 3)
        self.fc = nn.Linear(144, 6)

    def forward(self, image):
        x = self.conv(self.first(image))
        return self.fc(x.flatten(1)).reshape(1, 2, 3)


def made(first):
    torch.manual_seed(0)
    return Net(first).eval(), (torch.rand(1, 8, 8, 3) * 255 - 100,)


def permuted():
    return made(lambda image: image.permute(0, 3, 1, 2))


def scaled():
    return made(lambda image: (image / 255).permute(0, 3, 1, 2))


def padded():
    return made(lambda image: pad(image.permute(0, 3, 1, 2), (1, 1, 1, 1))[:, :, 1:-1, 1:-1])


def sines():
    return made(lambda image: torch.sin(image).permute(0, 3, 1, 2))


def batches():
    torch.manual_seed(1)
    for _ in range(4):
        yield (torch.rand(1, 8, 8, 3) * 255 - 100,)
"""
INT8 = ("--quantize", "int8", "--calibrate", "batches", "--target", "et-vm")


@pytest.fixture(autouse=True)
def models(workplace: Path) -> None:
    (workplace / "nets.py").write_text(MODELS)


@pytest.mark.parametrize("factory", ["permuted", "scaled", "padded"])
def test_moves_and_factors(command: Command, factory: str) -> None:
    """The results for integers are those for the numbers that they stand for."""
    line = ("et-compile", f"nets.py:{factory}", *INT8)
    assert command(*line, "-o", "floats.pte").code == 0
    ran = command(*line, "--quantized-io", "-o", "integers.pte")
    assert ran.code == 0
    assert "warning" not in ran.err
    floats, integers = map(Runtime().load_program, ("floats.pte", "integers.pte"))
    scale, zero_point = (
        integers.load_method(f"forward_input0_{name}").execute([])[0] for name in ("scale", "zp")
    )
    stored = np.random.default_rng(0).integers(-128, 128, (1, 8, 8, 3), dtype=np.int8)
    (found,) = integers.load_method("forward").execute([torch.from_numpy(stored)])
    real = ((stored.astype(np.float64) - zero_point) * scale).astype(np.float32)
    (expected,) = floats.load_method("forward").execute([torch.from_numpy(real)])
    scale, zero_point = (
        integers.load_method(f"forward_output0_{name}").execute([])[0] for name in ("scale", "zp")
    )
    assert np.asarray(found).dtype == np.int8
    # A factor is rounded once more where the numbers are real.
    steps = np.asarray(expected) / scale + zero_point - np.asarray(found)
    assert np.abs(steps).max() < (1.01 if factory == "scaled" else 0.01)


def test_reasons(command: Command) -> None:
    line = ("et-compile", "nets.py:sines", *INT8, "--quantized-io", "-o", "net.pte")
    ran = command(*line)
    assert ran.code == 0
    text = "warning: input \"image\" of @forward: stays in floats, in which 'edge.sin' reads it\n"
    place = next(n for n, text in enumerate(MODELS.splitlines(), 1) if "self.first(image)" in text)
    assert f"nets.py:{place}: {text}" in ran.err
    assert "fix: leave that operator to the caller" in ran.err
    assert "output 0" not in ran.err
    assert "warning" not in command(*line, "-q").err


def test_reasons_without_quantization(command: Command) -> None:
    ran = command("et-compile", "nets.py:permuted", "--quantized-io", "-o", "net.pte")
    assert ran.code == 0
    assert "input \"image\" of @forward: stays in floats, in which 'edge.convolution' reads it" in ran.err
    assert "output 0 of @forward: stays in floats, in which 'edge." in ran.err


def test_warnings_of_the_python_interface() -> None:
    class Sines(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = torch.nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.fc(torch.sin(x))

    inputs = (torch.randn(2, 4),)
    module = quantize(Sines().eval(), inputs, "int8", calibration=[inputs]).module
    with pytest.warns(
        UserWarning, match="input \"x\" of @forward: stays in floats, in which 'edge.sin' reads it"
    ):
        to_edge(torch.export.export(module, inputs), compile_config=EdgeCompileConfig(quantized_io=True))
