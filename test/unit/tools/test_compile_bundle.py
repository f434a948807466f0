"""`et-compile --bundle`: a test case for each method, as torch computes it. Stock's runtime verifies such files in
test/conformance/test_bundled.py.
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from support.command_line import Command

from et_vm.devtools.bundled import BundledProgram

MODELS = """
import torch
from torch import nn


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x, *, scale):
        self.count += 1
        x.mul_(scale)
        return {"x": x + self.count, "n": 3, "half": x.to(torch.bfloat16)}


class Twice(nn.Module):
    def forward(self, x):
        return x * 2


def methods():
    return {
        "forward": (Counting(), ((torch.ones(2),), {"scale": torch.full((2,), 4.0)})),
        "twice": (Twice(), (torch.arange(3.0),)),
        "version": 7,
    }


class Strings(nn.Module):
    def forward(self, x, mode):
        return x + 1


def strings():
    return Strings(), (torch.ones(2), "fast")
"""


@pytest.fixture(autouse=True)
def models(command: Command) -> None:
    Path("models.py").write_text(MODELS)


def test_a_case_for_each_method(command: Command) -> None:
    ran = command("et-compile", "models.py:methods", "--target", "et-vm", "-o", "m.pte", "--bundle", "m.bpte")
    assert ran.code == 0, ran.err
    size = Path("m.bpte").stat().st_size
    assert f"{size} bytes, m.bpte" in ran.err
    bundled = BundledProgram.load("m.bpte")
    assert list(bundled.cases()) == [("forward", 0), ("twice", 0)]
    assert bundled.program.file == Path("m.pte").read_bytes()
    x, scale = bundled.inputs("forward", 0)
    assert (x.tolist(), scale.tolist()) == ([1, 1], [4, 4])  # as it was before the method wrote to it
    y, number, half = bundled.expected("forward", 0)
    assert (y.tolist(), number, half.dtype.name) == ([5, 5], 3, "bfloat16")
    assert command("et-vm", "verify", "m.bpte").out == "2 of 2 test cases passed\n"


def test_of_an_exported_program(command: Command) -> None:
    program = torch.export.export(torch.nn.ReLU(), (torch.tensor([-1.0, 2.0]),))
    torch.export.save(program, "relu.pt2")
    assert command("et-compile", "relu.pt2", "-q", "-o", "relu.pte", "--bundle", "relu.bpte").code == 0
    (value,) = BundledProgram.load("relu.bpte").expected("forward", 0)
    np.testing.assert_array_equal(value, [0, 2])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("models.py:strings", "-o", "m.pte"), 2, "--bundle: InvalidType"),
        (("models.py:methods", "-o", "m.pte", "--emit", "edge"), 2, "--bundle needs a program"),
        (("models.py:methods", "-o", "-"), 2, "--bundle and -o need file names"),
        (("models.py:methods", "-o", "m.bpte"), 2, "--bundle m.bpte is also the input or output file"),
        (("text.mlir", "-o", "m.pte"), 2, "needs example inputs, which text.mlir does not have"),
        (("bare.pt2", "-o", "m.pte"), 2, "--bundle: the method forward has no example inputs"),
    ],
)
def test_what_cannot_be_bundled(
    command: Command, arguments: tuple[str, ...], code: int, message: str
) -> None:
    program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    program.example_inputs = None
    torch.export.save(program, "bare.pt2")
    ran = command("et-compile", *arguments, "-q", "--bundle", "m.bpte")
    assert ran.code == code, ran.err
    assert message in ran.err
    assert not Path("m.bpte").exists()
