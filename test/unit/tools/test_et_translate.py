"""et-translate: valid and invalid files."""

from pathlib import Path

import pytest
from support.command_line import Command

PLAN = """executorch.plan @forward {arenas = array<i64: 32>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %0 = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%0)
  executorch.return %0
}
"""


@pytest.fixture
def file(command: Command) -> bytes:
    Path("plan.mlir").write_text(PLAN)
    assert command("et-translate", "--mlir-to-pte", "plan.mlir", "-o", "plan.pte") == (0, "", "")
    return Path("plan.pte").read_bytes()


def test_there_and_back(command: Command, file: bytes) -> None:
    ran = command("et-translate", "--pte-to-mlir", "plan.pte")
    assert ran.code == 0
    assert "loc(" not in ran.out
    assert command("et-translate", "--pte-to-mlir", stdin=file) == ran
    assert command("et-translate", "--mlir-to-pte", "-o", "again.pte", stdin=ran.out.encode()).code == 0
    assert Path("again.pte").read_bytes() == file
    assert command("et-translate", "--pte-to-mlir", "plan.pte", "-o", "plan2.mlir").code == 0
    assert Path("plan2.mlir").read_text() == ran.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("--pte-to-mlir", "missing.pte"), "No such file or directory"),
        (("--pte-to-mlir", "."), "Is a directory"),
        (("--mlir-to-pte", "."), "Is a directory"),
        (("--pt2-to-mlir", "missing.pt2"), "no such file"),
        (("--pt2-to-mlir", "."), "is a folder"),
        (("--pt2-to-mlir", "-"), "cannot read standard input"),
        (("--pte-to-mlir", "plan.pte", "-o", "no/where.mlir"), "does not exist"),
        (("--pte-to-mlir", "plan.pte", "-o", "."), "is a folder"),
    ],
)
def test_paths_that_lead_nowhere(command: Command, file: bytes, line: tuple[str, ...], message: str) -> None:
    ran = command("et-translate", *line)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_files_cut_at_every_length(command: Command, file: bytes) -> None:
    """Each command says what is wrong with a file that ends too early, and where."""
    Path("out.mlir").write_text("before")
    for length in [*range(0, 80), *range(80, len(file) - 1, 17)]:
        Path("cut.pte").write_bytes(file[:length])
        translated = command("et-translate", "--pte-to-mlir", "cut.pte", "-o", "out.mlir")
        validated = command("et-vm", "validate", "cut.pte")
        assert translated.code == validated.code == 3, length
        assert translated.err.startswith("cut.pte: error: ")
        assert validated.err.startswith("et-vm: error: cut.pte: ")
    assert Path("out.mlir").read_text() == "before"
    assert not Path("out.safetensors").exists()


def test_other_levels_are_not_files(command: Command) -> None:
    ran = command("et-translate", "--mlir-to-pte", "relu.mlir", "-o", "x.pte")
    assert ran.code == 3
    assert "fix: run to-out-variant first" in ran.err
    assert command("et-translate", "--mlir-to-pte", "-o", "x.pte").code == 3
    assert not Path("x.pte").exists()
