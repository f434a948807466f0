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
from typing import Final, NamedTuple

from et_schema.errors import Error, InvalidFile

__all__ = ["MACHINES", "Image", "LoadedObject", "link_object", "load_object", "machine_of", "map_image"]

MACHINES: Final = {"x86_64": 62, "AMD64": 62, "aarch64": 183, "arm64": 183}
"""ELF's numbers of architectures, by the names that `platform.machine` gives them."""

_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SECTION = Struct("<IIQQQQIIQQ")
_SYMBOL = Struct("<IBBHQQ")
_RELOCATION = Struct("<QQq")

_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
_WRITE, _ALLOC, _EXECUTE = 1, 2, 4
_GLOBAL = 1
_RELOCATABLE = 1
_MOST_SECTIONS = 4096
_MOST_INSTRUCTION = 16
_MOST_NAMES = 4
"""Characters of the names of symbols, for each byte of an object."""


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


class _Symbol(NamedTuple):
    name: str
    section: int
    """The number of its section, -1 for one that is in none."""
    value: int
    is_global: bool


@dataclass(frozen=True)
class Image:
    """An object as it is in memory, wherever at a page it starts."""

    content: bytes
    functions: dict[str, int]
    """Where the global functions start."""

    def place(self, function: str) -> int:
        """Where a function starts. Raises InvalidFile for one that the code does not define."""
        if function not in self.functions:
            raise _invalid(f"the code does not define {function}", "code")
        return self.functions[function]


class LoadedObject:
    """An object in executable memory; the memory is unmapped with it."""

    def __init__(self, memory: mmap.mmap, base: int, image: Image):
        self._memory = memory
        self.nbytes = len(memory)
        """Bytes of memory that hold it."""
        self._image = image
        self._base = base

    def address(self, function: str) -> int:
        """The address of a function. Raises InvalidFile for one that the code does not define."""
        return self._base + self._image.place(function)

    def defines(self, function: str) -> bool:
        """Whether the code defines a function."""
        return function in self._image.functions


def machine_of(data: memoryview) -> int:
    """ELF's number of the architecture that an object is for; 0 for what is too short to say."""
    return int.from_bytes(bytes(data[18:20]), "little") if len(data) >= 20 else 0


def load_object(data: memoryview, machine: int) -> LoadedObject:
    """Map an object for this machine, whose number in ELF is `machine`.

    Raises InvalidFile, as `link_object` does and with AccessFailed where the system has no executable memory.
    """
    return map_image(link_object(data, machine))


def link_object(data: memoryview, machine: int) -> Image:
    """Lay out the sections of an object for a machine (one of `MACHINES`) and relocate them, without running anything.

    Raises InvalidFile(DelegateInvalidCompatibility) for what is no such object, or refers to anything outside itself.
    Time and memory are linear in the bytes of the object.
    """
    try:
        return _link(data, machine)
    except (error, IndexError, OverflowError, UnicodeDecodeError) as damaged:
        raise _invalid(f"the object is damaged: {damaged}", "code") from damaged


def _link(data: memoryview, machine: int) -> Image:
    sections = _sections(data, machine)
    places, size = _layout(sections, len(data))
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
            entry: tuple[int, int, int] = _RELOCATION.unpack_from(data, section.offset + at)
            offset, info, addend = entry
            name, where, value, _ = symbols[info >> 32]
            if where not in places:
                raise _invalid(
                    f"the code refers to {name or 'a symbol'}, which it does not define", target.name
                )
            kind = info & 0xFFFFFFFF
            if offset + 4 > target.size:
                raise _invalid(f"a relocation at byte {offset} of {target.size}", target.name)
            to = places[where] + value + addend
            # Places that are relative to the end of an instruction have a small negative addend.
            if not -_MOST_INSTRUCTION <= to <= size:
                raise _invalid(f"a relocation to byte {to} of {size}", target.name)
            apply(image, start + offset, kind, to)
    functions = {
        name: places[where] + value
        for name, where, value, is_global in symbols
        if is_global and where in places and sections[where].flags & _EXECUTE and value < sections[where].size
    }
    return Image(bytes(image), functions)


def _sections(data: memoryview, machine: int) -> list[_Section]:
    ident, *header = _HEADER.unpack_from(data, 0)
    numbers: list[int] = header
    kind, found, _, _, _, start, _, _, _, _, size, count, names = numbers
    if ident[:6] != b"\x7fELF\x02\x01" or kind != _RELOCATABLE or size != _SECTION.size:
        raise _invalid("the code is not a relocatable ELF object of 64 bits", "code")
    if found != machine:
        raise _invalid(f"the object is for machine {found}, this is {machine}", "code")
    if machine not in _RELOCATIONS:
        raise _invalid(f"the object is for machine {machine}, which no code is made for", "code")
    if not 0 < count <= _MOST_SECTIONS:
        raise _invalid(f"the object claims {count} sections", "code")
    raw: list[tuple[int, ...]] = [
        _SECTION.unpack_from(data, start + number * size) for number in range(count)
    ]
    strings = raw[names]
    sections: list[_Section] = []
    for name, kind, flags, _, offset, nbytes, link, info, alignment, _ in raw:
        text = _string(data, strings[4], strings[5], name)
        if kind != _NOBITS and offset + nbytes > len(data):
            raise _invalid(f"bytes {offset}..{offset + nbytes} of {len(data)}", text)
        sections.append(_Section(text, kind, flags, offset, nbytes, link, info, alignment))
    return sections


