"""Loading maps: what a file's constants cost is what is read of them, not their size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest
from support.vm_programs import Build

from et_schema.program import SubsegmentOffsets
from et_schema.pte import write_pte
from et_schema.reader import LEAST_COLUMN
from et_schema.scalar_type import ScalarType
from et_schema.segments import Padding, Segment
from et_vm.program import Program
from et_vm.verify import plan

MEASURE = """
import resource, sys
from et_vm.program import Program

def load(path):
    Program.load(path).load_method("forward")

load(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF)
load(sys.argv[2])
after = resource.getrusage(resource.RUSAGE_SELF)
# Pages that are read, whether from the disk or from the system's cache, are faults.
faults = after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt
print(faults, (after.ru_maxrss - before.ru_maxrss) * 1024)
"""


class Sparse:
    """A sparse file: its zeros take no space on the disk."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, data: bytes | bytearray | memoryview, /) -> None:
        if bytes(data).strip(b"\0"):
            self._file.write(data)
        else:
            self._file.seek(len(data), 1)
            self._file.truncate(self._file.tell())


def write_program(path: Path, rows: int) -> Path:
    """A program that looks rows of 1024 floats up in a constant of so many."""
    build = Build()
    index, out = build.tensor(1, dtype=ScalarType.LONG), build.tensor(1, 1024)
    weight = build.tensor(rows, 1024, planned=False, data=1, name="weight")
    build.call("aten::index_select.out", weight, build.scalar(0), index, out, out)
    build.inputs(index)
    build.outputs(out)
    program = build.program()
    program.constant_segment = SubsegmentOffsets(0, [0, 0])
    program.mutable_data_segments = []
    with path.open("wb") as file:
        write_pte(program, [Segment([Padding(max(rows * 4096, 16))])], Sparse(file))
    return path


def test_two_gigabytes_of_constants(tmp_path: Path) -> None:
    small = write_program(tmp_path / "small.pte", 0)
    large = write_program(tmp_path / "large.pte", 1 << 19)
    assert large.stat().st_size > 2 << 30
    assert large.stat().st_blocks * 512 < 1 << 20
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(small), str(large)], capture_output=True, text=True, check=True
    )
    faults, nbytes = map(int, done.stdout.split())
    assert faults <= 1_000
    assert nbytes <= 32 << 20


def test_usual_tensors_are_checked_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any rank, all with a few operations on arrays; one by one what is left is looked at."""
    looked_at: list[Any] = []

    def counted(table: Any, *arguments: Any) -> bool:
        looked_at.append(table)
        return verify_tensor(table, *arguments)

    verify_tensor = plan.verify_tensor
    monkeypatch.setattr(plan, "verify_tensor", counted)
    build = Build()
    # As many as are read as columns.
    tensors = [build.tensor(*range(2, 2 + rank)) for rank in range(5) for _ in range(LEAST_COLUMN)]
    build.outputs(*tensors)
    Program.load(build.file()).load_method("forward")
    assert not looked_at
    build.tensor(2, 3, planned=False)
    table = build.plan.values[build.tensor(2, 3)].val
    table.dim_order = [1, 0]
    Program.load(build.file()).load_method("forward")
    assert [list(one.dim_order) for one in looked_at] == [[1, 0]]
