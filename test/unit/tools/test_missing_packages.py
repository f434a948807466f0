"""The commands where only `pip install .` has run: the packages of the extra `compiler` are not there."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.command_line import Command

WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
name = sys.argv.pop(1).replace("-", "_")
from importlib import import_module
sys.exit(import_module(f"et_tools.{name}").main())
"""


def without(package: str, *line: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that cannot import a package."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, package, *line], capture_output=True, text=True, check=False
    )


def extra() -> str:
    """The requirement to install, in pip's syntax."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    packages = " ".join(project["optional-dependencies"]["compiler"])
    assert "xdsl>=" in packages
    assert "torch>=" in packages
    return f"pip install '.[compiler]' in the checkout of {project['name']}"


TRACED = """func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.renorm %x {p = 2, dim = 0, maxnorm = 1} : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""


@pytest.mark.parametrize(
    "line",
    [
        ("xdsl", "et-opt", "relu.mlir"),
        ("xdsl", "et-opt", "--list-passes"),
        ("xdsl", "et-translate", "--mlir-to-pte", "relu.mlir", "-o", "x.pte"),
        ("xdsl", "et-compile", "relu.mlir", "-o", "x.pte"),
        ("xdsl", "et-compile", "subjects.py:net", "-o", "x.pte"),
        ("torch", "et-opt", "-p", "decompose-traced", "traced.mlir", "-o", "x.mlir"),
        ("torch", "et-translate", "--pt2-to-mlir", "some.pt2", "-o", "x.mlir"),
        ("torch", "et-compile", "subjects.py:net", "-o", "x.pte"),
        ("torch", "et-compile", "some.pt2", "-o", "x.pte"),
        ("flatbuffers", "et-compile", "relu.mlir", "-o", "x.pte", "-q"),
    ],
    ids=" ".join,
)
def test_the_extra_is_named(line: tuple[str, ...]) -> None:
    Path("traced.mlir").write_text(TRACED)
    Path("some.pt2").write_bytes(b"PK")
    done = without(*line)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        f"{line[1]}: error: the package {line[0]} is not installed; install it with: {extra()}\n"
    )
    assert not list(Path.cwd().glob("x.*"))


def test_help_needs_nothing() -> None:
    for command in ("et-opt", "et-translate", "et-compile", "et-vm"):
        done = without("xdsl", command, "--help")
        assert (done.returncode, done.stderr) == (0, "")


def test_texts_are_compiled_without_torch() -> None:
    done = without("torch", "et-compile", "relu.mlir", "-o", "x.pte", "-q")
    assert (done.returncode, done.stderr) == (0, "")


PLAN = """executorch.plan @forward {arenas = array<i64: 16>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<i64>
  %n = executorch.value 0 : i64
  %sum = executorch.value 0 : i64
  executorch.kernel_call "aten::_local_scalar_dense"(%x) returns(%n)
  executorch.kernel_call "executorch_prim::add.Scalar"(%n, %n) returns(%sum)
  executorch.return %sum
}
"""


def test_files_are_compiled_again_without_torch(command: Command) -> None:
    Path("plan.mlir").write_text(PLAN)
    assert command("et-translate", "--mlir-to-pte", "plan.mlir", "-o", "plan.pte").code == 0
    done = without("torch", "et-compile", "plan.pte", "-o", "x.pte", "-q")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_runtime_needs_none(command: Command) -> None:
    assert command("et-compile", "relu.mlir", "-o", "relu.pte", "-q").code == 0
    for package in ("xdsl", "torch", "flatbuffers"):
        done = without(package, "et-vm", "run", "relu.pte")
        assert (done.returncode, done.stderr) == (0, "")
    for verb in ("run", "validate", "info"):
        done = without("torch", "et-vm", verb, "relu.pte", "--kernels", "aten")
        assert done.returncode == 2
        assert "the aten kernels need the package 'torch', which is not installed; " in done.stderr
        assert extra() in done.stderr
        assert done.stderr.count("\n") == 1