def _layout(sections: Sequence[_Section], nbytes: int) -> tuple[dict[int, int], int]:
    """Where each section of code or data starts in memory, and the bytes of all."""
    read = sum(section.size for section in sections if section.kind in (_PROGBITS, _SYMTAB, _RELA))
    if read > nbytes:
        raise _invalid(f"sections of {read} bytes in all overlap in {nbytes}", "code")
    places: dict[int, int] = {}
    end = 0
    for number, section in enumerate(sections):
        # Section 0 is none. Nothing unwinds the stack through the code.
        if number == 0 or not section.flags & _ALLOC or section.name.startswith(".eh_frame"):
            continue
        if section.flags & _WRITE and section.size:
            raise _invalid("the object has memory that its code writes to", section.name)
        alignment = max(section.alignment, 1)
        if alignment > mmap.PAGESIZE or alignment & (alignment - 1):
            raise _invalid(f"an alignment of {alignment}", section.name)
        if section.kind != _PROGBITS and section.size:
            raise _invalid("memory that is neither code nor read-only data", section.name)
        end = -(-end // alignment) * alignment
        places[number] = end
        end += section.size
    return places, end


def _symbols(data: memoryview, sections: Sequence[_Section]) -> list[_Symbol]:
    tables = [section for section in sections if section.kind == _SYMTAB]
    if len(tables) != 1:
        raise _invalid(f"{len(tables)} symbol tables", "code")
    (table,) = tables
    strings = sections[table.link]
    found: list[_Symbol] = []
    names: dict[int, str] = {}
    characters = 0
    for at in range(0, table.size - table.size % _SYMBOL.size, _SYMBOL.size):
        entry: tuple[int, ...] = _SYMBOL.unpack_from(data, table.offset + at)
        name, info, _, where, value, _ = entry
        text = names.get(name)
        if text is None:
            text = names[name] = _string(data, strings.offset, strings.size, name)
            # The names of a table may be ends of others, but not all of them of a long one.
            characters += len(text)
            if characters > _MOST_NAMES * len(data):
                raise _invalid("names of symbols that overlap", strings.name)
        if 0 < where < len(sections) and value > sections[where].size:
            raise _invalid(f"{text or 'a symbol'} at byte {value} of {sections[where].size}", table.name)
        # Zero is the section of what is not defined; the highest numbers are no sections.
        found.append(_Symbol(text, where if where < 0xFF00 else -1, value, info >> 4 == _GLOBAL))
    return found


def map_image(image: Image) -> LoadedObject:
    """Memory with the image, first to write to, then to execute: never both."""
    size = -(-len(image.content) // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    memory.write(image.content)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(base), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC):
        number = ctypes.get_errno()
        raise InvalidFile(
            f"the system does not let memory be executable (error {number})",
            code=Error.AccessFailed,
            hint="compile the program without the native backend",
        )
    return LoadedObject(memory, base, image)


# -- relocations


def _x86_64(image: bytearray, place: int, kind: int, value: int) -> None:
    if kind not in (2, 4):  # R_X86_64_PC32, R_X86_64_PLT32
        raise _invalid(f"relocation {kind} of x86-64", "code")
    _put32(image, place, value - place)


def _aarch64(image: bytearray, place: int, kind: int, value: int) -> None:
    if kind == 261:  # R_AARCH64_PREL32
        _put32(image, place, value - place)
        return
    if kind in (282, 283):  # R_AARCH64_JUMP26, R_AARCH64_CALL26
        distance, field = value - place, 0x3FFFFFF
        exact = distance % 4 == 0 and -(2**27) <= distance < 2**27
        bits = distance >> 2 & field
    elif kind == 275:  # R_AARCH64_ADR_PREL_PG_HI21: the image starts at a page
        pages = (value >> 12) - (place >> 12)
        exact = -(2**20) <= pages < 2**20
        field, bits = 0x60FFFFE0, (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
    elif kind in _LOW_BITS:
        shift, low = _LOW_BITS[kind], value & 0xFFF
        exact = low >> shift << shift == low
        field, bits = 0x3FFC00, low >> shift << 10
    else:
        raise _invalid(f"relocation {kind} of AArch64", "code")
    if not exact or place % 4:
        raise _invalid(f"relocation {kind} of AArch64 to byte {value} does not fit", "code")
    word = int.from_bytes(image[place : place + 4], "little") & ~field | bits
    image[place : place + 4] = word.to_bytes(4, "little")


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
