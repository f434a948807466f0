"""Files written once stay readable, and what we write for the same program stays the same bytes.

`et12.pte` is ours, from the program in `conftest.py`, as written before flatbuffers' own builder did;
`et12-builder.pte` is the same since. `stock-1.4.1.pte` was written by ExecuTorch 1.4.1
from a linear layer with a mutable counter.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from et_schema.program import DataSegment, KernelCall, Program, SubsegmentOffsets, Tensor
from et_schema.pte import read_pte, serialize_pte
from et_schema.scalar_type import ScalarType

FROZEN = Path(__file__).parent / "frozen"


def test_our_bytes_do_not_change(program: tuple[Program, list[list[bytes]]]) -> None:
    assert serialize_pte(*program) == (FROZEN / "et12-builder.pte").read_bytes()


@pytest.mark.parametrize("name", ["et12", "et12-builder"])
def test_our_file_reads_as_what_was_written(name: str, program: tuple[Program, list[list[bytes]]]) -> None:
    file = read_pte((FROZEN / f"{name}.pte").read_bytes())
    assert file.program == replace(program[0], segments=[DataSegment(0, 48), DataSegment(128, 8)])


def test_stock_file() -> None:
    file = read_pte((FROZEN / "stock-1.4.1.pte").read_bytes())
    (plan,) = file.program.execution_plan
    assert plan.name == "forward"
    assert plan.non_const_buffer_sizes == [0, 144]
    assert len(plan.values) == 25
    assert [f"{op.name}.{op.overload}" for op in plan.operators] == [
        "dim_order_ops::_to_dim_order_copy.out",
        "aten::add.out",
        "aten::permute_copy.out",
        "aten::addmm.out",
        "aten::relu.out",
        "aten::sum.IntList_out",
        "aten::copy_.",
    ]
    call = plan.chains[0].instructions[0].instr_args
    assert isinstance(call, KernelCall)
    assert (call.op_index, call.args) == (0, [3, 6, 7, 5, 5])
    weight = plan.values[0].val
    assert isinstance(weight, Tensor)
    assert (weight.scalar_type, weight.sizes, weight.dim_order) == (ScalarType.FLOAT, [3, 4], b"\x00\x01")
    weights = file.constant(weight.data_buffer_idx, 48)
    assert weights.cast("f").tolist() == [n / 8 for n in range(12)]
    assert isinstance(file.program.constant_segment, SubsegmentOffsets)
