"""Sections and symbols of relocatable objects: ELF, little-endian, and WebAssembly."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

__all__ = [
    "PROGRAM_BITS",
    "WEB_ASSEMBLY",
    "Section",
    "exported_symbols",
    "sections_of",
    "symbol_addresses",
    "undefined_symbols",
]

PROGRAM_BITS: Final = 1
"""The type of a section with what the program reads or executes."""
WEB_ASSEMBLY: Final = b"\0asm"
"""Magic number of WebAssembly modules."""
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
    if code.startswith(WEB_ASSEMBLY):
        return [_wasm_section(*one) for one in _wasm_sections(code)]
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
    if code.startswith(WEB_ASSEMBLY):
        return _wasm_imports(code) - _WASM_MACHINE
    return {one.name for one in _symbols(code) if one.section == 0 and one.name}


def exported_symbols(code: bytes) -> set[str]:
    """The names of what an object has for others."""
    return {one.name for one in _symbols(code) if one.section and one.binding == _GLOBAL}


def symbol_addresses(code: bytes) -> dict[str, int]:
    """The values of the symbols of an ELF file by name; of an executable they are addresses."""
    return {one.name: one.value for one in _symbols(code)}


class _Symbol(NamedTuple):
    name: str
    section: int
    """0 for one that is elsewhere."""
    binding: int
    value: int


def _symbols(code: bytes) -> Iterator[_Symbol]:
    """The symbols of an ELF file."""
    wide = code[4] == 2
    sections = sections_of(code)
    for one in sections:
        if one.type != _SYMBOLS:
            continue
        strings = sections[one.link].data
        for entry in struct.iter_unpack("<IBBHQQ" if wide else "<IIIBBH", one.data):
            name = _string(strings, entry[0])
            if wide:
                yield _Symbol(name, entry[3], entry[1] >> 4, entry[4])
            else:
                yield _Symbol(name, entry[5], entry[3] >> 4, entry[1])


def _string(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


# -- WebAssembly

_WASM_IMPORTS: Final = 2
_WASM_CODE: Final = 10
_WASM_DATA: Final = 11
_WASM_FUNCTION: Final = 0
_WASM_MACHINE: Final = frozenset({"__linear_memory", "__stack_pointer", "__indirect_function_table"})
"""Imports that the linker provides to each module."""


def _wasm_sections(code: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and content of each section of a module."""
    at = 8
    while at < len(code):
        kind = code[at]
        size, at = _number(code, at + 1)
        yield kind, code[at : at + size]
        at += size


def _wasm_section(kind: int, data: bytes) -> Section:
    """As an ELF object would have it: code is executed, data are read."""
    flags = {_WASM_CODE: 6, _WASM_DATA: 2}.get(kind, 0)
    return Section(f"section {kind}", PROGRAM_BITS, flags, data, 0, len(data))


def _wasm_imports(code: bytes) -> set[str]:
    """The names of the functions that a module imports."""
    found: set[str] = set()
    for kind, data in _wasm_sections(code):
        if kind != _WASM_IMPORTS:
            continue
        count, at = _number(data, 0)
        for _ in range(count):
            size, at = _number(data, at)
            at += size  # the name of the module that it is of
            size, at = _number(data, at)
            name, what = data[at : at + size].decode(), data[at + size]
            at += size + 1
            if what == _WASM_FUNCTION:
                found.add(name)
                _, at = _number(data, at)
            else:
                # A table has a type before its limits, a global a type and whether it changes.
                at += what == 1
                if what == 3:
                    at += 2
                else:
                    bounded = data[at] & 1
                    _, at = _number(data, at + 1)
                    if bounded:
                        _, at = _number(data, at)
    return found


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number in LEB128, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
