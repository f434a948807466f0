"""The option --load of the compiler's commands: operators of one's own, and their kernels."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from support.command_line import Command

OPERATORS = """
import torch

print("defined")
library = torch.library.Library("loaded", "DEF")
library.define("scale(Tensor x, float by) -> Tensor")
library.define("scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)")
library.impl("scale", torch.mul, "CPU")
library._register_fake("scale", lambda x, by: torch.empty_like(x))


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.ops.loaded.scale(x, 2.0) + 1


def net():
    return Net(), (torch.ones(3),)
"""

KERNELS = """
import numpy as np
from et_vm import kernel

@kernel("loaded::scale.out")
def scale_out(x: np.ndarray, by: float, *, out: np.ndarray) -> None:
    np.multiply(x, by, out=out)
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path):
    (tmp_path / "own_operators.py").write_text(OPERATORS)
    (tmp_path / "own_vm_kernels.py").write_text(KERNELS)
    yield
    forget()
    sys.modules.pop("own_vm_kernels", None)


def forget() -> None:
    """Make torch's registry what it was."""
    module = sys.modules.pop("own_operators", None)
    if module is not None:
        module.library._destroy()


@pytest.fixture
def saved(command: Command) -> str:
    """A saved program with an operator that nothing has defined any more."""
    import own_operators

    torch.export.save(torch.export.export(own_operators.Net(), (torch.ones(3),)), "own.pt2")
    forget()
    return "own.pt2"


@pytest.fixture(autouse=True)
def importable(files: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_saved_program_needs_the_definitions(command: Command, saved: str):
    ran = command("et-compile", "-q", saved, "--emit", "edge")
    assert ran.code == 3
    assert "own.pt2 calls loaded::scale, which are not registered: --load the file or module" in ran.err
    ran = command("et-compile", "-q", saved, "--emit", "edge", "--load", "own_operators.py")
    assert (ran.code, ran.err) == (0, "defined\n")
    assert "edge.loaded.scale %x {by = 2.0}" in ran.out


def test_translating_one(command: Command, saved: str):
    assert command("et-translate", "--pt2-to-mlir", saved).code == 3
    ran = command("et-translate", "--pt2-to-mlir", saved, "--load", "own_operators.py")
    assert ran.code == 0
    assert "aten.loaded.scale" in ran.out
    assert command("et-translate", "--pte-to-mlir", "x.pte", "--load", "own_operators.py").code == 2


def test_kernels_that_are_loaded_are_kernels_of_the_vm(command: Command):
    line = ("et-compile", "-q", "own_operators.py:net", "-o", "net.pte")
    assert command(*line, "--target", "et-vm").code == 4
    assert command(*line, "--target", "et-vm", "--load", "own_vm_kernels.py").code == 0
    ran = command("et-vm", "run", "net.pte", "--load", "own_vm_kernels.py", "--input", "ones")
    assert "min 3  mean 3  max 3" in ran.out
    # The stock runtime has no kernels in Python.
    assert command(*line, "--load", "own_vm_kernels.py").code == 4
    assert command(*line, "--extra-operators", "loaded::scale.out,loaded::other.out").code == 0


def test_definitions_that_are_loaded_are_kernels_of_torch(command: Command):
    line = ("et-compile", "-q", "own_operators.py:net", "-o", "net.pte", "--target", "et-vm-aten")
    ran = command(*line)
    assert ran.code == 4
    assert "for which et-vm has no kernel" in ran.err
    assert command(*line, "--load", "own_operators.py").code == 0
    run = ("et-vm", "run", "net.pte", "--kernels", "aten", "--load", "own_operators.py", "--input", "ones")
    assert "min 3  mean 3  max 3" in command(*run).out


def test_a_text_at_the_last_level(command: Command):
    line = ("et-compile", "-q", "own_operators.py:net", "-o", "net.mlir", "--emit", "executorch")
    assert command(*line, "--extra-operators", "loaded::scale.out").code == 0
    assert command("et-compile", "-q", "net.mlir", "-o", "net.pte").code == 4
    assert (
        command(
            "et-compile", "-q", "net.mlir", "-o", "net.pte", "--extra-operators", "loaded::scale.out"
        ).code
        == 0
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--extra-operators", "scale"), "--extra-operators scale: expected operator names such as"),
        (("--load", "none.py"), "--load none.py: no such file"),
        (("--preserve", "loaded::skale"), "--preserve: unknown operator loaded::skale"),
    ],
)
def test_what_is_not_there(command: Command, options: tuple[str, str], message: str):
    ran = command("et-compile", "-q", "own_operators.py:net", "-o", "net.pte", *options)
    assert ran.code == 2
    assert message in ran.err
