"""Loader of relocatable ELF objects, as compilers write them, into executable memory.

It takes what code for kernels needs and nothing else: code and read-only data of one object, with relocations between
them. An object that refers to a symbol it does not define, or has memory to write to, is refused before it is mapped.
The formats are those of the System V ABI and of its supplements for x86-64 and AArch64.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct, error
from typing import Final

from et_schema.errors import Error, InvalidFile

__all__ = ["MACHINES", "LoadedObject", "load_object"]

MACHINES: Final = {"x86_64": 62, "AMD64": 62, "aarch64": 183, "arm64": 183}
"""ELF's numbers of architectures, by the names that `platform.machine` gives them."""

_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SECTION = Struct("<IIQQQQIIQQ")
_SYMBOL = Struct("<IBBHQQ")
_RELOCATION = Struct("<QQq")

_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
_WRITE, _ALLOC = 1, 2
_RELOCATABLE = 1
_MOST_SECTIONS = 4096


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


class LoadedObject:
    """An object in executable memory; the memory is unmapped with it."""

    def __init__(self, memory: mmap.mmap, base: int, symbols: dict[str, int]):
        self._memory = memory
        self.nbytes = len(memory)
        """Bytes of memory that hold it."""
        self._symbols = symbols
        self._base = base

    def address(self, symbol: str) -> int:
        """The address of a symbol. Raises `InvalidFile` for one that the object does not define."""
        if symbol not in self._symbols:
            raise _invalid(f"the object does not define {symbol}", "code")
        return self._base + self._symbols[symbol]


def load_object(data: memoryview, machine: int) -> LoadedObject:
    """Map an object for a machine (one of `MACHINES`).

    Raises InvalidFile(DelegateInvalidCompatibility) for what is no such object, or refers to anything outside itself.
    """
    try:
        return _load(data, machine)
    except (error, IndexError, UnicodeDecodeError) as damaged:
        raise _invalid(f"the object is damaged: {damaged}", "code") from damaged


def _load(data: memoryview, machine: int) -> LoadedObject:
    sections = _sections(data, machine)
    places, size = _layout(sections)
    symbols = _symbols(data, sections)
    image = bytearray(max(size, 1))
    for number, start in places.items():
        section = sections[number]
        if section.kind == _PROGBITS:
            image[start : start + section.size] = _slice(data, section.offset, section.size)
    apply = _RELOCATIONS[machine]
    for section in sections:
        if section.kind != _RELA or section.info not in places:
            continue
        target, start = sections[section.info], places[section.info]
        for at in range(0, section.size - section.size % _RELOCATION.size, _RELOCATION.size):
            offset, info, addend = _RELOCATION.unpack_from(data, section.offset + at)
            name, where, value = symbols[info >> 32]
            if where not in places:
                raise _invalid(
                    f"the code refers to {name or 'a symbol'}, which it does not define", target.name
                )
            kind = info & 0xFFFFFFFF
            if offset + 4 > target.size:
                raise _invalid(f"a relocation at byte {offset} of {target.size}", target.name)
            apply(image, start + offset, kind, places[where] + value + addend)
    exported = {name: places[where] + value for name, where, value in symbols if name and where in places}
    return _mapped(bytes(image), exported)


def _sections(data: memoryview, machine: int) -> list[_Section]:
    ident, kind, found, _, _, _, start, _, _, _, _, size, count, names = _HEADER.unpack_from(data, 0)
    if ident[:6] != b"\x7fELF\x02\x01" or kind != _RELOCATABLE or size != _SECTION.size:
        raise _invalid("the code is no relocatable ELF object of 64 bits", "code")
    if found != machine:
        raise _invalid(f"the object is for machine {found}, this is {machine}", "code")
    if not 0 < count <= _MOST_SECTIONS:
        raise _invalid(f"the object claims {count} sections", "code")
    raw = [_SECTION.unpack_from(data, start + number * size) for number in range(count)]
    strings = raw[names]
    sections: list[_Section] = []
    for name, kind, flags, _, offset, nbytes, link, info, alignment, _ in raw:
        text = _string(data, strings[4], strings[5], name)
        if kind != _NOBITS and offset + nbytes > len(data):
            raise _invalid(f"bytes {offset}..{offset + nbytes} of {len(data)}", text)
        sections.append(_Section(text, kind, flags, offset, nbytes, link, info, alignment))
    return sections


