"""`et-reduce`."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import Command

PROGRAM = """program.parameter @w : tensor<6x6xf32>
program.buffer mutable @state : tensor<6x6xf32>
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = edge.exp %x : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func @forward(%x: tensor<6x6xf32>, %p: tensor<i1>) -> (tensor<6x6xf32>, tensor<6x6xf32>) {
  %s = program.load @state : tensor<6x6xf32>
  %1 = edge.relu %x : tensor<6x6xf32>
  %2 = edge.mm %1, %s : tensor<6x6xf32>
  %3 = control.cond %p : tensor<i1> -> (tensor<6x6xf32>) {
    %4 = edge.neg %2 : tensor<6x6xf32>
    %5 = edge.sin %4 : tensor<6x6xf32>
    control.yield %5 : tensor<6x6xf32>
  } else {
    control.yield %2 : tensor<6x6xf32>
  }
  %6 = edge.permute_copy %3 {dims = [1, 0]} : tensor<6x6xf32>
  program.store @state, %6 : tensor<6x6xf32>
  func.return %6, %1 : tensor<6x6xf32>, tensor<6x6xf32>
}
"""


@pytest.fixture(autouse=True)
def program(workplace: Path) -> None:
    (workplace / "big.mlir").write_text(PROGRAM.replace("program.parameter @w : tensor<6x6xf32>\n", ""))


@pytest.mark.parametrize("op", ["sin", "mm", "relu", "exp", "permute_copy"])
def test_an_op_stays(command: Command, op: str) -> None:
    ran = command("et-reduce", "big.mlir", "--keep", f"grep -q edge.{op}", "-q")
    assert ran.code == 0
    assert [line.split(" = ")[1].split()[0] for line in ran.out.splitlines() if " = " in line] == [
        f"edge.{op}"
    ]
    assert "6" not in ran.out.replace("f64", "").replace("f32", "")
    assert "@state" not in ran.out
    assert ran.out.count("func.func") == 1


def test_the_result_is_a_program(command: Command) -> None:
    ran = command("et-reduce", "big.mlir", "--keep", "grep -q control.cond", "-o", "small.mlir")
    assert ran.code == 0
    assert "et-reduce: 1 op after" in ran.err
    text = Path("small.mlir").read_text()
    assert "control.cond" in text
    assert command("et-opt", "small.mlir").code == 0
    assert command("et-vm", "run", "small.mlir").code == 0
    again = command("et-reduce", "big.mlir", "--keep", "grep -q control.cond {}", "-q")
    assert again.out == text


def test_regions_go(command: Command) -> None:
    ran = command("et-reduce", "big.mlir", "--keep", "grep -q edge.neg {} && grep -q edge.mm {}", "-q")
    assert "control.cond" not in ran.out


def test_weights(command: Command) -> None:
    assert command("et-compile", "subjects.py:net", "--emit", "edge", "-q", "-o", "net.mlir").code == 0
    assert Path("net.safetensors").exists()
    ran = command("et-reduce", "net.mlir", "--keep", "grep -q program.get {}", "-q", "-o", "small.mlir")
    assert ran.code == 0
    # Sizes shrink, and so the data of constants stands in the text.
    assert not Path("small.safetensors").exists()
    assert Path("small.mlir").read_text().count("program.get") == 1


def test_instructions(command: Command) -> None:
    assert command("et-compile", "subjects.py:net", "--emit", "executorch", "-q", "-o", "net.mlir").code == 0
    ran = command("et-reduce", "net.mlir", "--keep", "grep -q aten::relu.out {}", "-q")
    assert ran.out.count("executorch.kernel_call") == 1


def test_a_command_that_fails(command: Command) -> None:
    ran = command("et-reduce", "big.mlir", "--keep", "false")
    assert (ran.code, ran.out) == (1, "")
    assert "does not hold for the program as it is" in ran.err
    ran = command("et-reduce", "big.mlir", "--keep", "sleep 9", "--timeout", "0.1")
    assert ran.code == 1
    ran = command("et-reduce", "big.mlir", "--keep", "true", "--timeout", "0")
    assert (ran.code, "'0' is not a number of seconds" in ran.err) == (2, True)


def test_programs_that_do_not_end(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of time without `--timeout`, which also ends what the command has started."""
    monkeypatch.setattr("et_tools.et_reduce._MARGIN", 0.1)
    Path("small.mlir").write_text(
        """func.func @forward(%x: tensor<1xf32>) -> tensor<1xf32> {
  %0 = edge.sin %x : tensor<1xf32>
  func.return %0 : tensor<1xf32>
}
"""
    )
    keep = "grep -q edge.sin {} || { sleep 600 & echo $! > started; wait; }"
    ran = command("et-reduce", "small.mlir", "--keep", keep, "-q")
    assert ran.code == 0
    assert "edge.sin" in ran.out
    started = Path("/proc", Path("started").read_text().strip(), "stat")
    # It has ended, whether or not anyone has asked for its status by now.
    assert not started.exists() or started.read_text().rpartition(")")[2].split()[0] == "Z"
