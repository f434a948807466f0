"""SPIR-V binaries: what is no module is refused, and what a module needs is told."""

from __future__ import annotations

import struct

import pytest

from et_backends.vulkan.format.spirv import (
    MAGIC,
    VERSION,
    Capability,
    Op,
    capability_name,
    check_module,
    instructions,
)
from et_schema.errors import InvalidFile


def module(*words: int) -> bytes:
    """A module of an entry point, and more instructions."""
    entry = [Op.EntryPoint | 1 << 16]
    return struct.pack(f"<{6 + len(words)}I", MAGIC, VERSION, 0, 1, 0, *entry, *words)


def test_capabilities() -> None:
    made = module(2 << 16 | Op.Capability, Capability.Int64, 2 << 16 | Op.Capability, 9999)
    assert check_module(made) == {Capability.Int64, 9999}
    assert [capability_name(one) for one in (Capability.Int64, 9999)] == ["Int64", "capability 9999"]
    assert [one.opcode for one in instructions(made)] == [Op.EntryPoint, Op.Capability, Op.Capability]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a shader of 0 bytes"),
        (module()[:-1], "a shader of 23 bytes"),
        (b"\0" * 24, "starts with 0x00000000"),
        (module(3 << 16 | Op.Capability), "an instruction of 3 words at byte 24"),
        (module(0), "an instruction of 0 words at byte 24"),
        (module(1 << 16 | Op.EntryPoint), "2 entry points"),
        (module(1 << 16 | Op.Function), "1 functions and 0 ends"),
        (module()[:4] + struct.pack("<I", 0x00010600) + module()[8:], "SPIR-V 1.6"),
    ],
)
def test_refused(data: bytes, message: str) -> None:
    with pytest.raises(InvalidFile, match=message):
        check_module(data)
