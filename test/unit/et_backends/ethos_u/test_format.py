"""Blobs of Ethos-U programs: what is written is read, and what makes no sense is refused with its place."""

from __future__ import annotations

import random
import struct
from dataclasses import replace

import pytest

from et_backends.ethos_u.format import VelaProgram, VelaTensor, read_vela, serialize_vela
from et_schema.errors import Error, InvalidFile

PROGRAM = VelaProgram(
    b"COP1" + bytes(range(13)),
    b"\xff" * 33,
    4096,
    (VelaTensor((1, 1, 1, 3, 16, 16), 1, 768, 1), VelaTensor((1,) * 6, 4, 0, 1)),
    (VelaTensor((1, 1, 1, 1, 1, 4), 2, 4088, 1),),
)


def test_what_is_written_is_read() -> None:
    blob = serialize_vela(PROGRAM)
    found = read_vela(blob)
    assert found == PROGRAM
    assert serialize_vela(found) == blob
    assert not len(blob) % 16


def test_empty_blocks() -> None:
    program = replace(PROGRAM, weights=b"", inputs=(), outputs=())
    assert read_vela(serialize_vela(program)) == program


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (replace(PROGRAM, commands=b"COP2"), "does not begin with COP1 at cmd_data"),
        (replace(PROGRAM, scratch_size=100), r"inputs\[0\]"),
        (replace(PROGRAM, outputs=(VelaTensor((1,) * 6, 3, 0, 1),)), r"3 bytes.* at outputs\[0\]"),
        (replace(PROGRAM, outputs=(VelaTensor((-1, *(1,) * 5), 1, 0, 1),)), r"outputs\[0\]"),
        (replace(PROGRAM, outputs=(VelaTensor((1,) * 6, 1, -1, 1),)), r"outputs\[0\]"),
    ],
)
def test_programs_that_make_no_sense(program: VelaProgram, message: str) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        read_vela(serialize_vela(program))
    assert caught.value.code is Error.DelegateInvalidCompatibility


def block(name: bytes, length: int, data: bytes, is_elsewhere: int = 0) -> bytes:
    return struct.pack("<16siB11s", name, length, is_elsewhere, b"") + data


LINE = bytes(16)
FIRST, LAST = block(b"vela_bin_stream", 0, b""), block(b"vela_end_stream", 0, b"")


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"", "without vela_end_stream"),
        (LAST, "the first block"),
        (FIRST + FIRST + LAST, "the first block"),
        (FIRST, "without vela_end_stream"),
        (FIRST + LAST, "'cmd_data' is missing"),
        (FIRST + block(b"cmd_data", 99, LINE) + LAST, "99 bytes are said"),
        (FIRST + block(b"cmd_data", -1, LINE) + LAST, "-1 bytes are said"),
        (FIRST + block(b"cmd_data", 16, LINE, 1) + LAST, "outside of the blob"),
        (FIRST + block(b"other", 16, LINE) + LAST, "unknown block 'other'"),
        (FIRST + 2 * block(b"cmd_data", 16, LINE) + LAST, "two blocks"),
    ],
)
def test_streams_that_make_no_sense(blob: bytes, message: str) -> None:
    with pytest.raises(InvalidFile, match=message):
        read_vela(blob)


def test_damaged_blobs() -> None:
    """A blob with other bytes, or cut off, is read or refused; nothing else happens."""
    blob = serialize_vela(PROGRAM)
    choice = random.Random(0)
    for _ in range(2000):
        damaged = bytearray(blob)
        for _ in range(choice.randint(1, 4)):
            damaged[choice.randrange(len(damaged))] = choice.randrange(256)
        try:
            read_vela(bytes(damaged[: choice.choice([len(blob), choice.randrange(len(blob))])]))
        except InvalidFile:
            continue
