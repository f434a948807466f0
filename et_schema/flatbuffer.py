"""Reading and writing FlatBuffers: the part that does not depend on the schema.

The modules of tables hold one reading and one writing function per table and calls into here for everything
that tables share. Layout facts used below (https://flatbuffers.dev/internals): all numbers are
little-endian and aligned to their size; an offset is a u32 that counts forward from where it is stored; a
table starts with an i32 that, subtracted from the table's position, gives its vtable; a vtable is u16s: its
size, the table's size, then per field the position in the table or 0 for an absent one; a vector is a u32
count and its elements; a string is a vector of UTF-8 with a NUL behind it.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from mmap import mmap
from struct import Struct
from struct import error as StructError
from typing import NamedTuple, TypeVar

from et_schema.errors import FIRST, Error, ExecutorchError, InvalidFile, Problems

if sys.byteorder != "little":
    raise ImportError(
        "et_schema reads little-endian files through native memory views: little-endian hosts only"
    )

Bytes = bytes | bytearray | memoryview
Source = bytes | bytearray | memoryview | mmap

_Table = TypeVar("_Table")
_TOO_MUCH = "overlapping data expands to more than the file can mean"


class Slot(NamedTuple):
    """One vtable entry. ``code`` is the struct letter of a scalar, or ``""`` for an offset (4 bytes)."""

    name: str
    code: str
    size: int


class TableType:
    """What the reader and the writer need to know of one table of a schema: its number and vtable slots."""

    __slots__ = ("layouts", "name", "number", "slots")

    def __init__(self, name: str, number: int, slots: Sequence[Slot]) -> None:
        self.name = name
        self.number = number
        self.slots = tuple(slots)
        self.layouts: dict[int, WriteLayout] = {}


class WriteLayout(NamedTuple):
    """How the writer lays out one combination of present fields."""

    pack: Struct
    vtable: bytes
    align: int
    residue: int
    scalars: tuple[Slot, ...]


class Reader:
    """A bounds-checked cursor over one buffer.

    Every position is checked once: a table's fields when its layout is known, a vector's elements when its
    count is. Work is linear in the buffer's size even when hostile offsets make many parents share one
    child: schemas are not recursive, strings are decoded once per position, and ``budget`` and ``tables_left``
    bound the bytes of vectors and the number of tables in total.

    With ``locate``, or ``problems`` that are collected, ``offsets`` maps ``id(table object)`` to its byte. A
    malformed element of a vector of tables is reported to ``problems``; if these are collected, an empty table
    stands for it, which is in ``lost``.
    """

    __slots__ = (
        "_layouts",
        "_strings",
        "budget",
        "end",
        "f32",
        "f64",
        "i8",
        "i16",
        "i32",
        "i64",
        "lost",
        "offsets",
        "problems",
        "tables_left",
        "u8",
        "u16",
        "u32",
        "u64",
    )

    def __init__(self, buffer: Source, *, locate: bool = False, problems: Problems = FIRST) -> None:
        view = memoryview(buffer).cast("B").toreadonly()
        end = len(view)
        self.end = end
        self.u8 = view
        self.i8 = view.cast("b")
        self.i16 = view[: end & ~1].cast("h")
        self.u16 = view[: end & ~1].cast("H")
        self.u32 = view[: end & ~3].cast("I")
        self.i32 = view[: end & ~3].cast("i")
        self.i64 = view[: end & ~7].cast("q")
        self.u64 = view[: end & ~7].cast("Q")
        self.f32 = view[: end & ~3].cast("f")
        self.f64 = view[: end & ~7].cast("d")
        # A file that shares nothing spends 1 per byte. The writer below shares vectors of up to 64 bytes;
        # what leads to one takes 24 bytes or more of the file, worth 192.
        self.budget = 8 * end
        # A table takes 8 bytes or more with the offset that leads to it, and writers do not share tables.
        self.tables_left = end // 8
        self.problems = problems
        self.offsets: dict[int, int] | None = {} if locate or problems.collects else None
        self.lost: list[tuple[object, InvalidFile]] = []
        self._layouts: dict[int, tuple[int, int, int, tuple[int, ...]]] = {}
        self._strings: dict[int, str] = {}

    def fault(self, message: str, at: int, field: str | None = None) -> InvalidFile:
        return InvalidFile(message, where=field, offset=at)

    def place(self, value: object, at: int) -> None:
        """Remember where a table was."""
        if self.offsets is not None:
            self.offsets[id(value)] = at

    def substitute(
        self, table: _Table, at: int, path: str, problem: InvalidFile, known: int | None = None
    ) -> _Table:
        """Report the ``problem`` of the element ``path`` at ``at``; if that is no exception, ``table`` stands for it.

        ``known`` is how many were lost before the element, for one that has such elements itself.
        """
        if known is not None:
            self.within(path, known)
        problem.nest(path)
        self.problems.add(problem)
        self.place(table, at)
        self.lost.append((table, problem))
        return table

    def within(self, path: str, known: int) -> None:
        """Say of all problems but the first ``known`` that they are in the element ``path``."""
        for _, problem in self.lost[known:]:
            problem.nest(path)

    def unknown(self, kind: str, number: int, at: int, field: str) -> InvalidFile:
        return InvalidFile(
            f"unknown {kind} {number}", where=field, offset=at, hint="the file may need a newer version"
        )

    def boolean(self, at: int, field: str) -> bool:
        number = self.u8[at]
        if number > 1:
            raise self.fault(f"bool is {number}, neither 0 nor 1", at, field)
        return number == 1

    def root(self, identifier: bytes, read: Callable[[Reader, int], _Table]) -> _Table:
        """The root table as ``read`` decodes it. Raises ``InvalidFile``."""
        if self.end < 8:
            raise self.fault(f"a flatbuffer of {self.end} bytes is too short", self.end, "root table")
        found = bytes(self.u8[4:8])
        if found != identifier:
            raise self.fault(f"this is {found!r}, not {identifier!r}", 4, "file identifier")
        try:
            return read(self, self.u32[0])
        except InvalidFile as error:
            error.where = error.where or "root table"
            raise

    def table(self, at: int, kind: TableType) -> tuple[int, ...]:
        """Positions of the fields relative to ``at``: 0 if absent, else inside of the buffer and aligned."""
        if at & 3 or at > self.end - 4:
            raise self.fault(f"{kind.name} table lies outside of the file or is misaligned", at)
        vtable = at - self.i32[at >> 2]
        key = vtable * 256 + kind.number
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._layouts[key] = self._layout(at, vtable, kind)
        size, mask, residue, fields = layout
        if at + size > self.end:
            raise self.fault(f"{kind.name} table of {size} bytes runs past the end", at)
        if at & mask != residue:
            raise self.fault(f"{kind.name} table misaligns its 8-byte fields", at)
        return fields

    def _layout(self, at: int, vtable: int, kind: TableType) -> tuple[int, int, int, tuple[int, ...]]:
        """Check a vtable: (table size, alignment mask and residue of the table's position, field
        positions)."""
        if vtable < 0 or vtable & 1 or vtable > self.end - 4:
            raise self.fault(f"vtable of {kind.name} lies outside of the file or is misaligned", at)
        vtable_size, table_size = self.u16[vtable >> 1], self.u16[(vtable >> 1) + 1]
        if vtable_size < 4 or vtable_size & 1 or vtable + vtable_size > self.end:
            raise self.fault(f"vtable of {kind.name} has an invalid size of {vtable_size}", vtable)
        if table_size < 4:
            raise self.fault(f"vtable of {kind.name} gives an invalid table size of {table_size}", vtable)
        mask, residue = 0, 0
        fields: list[int] = []
        for index, slot in enumerate(kind.slots):
            entry = 4 + 2 * index
            field = self.u16[(vtable + entry) >> 1] if entry < vtable_size else 0
            fields.append(field)
            if field == 0:
                continue
            if field < 4 or field + slot.size > table_size:
                message = f"field {slot.name} lies outside of its {kind.name} table"
                raise self.fault(message, vtable + entry, slot.name)
            if slot.size == 8 and mask == 0:
                mask, residue = 7, -field & 7
            if (slot.size in (2, 4) and field & (slot.size - 1)) or (
                slot.size == 8 and (field + residue) & 7
            ):
                message = f"field {slot.name} of {kind.name} is misaligned"
                raise self.fault(message, vtable + entry, slot.name)
        return table_size, mask, residue, tuple(fields)

    def vector(self, at: int, itemsize: int, field: str) -> tuple[int, int]:
        """Follow the offset at ``at`` to a vector: (position of the first element, count)."""
        start = at + self.u32[at >> 2]
        if start & 3 or start > self.end - 4:
            raise self.fault("vector lies outside of the file or is misaligned", at, field)
        count = self.u32[start >> 2]
        first = start + 4
        if first + count * itemsize > self.end:
            raise self.fault(f"vector of {count} elements runs past the end", start, field)
        if itemsize == 8 and first & 7 and count:
            raise self.fault("vector of 8-byte elements is misaligned", start, field)
        self.charge(count * itemsize, start, field)
        return first, count

    def table_vector(self, at: int, field: str) -> tuple[int, int]:
        """Like ``vector`` for offsets to tables."""
        first, count = self.vector(at, 4, field)
        self.tables_left -= count
        if self.tables_left < 0:
            raise self.fault(_TOO_MUCH, first, field)
        return first, count

    def charge(self, amount: int, at: int, field: str) -> None:
        self.budget -= amount
        if self.budget < 0:
            raise self.fault(_TOO_MUCH, at, field)

    def string(self, at: int, field: str) -> str:
        start = at + self.u32[at >> 2]
        known = self._strings.get(start)
        if known is not None:
            return known
        if start & 3 or start > self.end - 4:
            raise self.fault("string lies outside of the file or is misaligned", at, field)
        count = self.u32[start >> 2]
        end = start + 4 + count
        if end >= self.end or self.u8[end] != 0:
            raise self.fault(f"string of {count} bytes runs past the end or lacks its NUL", start, field)
        self.charge(count, start, field)
        try:
            text = str(self.u8[start + 4 : end], "utf-8")
        except UnicodeDecodeError as error:
            raise self.fault(f"string is not UTF-8: {error.reason}", start + 4 + error.start, field) from None
        self._strings[start] = text
        return text

    def blob(self, at: int, field: str) -> memoryview:
        """A byte vector without copying it. Costs nothing per byte, so the budget is left alone."""
        start = at + self.u32[at >> 2]
        if start & 3 or start > self.end - 4:
            raise self.fault("vector lies outside of the file or is misaligned", at, field)
        count = self.u32[start >> 2]
        if start + 4 + count > self.end:
            raise self.fault(f"vector of {count} bytes runs past the end", start, field)
        return self.u8[start + 4 : start + 4 + count]

    def u8_vector(self, at: int, field: str) -> bytes:
        first, count = self.vector(at, 1, field)
        return bytes(self.u8[first : first + count])

    def bool_vector(self, at: int, field: str) -> list[bool]:
        first, count = self.vector(at, 1, field)
        raw = bytes(self.u8[first : first + count])
        if raw and max(raw) > 1:
            raise self.fault("bool is neither 0 nor 1", first, field)
        return list(map(bool, raw))

    def i32_vector(self, at: int, field: str) -> list[int]:
        first, count = self.vector(at, 4, field)
        return self.i32[first >> 2 : (first >> 2) + count].tolist()

    def u32_vector(self, at: int, field: str) -> list[int]:
        first, count = self.vector(at, 4, field)
        return self.u32[first >> 2 : (first >> 2) + count].tolist()

    def i64_vector(self, at: int, field: str) -> list[int]:
        first, count = self.vector(at, 8, field)
        return self.i64[first >> 3 : (first >> 3) + count].tolist()

    def u64_vector(self, at: int, field: str) -> list[int]:
        first, count = self.vector(at, 8, field)
        return self.u64[first >> 3 : (first >> 3) + count].tolist()

    def f32_vector(self, at: int, field: str) -> list[float]:
        first, count = self.vector(at, 4, field)
        return list(self.f32[first >> 2 : (first >> 2) + count])

    def f64_vector(self, at: int, field: str) -> list[float]:
        first, count = self.vector(at, 8, field)
        return list(self.f64[first >> 3 : (first >> 3) + count])


class Writer:
    """Builds a flatbuffer back to front: children before parents, so that every offset is known when it is
    packed.

    Positions are counted from the end of the buffer to the start of the object. Equal strings, equal
    vtables and equal short vectors are written once. The bytes depend on the values alone.
    """

    SHARED_BYTES = 64
    MAX_SIZE = 2**31 - 1

    def __init__(self, alignments: Mapping[str, int] | None = None) -> None:
        self.alignments = alignments or {}
        self._chunks: list[Bytes] = []  # last chunk of the file first
        self._size = 0
        self._align = 16
        self._strings: dict[str, int] = {}
        self._vectors: dict[tuple[int, bytes], int] = {}
        self._vtables: dict[bytes, int] = {}

    def string(self, text: str) -> int:
        known = self._strings.get(text)
        if known is None:
            raw = text.encode("utf-8")
            known = self._strings[text] = self._vector(raw + b"\0", len(raw), 4)
        return known

    def blob(self, data: Bytes, align: int, owner: str) -> int:
        """A byte vector whose first byte is aligned to ``align``, or more if ``alignments[owner]`` says so.

        ``data`` is not copied before the file is written.
        """
        align = max(align, self.alignments.get(owner, 1))
        self._align = max(self._align, align)
        view = memoryview(data).cast("B")
        return self._vector(view, len(view), align)

    def u8_vector(self, items: Bytes) -> int:
        return self._shared(bytes(items), len(items), 4)

    def bool_vector(self, items: Sequence[bool]) -> int:
        return self._shared(bytes(map(bool, items)), len(items), 4)

    def i32_vector(self, items: Sequence[int]) -> int:
        return self._shared(self._array("i", items), len(items), 4)

    def u32_vector(self, items: Sequence[int]) -> int:
        return self._shared(self._array("I", items), len(items), 4)

    def i64_vector(self, items: Sequence[int]) -> int:
        return self._shared(self._array("q", items), len(items), 8)

    def u64_vector(self, items: Sequence[int]) -> int:
        return self._shared(self._array("Q", items), len(items), 8)

    def f32_vector(self, items: Sequence[float]) -> int:
        return self._shared(self._array("f", items), len(items), 4)

    def f64_vector(self, items: Sequence[float]) -> int:
        return self._shared(array("d", items).tobytes(), len(items), 8)

    def tables(self, positions: list[int]) -> int:
        """A vector of offsets; ``positions`` in reverse order, as writing back to front gives them."""
        # The last element lies 4 bytes before what is already there: one step further per element before it.
        self._pad(0, 4)
        at = self._size
        return self._vector(
            array("I", [at + 4 * (i + 1) - p for i, p in enumerate(positions)][::-1]).tobytes(),
            len(positions),
            4,
        )

    def table(
        self, kind: TableType, present: int, offsets: Sequence[int], scalars: Sequence[int | float]
    ) -> int:
        """A table with the slots of the bit set ``present``.

        ``offsets`` (positions of the children) come in reverse slot order, as writing back to front gives
        them; ``scalars`` as the words, the double words, the half words and then the bytes, each in slot order.
        """
        layout = kind.layouts.get(present)
        if layout is None:
            layout = kind.layouts[present] = _write_layout(kind, present)
        pack, vtable, align, residue, slots = layout
        self._align = max(self._align, align)
        size = self._size + pack.size
        pad = (residue - size) % align
        position = size + pad
        vtable_position = self._vtables.get(vtable)
        new_vtable = vtable_position is None
        if vtable_position is None:
            # The vtable goes right in front of the table.
            vtable_position = self._vtables[vtable] = position + len(vtable)
        # Children are offsets 4, 8, … of the table: addresses grow as positions shrink.
        field = position
        relative = [(field := field - 4) - child for child in offsets]
        try:
            data = pack.pack(vtable_position - position, *relative, *scalars)
        except (StructError, OverflowError) as error:
            raise _out_of_range(kind, slots, scalars, error) from None
        if pad:
            self._chunks.append(bytes(pad))
        self._chunks.append(data)
        self._size = position
        if new_vtable:
            self._chunks.append(vtable)
            self._size += len(vtable)
        return position

    def finish(self, root: int, identifier: bytes, reserve: int = 0) -> list[Bytes]:
        """The buffer in order, in chunks; ``reserve`` zero bytes follow the identifier.

        Raises ``ExecutorchError(NotSupported)`` when offsets would not fit.
        """
        self._pad(8 + reserve, self._align)
        total = self._size + 8 + reserve
        if total > self.MAX_SIZE:
            raise ExecutorchError(
                Error.NotSupported,
                f"the program needs {total} bytes but flatbuffer offsets reach 2 GiB",
                hint="put constants and delegate data in segments",
            )
        head = (total - root).to_bytes(4, "little") + identifier + bytes(reserve)
        return [head, *reversed(self._chunks)]

    def _pad(self, size: int, align: int) -> None:
        """Pad so that an object of ``size`` bytes put next starts aligned."""
        pad = -(self._size + size) % align
        if pad:
            self._chunks.append(bytes(pad))
            self._size += pad

    def _vector(self, data: Bytes, count: int, align: int) -> int:
        self._pad(len(data), align)
        self._chunks.append(data)
        self._chunks.append(count.to_bytes(4, "little"))
        self._size += len(data) + 4
        return self._size

    def _shared(self, data: bytes, count: int, align: int) -> int:
        if len(data) > self.SHARED_BYTES:
            return self._vector(data, count, align)
        key = (count, data)
        known = self._vectors.get(key)
        if known is None or (align == 8 and count and (known - 4) & 7):
            known = self._vectors[key] = self._vector(data, count, align)
        return known

    @staticmethod
    def _array(code: str, items: Sequence[int] | Sequence[float]) -> bytes:
        try:
            return array(code, items).tobytes()
        except OverflowError as error:
            raise ExecutorchError(Error.InvalidArgument, f"vector element does not fit: {error}") from None


def _write_layout(kind: TableType, present: int) -> WriteLayout:
    """Offsets, then words, double words, half words and bytes: with the right start address, no padding inside of a
    table."""
    slots = [(index, slot) for index, slot in enumerate(kind.slots) if present >> index & 1]
    offsets = [item for item in slots if not item[1].code][::-1]
    words, doubles, halves, small = (
        [item for item in slots if item[1].code and item[1].size == size] for size in (4, 8, 2, 1)
    )
    entries = [0] * max((index + 1 for index, _ in slots), default=0)
    at = 4
    for index, slot in offsets + words + doubles + halves + small:
        entries[index] = at
        at += slot.size
    scalars = tuple(slot for _, slot in words + doubles + halves + small)
    pack = Struct("<i" + "I" * len(offsets) + "".join(slot.code for slot in scalars))
    align = 8 if doubles else 4
    # Positions count from an end that is aligned, so start + 4 + 4 * (offsets and words) is 0 modulo 8.
    residue = (4 + 4 * len(offsets + words)) % 8 if doubles else 0
    vtable = array("H", [4 + 2 * len(entries), at, *entries]).tobytes()
    return WriteLayout(pack, vtable, align, residue, scalars)


def _out_of_range(
    kind: TableType, slots: Iterable[Slot], scalars: Iterable[int | float], error: Exception
) -> ExecutorchError:
    for slot, value in zip(slots, scalars, strict=True):
        try:
            Struct("<" + slot.code).pack(value)
        except (StructError, OverflowError) as cause:
            return ExecutorchError(
                Error.InvalidArgument, f"{kind.name}.{slot.name} cannot be {value!r}: {cause}"
            )
    return ExecutorchError(Error.InvalidArgument, f"{kind.name}: {error}")
