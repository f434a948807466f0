from __future__ import annotations

from struct import pack_into

import pytest

from et_schema.errors import Error, InvalidFile
from et_schema.flat_tensor import DataSegment, FlatTensor, NamedData, TensorLayout
from et_schema.ptd import read_ptd, serialize_ptd
from et_schema.scalar_type import ScalarType
from et_schema.segments import Segment

TENSORS = FlatTensor(
    named_data=[
        NamedData("fc.weight", 0, TensorLayout(ScalarType.FLOAT, [2, 2], b"\x01\x00")),
        NamedData("blob", 1),
    ]
)
SEGMENTS = [[b"w" * 16], Segment([b"blob"], alignment=4096)]


def test_round_trip() -> None:
    data = serialize_ptd(TENSORS, SEGMENTS)
    file = read_ptd(data)
    assert file.tensors.named_data == TENSORS.named_data
    assert file.tensors.segments == [DataSegment(0, 16), DataSegment(4096, 4)]
    assert file.named_data() == {"fc.weight": b"w" * 16, "blob": b"blob"}
    assert data.index(b"blob", 4096) % 4096 == 0
    assert file.segments[0].obj is data


def test_empty() -> None:
    assert read_ptd(serialize_ptd(FlatTensor())).segments == []


@pytest.mark.parametrize(
    ("at", "code", "value", "message"),
    [
        (8, "4s", b"FH00", "header starts with b'FH00', not b'FH01' at header, byte 0x8"),
        (12, "I", 39, "header claims 39 bytes; at least 40 are required at header, byte 0xc"),
        (24, "Q", 2**63, "a flatbuffer of .* in a file of .* at header, byte 0x10"),
        (32, "Q", 8, "overlap the flatbuffer or run past"),
        (40, "Q", 2**40, "overlap the flatbuffer or run past"),
        (40, "Q", 17, r"segment at bytes 4096\.\.4100 runs past 17 at segments\[1\]"),
    ],
)
def test_header_rules(at: int, code: str, value: bytes | int, message: str) -> None:
    data = bytearray(serialize_ptd(TENSORS, SEGMENTS))
    pack_into("<" + code, data, at, value)
    with pytest.raises(InvalidFile, match=message) as caught:
        read_ptd(data)
    assert caught.value.code == Error.InvalidExternalData


def test_names_point_at_segments() -> None:
    with pytest.raises(InvalidFile, match=r"index 3 where there are 1 at named_data\[0\]\.segment_index"):
        read_ptd(serialize_ptd(FlatTensor(named_data=[NamedData("a", 3)]), [[b"x"]]))


def test_too_short() -> None:
    with pytest.raises(InvalidFile, match="a file of 3 bytes is too short"):
        read_ptd(b"abc")
