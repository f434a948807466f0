"""`et-vm run` of texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.command_line import RELU, Command


@pytest.mark.parametrize("level", ["aten", "core-aten", "edge", "backend", "executorch"])
def test_each_level(command: Command, level: str) -> None:
    np.save("x.npy", np.linspace(-1, 1, 32, dtype=np.float32).reshape(2, 16))
    assert command("et-compile", "subjects.py:net", "--emit", level, "-o", "net.mlir", "-q").code == 0
    assert command("et-compile", "subjects.py:net", "-o", "net.pte", "-q").code == 0
    for file in ("net.mlir", "net.pte"):
        assert (
            command("et-vm", "run", file, "--input", "x.npy", "--output-dir", Path(file).suffix[1:]).code == 0
        )
    np.testing.assert_allclose(
        np.load("mlir/output_0.npy"), np.load("pte/output_0.npy"), rtol=1e-5, atol=1e-6
    )


EXPORTED = """func.func @forward(%x: tensor<2xf32>, %k: i64 {program.value = 3 : i64}) -> (tensor<2xf32>, i64) {
  %1 = edge.relu %x : tensor<2xf32>
  func.return %1, %k : tensor<2xf32>, i64
}
"""


@pytest.mark.parametrize(
    ("value", "code", "shown"), [("3 : i64", 0, "int 3"), ("2.5 : f32", 3, "error"), ("@x", 3, "error")]
)
def test_values_that_a_program_was_exported_with(command: Command, value: str, code: int, shown: str) -> None:
    Path("edge.mlir").write_text(EXPORTED.replace("3 : i64", value))
    ran = command("et-vm", "run", "edge.mlir", "--input", "ones", "--json" if code else "--wide")
    assert ran.code == code
    assert shown in ran.out + ran.err
    if not code:
        # Before and after each pass, the program gets the same.
        bisected = command("et-bisect", "edge.mlir", "--input", "random")
        assert "no pass makes the results wrong" in bisected.out + bisected.err


def test_json(command: Command) -> None:
    ran = command("et-vm", "run", "relu.mlir", "--input", "ones", "--json")
    assert json.loads(ran.out)["outputs"][0]["values"] == [1, 1, 1, 1]


def test_compiled_delegates(command: Command) -> None:
    arguments = ("--emit", "backend", "--backend", "xnnpack", "-o", "net.mlir", "-q")
    assert command("et-compile", "subjects.py:net", *arguments).code == 0
    ran = command("et-vm", "run", "net.mlir", "--input", "ones")
    assert ran.out.splitlines()[0] == "forward: backend level, reference evaluation"
    assert command("et-compile", "subjects.py:net", "--emit", "edge", "-o", "edge.mlir", "-q").code == 0
    assert (
        command("et-vm", "run", "edge.mlir", "--input", "ones").out.splitlines()[2:]
        == ran.out.splitlines()[2:]
    )


def test_options_of_files(command: Command) -> None:
    ran = command("et-vm", "run", "relu.mlir", "--poison")
    assert (ran.code, "--poison needs instructions" in ran.err) == (2, True)
    ran = command("et-vm", "run", "relu.mlir", "--repeat", "3", "--in-flight", "2")
    assert (ran.code, "--in-flight needs instructions" in ran.err) == (2, True)
    ran = command("et-vm", "run", "net.pte", "--weights", "w.safetensors")
    assert (ran.code, "--weights applies to .mlir input only" in ran.err) == (2, True)


def test_text_that_is_wrong(command: Command) -> None:
    Path("bad.mlir").write_text("func.func @forward() { %1 = aten.nothing }")
    ran = command("et-vm", "run", "bad.mlir")
    assert ran.code == 3
    assert "bad.mlir:1" in ran.err


def test_an_op_that_fails(command: Command) -> None:
    Path(
        "index.mlir"
    ).write_text("""func.func @forward(%x: tensor<4xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  %1 = aten.index_select %x, %i {dim = 0} : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}""")
    ran = command("et-vm", "run", "index.mlir", "--input", "random:3")
    assert ran.code == 5
    assert "index.mlir:2" in ran.err


def test_a_kernel_that_fails(command: Command) -> None:
    """The kernel's error is the cause of the trap, and no exception is a cause of itself."""
    Path("index.mlir").write_text("""executorch.plan @forward {arenas = array<i64: 64>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<2x2xf32>
  %i = executorch.input {memory_id = 1, offset = 16} : tensor<2xi64>
  %0 = executorch.alloc {memory_id = 1, offset = 32} : tensor<2x2xf32>
  %d = executorch.value 0 : i64
  executorch.kernel_call "aten::index_select.out"(%x, %d, %i) outs(%0)
  executorch.return %0
}
""")
    ran = command("et-vm", "run", "index.mlir", "--input", "ones", "--input", "random:3")
    assert ran.code == 5
    assert "expected indices in [0, 2)" in ran.err


@pytest.mark.parametrize("size", ["3037000499x3037000499", "9223372036854775807"])
@pytest.mark.parametrize(
    "line",
    [
        ("et-vm", "run", "large.mlir", "--input", "random"),
        ("et-vm", "run", "large.mlir", "--input", "ones"),
        ("et-bisect", "large.mlir"),
        ("et-compile", "large.mlir", "--check-passes", "-o", "a.pte"),
    ],
    ids=" ".join,
)
def test_inputs_that_cannot_be_addressed(command: Command, size: str, line: tuple[str, ...]) -> None:
    Path("large.mlir").write_text(RELU.replace("4x", f"{size}x"))
    ran = command(*line)
    assert ran.code == 6
    assert "not enough memory: input 0 has the shape [" in ran.err
