"""The container: header, segments, and what points into them. Codes are the runtime's."""

from __future__ import annotations

import io
import mmap
from dataclasses import replace
from pathlib import Path
from struct import pack_into

import pytest

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.program import (
    BackendDelegate,
    BackendDelegateDataReference,
    Buffer,
    DataLocation,
    DataSegment,
    ExecutionPlan,
    NamedData,
    Program,
    SubsegmentOffsets,
)
from et_schema.pte import ExtendedHeader, open_pte, read_pte, serialize_pte, write_pte
from et_schema.segments import Padding, Segment

Segments = list[list[bytes]]


def test_round_trip(program: tuple[Program, Segments]) -> None:
    tree, segments = program
    data = serialize_pte(tree, segments)
    file = read_pte(data)
    assert file.program == replace(tree, segments=[DataSegment(0, 48), DataSegment(128, 8)])
    assert file.segments == [b"".join(chunks) for chunks in segments]
    assert file.segments[0].obj is data
    assert serialize_pte(file.program, [[segment] for segment in file.segments]) == data


def test_writing_does_not_change_the_program(program: tuple[Program, Segments]) -> None:
    tree, segments = program
    serialize_pte(tree, segments)
    assert tree.segments == []


def test_layout(program: tuple[Program, Segments]) -> None:
    stream = io.BytesIO()
    tree, segments = program
    size = write_pte(tree, [segments[0], Segment(segments[1], 4096)], stream, segment_alignment=256)
    data = stream.getvalue()
    assert size == len(data)
    file = read_pte(data)
    assert file.header is not None
    assert file.header.length == 32
    assert file.header.segment_base_offset % 4096 == 0
    assert file.header.segment_base_offset + file.header.segment_data_size == len(data)
    assert [segment.offset for segment in file.program.segments] == [0, 4096]
    assert file.header.program_size <= file.header.segment_base_offset


def test_without_segment_bytes_there_is_no_header() -> None:
    data = serialize_pte(Program(), [[], [Padding(0)]])
    assert len(data) >= 64
    file = read_pte(data)
    assert file.header is None
    assert file.segments == [b"", b""]


def test_data_by_index(program: tuple[Program, Segments]) -> None:
    file = read_pte(serialize_pte(*program))
    assert file.constant(1, 4) == b"c" * 4
    assert file.mutable_data(0, 1, 20) == b"c" * 20
    assert file.named_data() == {"blob": b"delegate"}
    references = [delegate.processed for delegate in file.program.execution_plan[0].delegates]
    assert [file.delegate_data(item) for item in references if item is not None] == [
        b"inline blob",
        b"delegate",
    ]
    for index, nbytes in ((0, 1), (2, 1), (-1, 1), (1, 33)):
        with pytest.raises(InvalidFile, match="constant_segment"):
            file.constant(index, nbytes)
    with pytest.raises(InvalidFile, match=r"no entry 1 among 1 at mutable_data_segments"):
        file.mutable_data(1, 1, 1)


def test_inline_constants_of_old_files() -> None:
    file = read_pte(serialize_pte(Program(constant_buffer=[Buffer(), Buffer(b"1234")])))
    assert file.constant(1, 3) == b"123"
    with pytest.raises(InvalidFile, match=r"4 bytes, expected 5 at constant_buffer\[1\]\.storage"):
        file.constant(1, 5)
    with pytest.raises(InvalidFile, match="no constant 2 among 2"):
        file.constant(2, 0)


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_sources(program: tuple[Program, Segments], wrap: type[bytes]) -> None:
    assert read_pte(wrap(serialize_pte(*program))).segments[1] == b"delegate"


