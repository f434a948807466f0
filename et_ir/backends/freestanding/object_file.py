"""Sections and symbols of relocatable little-endian ELF objects."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["PROGRAM_BITS", "Section", "exported_symbols", "sections_of", "undefined_symbols"]

PROGRAM_BITS: Final = 1
"""The type of a section with what the program reads or executes."""
_SYMBOLS: Final = 2
"""The type of the section that is the symbol table."""
_GLOBAL: Final = 1
"""The binding of a symbol that other objects see."""


@dataclass(frozen=True)
class Section:
    """A section of an object."""

    name: str
    type: int
    flags: int
    """1 for what is written to, 2 for what is in memory, 4 for code."""
    data: bytes
    link: int
    """The number of the section that its names are in."""
    nbytes: int


def sections_of(code: bytes) -> list[Section]:
    """The sections of an object."""
    wide = code[4] == 2
    (start,) = struct.unpack_from("<Q" if wide else "<I", code, 40 if wide else 32)
    each, count, names = struct.unpack_from("<HHH", code, 58 if wide else 46)
    headers: list[tuple[int, ...]] = [
        struct.unpack_from("<IIQQQQII" if wide else "<IIIIIIII", code, start + each * number)
        for number in range(count)
    ]
    strings = headers[names][4]
    return [
        Section(
            _string(code, strings + name),
            type,
            flags,
            code[offset : offset + size] if type != 8 else b"",
            link,
            size,
        )
        for name, type, flags, _, offset, size, link, _ in headers
    ]


def undefined_symbols(code: bytes) -> set[str]:
    """The names of what an object needs from others."""
    return {name for name, section, _ in _symbols(code) if section == 0 and name}


def exported_symbols(code: bytes) -> set[str]:
    """The names of what an object has for others."""
    return {name for name, section, binding in _symbols(code) if section and binding == _GLOBAL}


def _symbols(code: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, section and binding of each symbol; the section of one that is elsewhere is 0."""
    wide = code[4] == 2
    sections = sections_of(code)
    for one in sections:
        if one.type == _SYMBOLS:
            strings = sections[one.link].data
            for entry in struct.iter_unpack("<IBBHQQ" if wide else "<IIIBBH", one.data):
                yield _string(strings, entry[0]), entry[3 if wide else 5], entry[1 if wide else 3] >> 4


def _string(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()
