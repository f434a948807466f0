"""Alignments recovered from the placement of data."""

from __future__ import annotations

import pytest

from et_ir.emit.alignment import Alignments, recover_alignments
from et_schema.program import ExecutionPlan, Program, SubsegmentOffsets
from et_schema.pte import read_pte, serialize_pte
from et_schema.segments import Segment


def file(tensor: int, segment: int, own: list[int], sizes: list[int]) -> bytes:
    """A file of one segment of two constants and more segments, of which each has an alignment of its own."""
    segments = [Segment([b"x" * size], alignment) for size, alignment in zip(sizes, own, strict=True)]
    program = Program(
        execution_plan=[ExecutionPlan(name="forward")], constant_segment=SubsegmentOffsets(0, [0, 0, tensor])
    )
    return serialize_pte(program, segments, segment_alignment=segment)


@pytest.mark.parametrize("tensor", [16, 64, 4096])
@pytest.mark.parametrize("segment", [128, 4096])
@pytest.mark.parametrize("own", [[1, 1, 1], [1, 256, 1], [1, 8192, 16384]])
def test_what_is_found_gives_the_same_file(tensor: int, segment: int, own: list[int]) -> None:
    sizes = [tensor + 8, 40, 24]
    data = file(tensor, segment, own, sizes)
    found = recover_alignments(read_pte(data), {1: 8, 2: 8})
    assert found.tensor == tensor
    assert file(found.tensor, found.segment, list(found.own), sizes) == data


def test_a_layout_that_nothing_explains_gets_the_defaults() -> None:
    read = read_pte(file(16, 128, [1, 1, 1], [24, 40, 24]))
    read.program.segments[1].offset += 1
    assert recover_alignments(read, {1: 64, 2: 8}) == Alignments(16, 128, (1, 1, 1))


def test_no_segments() -> None:
    read = read_pte(serialize_pte(Program(execution_plan=[ExecutionPlan(name="forward")])))
    assert recover_alignments(read, {}) == Alignments(16, 128, ())
