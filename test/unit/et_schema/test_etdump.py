"""ETDump files: what is written is read, with the size in front or without; damaged ones are refused."""

from __future__ import annotations

import random

import pytest

from et_schema.errors import InvalidFile
from et_schema.etdump import (
    Bool,
    DebugEvent,
    ETDump,
    Event,
    Int,
    ProfileEvent,
    RunData,
    Tensor,
    TensorList,
    Value,
    ValueType,
    read_etdump,
    serialize_etdump,
)
from et_schema.scalar_type import ScalarType

TENSOR = Tensor(ScalarType.FLOAT, [2, 3], [3, 1], 64)
DUMP = ETDump(
    1,
    [
        RunData("Default", events=[Event(ProfileEvent("Method::init", -1, 0, start_time=5, end_time=2**63))]),
        RunData(
            "Execute",
            3,
            events=[
                Event(ProfileEvent(None, 0, 1, 7, delegate_debug_metadata=b"Add", start_time=1, end_time=2)),
                Event(ProfileEvent(None, 0, 1, delegate_debug_id_str="node #1", start_time=1, end_time=2)),
                Event(debug_event=DebugEvent(0, 1, Value(ValueType.TENSOR, TENSOR))),
                Event(
                    debug_event=DebugEvent(
                        2**64 - 1,
                        0,
                        Value(ValueType.TENSOR_LIST, tensor_list=TensorList([TENSOR]), output=Bool(True)),
                    )
                ),
                Event(debug_event=DebugEvent(0, 2, Value(ValueType.INT, int_value=Int(-4)))),
            ],
        ),
    ],
)


def test_what_is_written_is_read() -> None:
    data = serialize_etdump(DUMP)
    assert int.from_bytes(data[:4], "little") == len(data) - 4
    assert data[8:12] == b"ED00"
    found = read_etdump(data)
    assert found == DUMP
    assert serialize_etdump(found) == data


@pytest.mark.parametrize("data", [b"", b"ED00", bytes(64), serialize_etdump(DUMP)[:40]])
def test_what_is_no_etdump(data: bytes) -> None:
    with pytest.raises(InvalidFile):
        read_etdump(data)


def test_damaged_files() -> None:
    """A file with other bytes is read or refused; nothing else happens."""
    data = serialize_etdump(DUMP)
    choice = random.Random(0)
    refused = 0
    for _ in range(2000):
        damaged = bytearray(data)
        for _ in range(choice.randint(1, 4)):
            damaged[choice.randrange(len(damaged))] = choice.randrange(256)
        try:
            read_etdump(bytes(damaged))
        except InvalidFile:
            refused += 1
    assert 0 < refused < 2000