def _layout(sections: Sequence[_Section]) -> tuple[dict[int, int], int]:
    """Where each section of code or data starts in memory, and the bytes of all."""
    places: dict[int, int] = {}
    end = 0
    for number, section in enumerate(sections):
        if not section.flags & _ALLOC or section.name.startswith(".eh_frame"):
            continue
        if section.flags & _WRITE and section.size:
            raise _invalid("the object has memory that its code writes to", section.name)
        alignment = max(section.alignment, 1)
        if alignment > mmap.PAGESIZE or alignment & (alignment - 1):
            raise _invalid(f"an alignment of {alignment}", section.name)
        if section.kind == _NOBITS and section.size:
            raise _invalid("a section without content", section.name)
        end = -(-end // alignment) * alignment
        places[number] = end
        end += section.size
    return places, end


def _symbols(data: memoryview, sections: Sequence[_Section]) -> list[tuple[str, int, int]]:
    """Name, section and place in it of each symbol."""
    tables = [section for section in sections if section.kind == _SYMTAB]
    if len(tables) != 1:
        raise _invalid(f"{len(tables)} symbol tables", "code")
    (table,) = tables
    strings = sections[table.link]
    found: list[tuple[str, int, int]] = []
    for at in range(0, table.size - table.size % _SYMBOL.size, _SYMBOL.size):
        name, _, _, where, value, _ = _SYMBOL.unpack_from(data, table.offset + at)
        text = _string(data, strings.offset, strings.size, name)
        if 0 < where < len(sections) and value > sections[where].size:
            raise _invalid(f"{text or 'a symbol'} at byte {value} of {sections[where].size}", table.name)
        # Zero is the section of what is not defined; the highest numbers are no sections.
        found.append((text, where if where < 0xFF00 else -1, value))
    return found


def _mapped(image: bytes, symbols: dict[str, int]) -> LoadedObject:
    """Memory with the image, first to write to, then to execute: never both."""
    size = -(-len(image) // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    memory.write(image)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(base), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC):
        number = ctypes.get_errno()
        raise InvalidFile(
            f"the system does not let memory be executable (error {number})",
            code=Error.AccessFailed,
            hint="compile the program without the native backend",
        )
    return LoadedObject(memory, base, symbols)


# -- relocations


def _x86_64(image: bytearray, place: int, kind: int, value: int) -> None:
    if kind not in (2, 4):  # R_X86_64_PC32, R_X86_64_PLT32
        raise _invalid(f"relocation {kind} of x86-64", "code")
    _put32(image, place, value - place)


def _aarch64(image: bytearray, place: int, kind: int, value: int) -> None:
    if kind == 261:  # R_AARCH64_PREL32
        _put32(image, place, value - place)
        return
    word = int.from_bytes(image[place : place + 4], "little")
    if kind in (282, 283):  # R_AARCH64_JUMP26, R_AARCH64_CALL26
        word |= ((value - place) >> 2) & 0x3FFFFFF
    elif kind == 275:  # R_AARCH64_ADR_PREL_PG_HI21: the image starts at a page
        pages = (value >> 12) - (place >> 12)
        word |= (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
    elif kind in _LOW_BITS:
        word |= (value & 0xFFF) >> _LOW_BITS[kind] << 10
    else:
        raise _invalid(f"relocation {kind} of AArch64", "code")
    image[place : place + 4] = (word & 0xFFFFFFFF).to_bytes(4, "little")


_LOW_BITS: Final = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}
"""R_AARCH64_ADD_ABS_LO12_NC and R_AARCH64_LDST*_ABS_LO12_NC: the shift of the twelve bits."""

_RELOCATIONS: Final[dict[int, Callable[[bytearray, int, int, int], None]]] = {62: _x86_64, 183: _aarch64}


def _put32(image: bytearray, place: int, value: int) -> None:
    if not -(2**31) <= value < 2**31:
        raise _invalid(f"a relocation by {value} bytes", "code")
    image[place : place + 4] = (value & 0xFFFFFFFF).to_bytes(4, "little")


# -- bytes


def _slice(data: memoryview, start: int, size: int) -> memoryview:
    if start < 0 or start + size > len(data):
        raise _invalid(f"bytes {start}..{start + size} of {len(data)}", "code")
    return data[start : start + size]


def _string(data: memoryview, start: int, size: int, at: int) -> str:
    """The string at a place of a string table."""
    if at >= size or start + size > len(data):
        return ""
    raw = bytes(data[start + at : start + min(size, at + 4096)])
    return raw.partition(b"\0")[0].decode()


def _invalid(message: str, where: str) -> InvalidFile:
    return InvalidFile(
        message, code=Error.DelegateInvalidCompatibility, where=where, hint="compile the program again"
    )