def test_open_maps_the_file(program: tuple[Program, Segments], tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(serialize_pte(*program))
    file = open_pte(path)
    assert isinstance(file.segments[0].obj, mmap.mmap)
    assert file.segments[1] == b"delegate"


def test_open_errors(tmp_path: Path) -> None:
    with pytest.raises(ExecutorchError, match=r"cannot read .*: No such file") as caught:
        open_pte(tmp_path / "none.pte")
    assert caught.value.code == Error.AccessFailed
    (tmp_path / "empty.pte").touch()
    with pytest.raises(InvalidFile, match="the file is empty"):
        open_pte(tmp_path / "empty.pte")


def test_short_file_is_an_invalid_argument() -> None:
    with pytest.raises(InvalidFile, match="a file of 63 bytes is too short") as caught:
        read_pte(bytes(63))
    assert caught.value.code == Error.InvalidArgument


def test_header_of_the_first_generation_has_no_data_size(program: tuple[Program, Segments]) -> None:
    data = bytearray(serialize_pte(*program))
    pack_into("<I", data, 12, 24)
    pack_into("<Q", data, 32, 2**60)
    file = read_pte(data)
    assert file.header == ExtendedHeader(file.header.program_size, file.header.segment_base_offset, 0, 24)
    assert file.segments[1] == b"delegate"


@pytest.mark.parametrize(
    ("at", "code", "value", "message"),
    [
        (
            12,
            "I",
            23,
            r"extended header claims 23 bytes; at least 24 are required at extended header, byte 0xc",
        ),
        (16, "Q", 2**40, r"a program of 1099511627776 bytes in a file of \d+ at .*byte 0x10; .*truncated"),
        (24, "Q", 64, r"segments from byte 64 overlap .* at extended header.segment_base_offset, byte 0x18"),
        (24, "Q", 2**40, r"segments end at byte \d+ in a file of \d+ .*byte 0x20"),
        (32, "Q", 2**40, r"segments end at byte \d+ in a file of \d+ .*byte 0x20"),
        (32, "Q", 64, r"segment at bytes .* runs past \d+ at segments\[1\], byte 0x"),
        (24, "Q", 0, r"the extended header does not locate them at segments\[0\]"),
        (8, "4s", b"eh01", r"the extended header does not locate them at segments\[0\]"),
    ],
)
def test_header_rules(
    program: tuple[Program, Segments], at: int, code: str, value: bytes | int, message: str
) -> None:
    data = bytearray(serialize_pte(*program))
    pack_into("<" + code, data, at, value)
    with pytest.raises(InvalidFile, match=message) as caught:
        read_pte(data)
    assert caught.value.code == Error.InvalidProgram


def delegate(location: DataLocation, index: int) -> Program:
    reference = BackendDelegateDataReference(location, index)
    return Program(execution_plan=[ExecutionPlan(delegates=[BackendDelegate("X", reference)])])


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (
            Program(named_data=[NamedData("a", 1)]),
            r"index 1 where there are 1 at named_data\[0\]\.segment_index",
        ),
        (Program(constant_segment=SubsegmentOffsets(1, [0, 0])), r"at constant_segment\.segment_index"),
        (
            Program(constant_segment=SubsegmentOffsets(0, [0, 5])),
            r"offset 5 in a segment of 4 bytes at constant_segment\.offsets\[1\]",
        ),
        (
            Program(mutable_data_segments=[SubsegmentOffsets(9)]),
            r"at mutable_data_segments\[0\]\.segment_index",
        ),
        (
            delegate(DataLocation.INLINE, 0),
            r"index 0 where there are 0 at execution_plan\[0\]\.delegates\[0\]\.processed\.index",
        ),
        (delegate(DataLocation.SEGMENT, 1), r"index 1 where there are 1 at .*processed\.index"),
        (
            Program(execution_plan=[ExecutionPlan(delegates=[BackendDelegate("X")])]),
            r"delegate without data at execution_plan\[0\]\.delegates\[0\]\.processed",
        ),
    ],
)
@pytest.mark.parametrize("locate", [False, True])
def test_references(tree: Program, message: str, locate: bool) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        read_pte(serialize_pte(tree, [[b"1234"]]), locate=locate)
    assert caught.value.code == Error.InvalidProgram
    assert caught.value.offset


def test_named_data_without_segments_is_an_invalid_argument() -> None:
    with pytest.raises(InvalidFile, match="named data without segments") as caught:
        read_pte(serialize_pte(Program(named_data=[NamedData("a", 0)])))
    assert caught.value.code == Error.InvalidArgument


def test_one_constant_entry_means_no_constants() -> None:
    read_pte(serialize_pte(Program(constant_segment=SubsegmentOffsets(7, [0]))))
