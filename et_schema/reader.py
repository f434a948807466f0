"""Verifying FlatBuffers reader, derived from the declarations of tables.

Layout facts used below (https://flatbuffers.dev/internals): all numbers are little-endian and aligned to their size;
an offset is a u32 that counts forward from where it is stored; a table starts with an i32 that, subtracted from the
table's position, gives its vtable; a vtable is u16s: its size, the table's size, then per slot the position of the
field in the table or 0 for an absent one; a vector is a u32 count and its elements; a string is a vector of UTF-8
with a NUL behind it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import IntEnum
from functools import cache
from mmap import mmap
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from et_schema.errors import FIRST, InvalidFile, Problems
from et_schema.tables import Field, Kind, Slot, fields_of

if sys.byteorder != "little":
    raise ImportError(
        "et_schema reads little-endian files through native memory views: little-endian hosts only"
    )

Source = bytes | bytearray | memoryview | mmap

LEAST_COLUMN = 48
"""The length from which on vectors of tables are read as columns. Shorter ones take less time one by one."""

_Table = TypeVar("_Table")
_TOO_MUCH = "overlapping data expands to more than the file can mean"


ReadColumns: TypeAlias = "Callable[[Reader, Decoder, int, int], Sequence[object]]"


class Reader:
    """A bounds-checked cursor over one buffer.

    Every position is checked once: a table's fields when its layout is known, a vector's elements when its
    count is. Work is linear in the buffer's size even when hostile offsets make many parents share one
    child: schemas are not recursive, strings are decoded once per position, and `budget` and `tables_left`
    bound the bytes of vectors and the number of tables in total.

    With `locate`, or `problems` that are collected, `offsets` maps `id(table object)` to its byte. A
    malformed element of a vector of tables is reported to `problems`; if these are collected, an empty table
    stands for it, which is in `lost`.

    Long vectors of the kinds of tables `in_columns` are read by these functions (`et_schema.columns.Tables.at`), given
    the position of the first offset and the number of tables; they may raise `IrregularError`. Their items are decoded
    later: `release` when the budgets have done their work.
    """

    __slots__ = (
        "_layouts",
        "_strings",
        "arrays",
        "budget",
        "end",
        "f32",
        "f64",
        "i8",
        "i16",
        "i32",
        "i64",
        "in_columns",
        "lost",
        "offsets",
        "problems",
        "tables_left",
        "u8",
        "u16",
        "u32",
        "u64",
    )

    def __init__(
        self,
        buffer: Source,
        *,
        locate: bool = False,
        problems: Problems = FIRST,
        in_columns: Mapping[type, ReadColumns] | None = None,
    ) -> None:
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
        # A file that shares nothing spends 1 per byte. The writer shares vectors of up to 64 bytes;
        # what leads to one takes 24 bytes or more of the file, worth 192.
        self.budget = 8 * end
        # A table takes 8 bytes or more with the offset that leads to it, and writers do not share tables.
        self.tables_left = end // 8
        self.problems = problems
        self.offsets: dict[int, int] | None = {} if locate or problems.collects else None
        self.lost: list[tuple[object, InvalidFile]] = []
        self._layouts: dict[int, tuple[int, int, int, tuple[int, ...]]] = {}
        self._strings: dict[int, str] = {}
        self.in_columns: Mapping[type, ReadColumns] = in_columns or {}
        self.arrays: Mapping[str, Any] = {}
        """Arrays of the whole buffer, by the name of what they hold: made when the first columns are read."""

    def release(self) -> None:
        """Let what is left be read without counting it again."""
        self.budget = self.tables_left = sys.maxsize

    def fault(self, message: str, at: int, field: str | None = None) -> InvalidFile:
        return InvalidFile(message, where=field, offset=at)

    def place(self, value: object, at: int) -> None:
        """Remember where a table was."""
        if self.offsets is not None:
            self.offsets[id(value)] = at

    def substitute(self, table: object, at: int, path: str, problem: InvalidFile, known: int) -> object:
        """Report the `problem` of the element `path` at `at`; if that is no exception, `table` stands for it.

        `known` is how many were lost before the element.
        """
        self.within(path, known)
        problem.nest(path)
        self.problems.add(problem)
        self.place(table, at)
        self.lost.append((table, problem))
        return table

    def within(self, path: str, known: int) -> None:
        """Nest the problems of all that was lost but the first `known` in `path`."""
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

    def root(self, kind: type[_Table], identifier: bytes, *, start: int = 0) -> _Table:
        """Decode the whole buffer as a `kind`. Raises `InvalidFile` with the table path and the byte.

        The flatbuffer begins at byte `start`, a multiple of 4; alignments are those in the buffer.
        """
        if self.end < start + 8:
            raise self.fault(f"a flatbuffer of {self.end - start} bytes is too short", self.end, "root table")
        found = bytes(self.u8[start + 4 : start + 8])
        if found != identifier:
            message = f"file identifier {found!r}, expected {identifier!r}"
            raise self.fault(message, start + 4, "file identifier")
        try:
            return cast(_Table, decoder(kind).read(self, start + self.u32[start >> 2]))
        except InvalidFile as error:
            error.where = error.where or "root table"
            raise

    def table(self, at: int, kind: Decoder) -> tuple[int, ...]:
        """Positions of the slots relative to `at`: 0 if absent, else inside of the buffer and aligned."""
        size, mask, residue, positions = self.layout(at, kind)
        if at + size > self.end:
            raise self.fault(f"{kind.name} table of {size} bytes runs past the end", at)
        if at & mask != residue:
            raise self.fault(f"{kind.name} table misaligns its 8-byte fields", at)
        return positions

    def layout(self, at: int, kind: Decoder) -> tuple[int, int, int, tuple[int, ...]]:
        """What the vtable of the table at `at` says: size of the table, mask and residue of its alignment, and the
        positions of the slots.
        """
        if at & 3 or at > self.end - 4:
            raise self.fault(f"{kind.name} table is out of bounds or misaligned", at)
        vtable = at - self.i32[at >> 2]
        key = vtable << 16 | kind.number
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._layouts[key] = self._layout(at, vtable, kind)
        return layout

    def _layout(self, at: int, vtable: int, kind: Decoder) -> tuple[int, int, int, tuple[int, ...]]:
        """Check a vtable: (table size, alignment mask and residue of the table's position, positions of slots)."""
        if vtable < 0 or vtable & 1 or vtable > self.end - 4:
            raise self.fault(f"vtable of {kind.name} is out of bounds or misaligned", at)
        vtable_size, table_size = self.u16[vtable >> 1], self.u16[(vtable >> 1) + 1]
        if vtable_size < 4 or vtable_size & 1 or vtable + vtable_size > self.end:
            raise self.fault(f"vtable of {kind.name} has an invalid size of {vtable_size}", vtable)
        if table_size < 4:
            raise self.fault(f"vtable of {kind.name} gives an invalid table size of {table_size}", vtable)
        mask, residue = 0, 0
        positions: list[int] = []
        for number, name, _, nbytes in kind.slots:
            entry = 4 + 2 * number
            field = self.u16[(vtable + entry) >> 1] if entry < vtable_size else 0
            positions.append(field)
            if field == 0:
                continue
            if field < 4 or field + nbytes > table_size:
                message = f"field {name} is outside its {kind.name} table"
                raise self.fault(message, vtable + entry, name)
            if nbytes == 8 and mask == 0:
                mask, residue = 7, -field & 7
            if (nbytes in (2, 4) and field & (nbytes - 1)) or (nbytes == 8 and (field + residue) & 7):
                message = f"field {name} of {kind.name} is misaligned"
                raise self.fault(message, vtable + entry, name)
        return table_size, mask, residue, tuple(positions)

    def child(self, at: int, kind: Decoder, field: str) -> object:
        """The table that the offset at `at` leads to."""
        known = len(self.lost)
        try:
            value = kind.read(self, at + self.u32[at >> 2])
        except InvalidFile as error:
            self.within(field, known)
            error.nest(field)
            raise
        if len(self.lost) > known:
            self.within(field, known)
        return value

    def union(self, at: int, tag: int, value: int, kinds: Kinds, field: str) -> object:
        """The member of a union of the table at `at`, given the positions of its type and its value in it."""
        number = self.u8[at + tag]
        if number == 0:
            return None
        kind = kinds.members.get(number)
        if kind is None:
            raise self.unknown(kinds.name, number, at + tag, field)
        if not value:
            raise self.fault("union has a type but no value", at, field)
        return self.child(at + value, kind, field)

    def tables(self, at: int, kind: Decoder, field: str) -> list[object]:
        """The vector of tables that the offset at `at` leads to."""
        first, count = self.vector(at, 4, field)
        self.tables_left -= count
        if self.tables_left < 0:
            raise self.fault(_TOO_MUCH, first, field)
        if count >= LEAST_COLUMN and kind.make in self.in_columns:
            return cast("list[object]", self.in_columns[kind.make](self, kind, first, count))
        u32, lost, known = self.u32, self.lost, len(self.lost)
        found: list[object] = []
        for item in range(first, first + 4 * count, 4):
            try:
                found.append(kind.read(self, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"{field}[{len(found)}]"
                found.append(self.substitute(kind.make(), item, path, error, known))
                known = len(lost)
            else:
                if len(lost) > known:
                    self.within(f"{field}[{len(found) - 1}]", known)
                    known = len(lost)
        return found

    def member(self, at: int, number: int, members: Mapping[int, IntEnum], field: str) -> IntEnum:
        """The member of an enumeration with the `number` that is at `at`."""
        found = members.get(number)
        if found is None:
            name = type(next(iter(members.values()))).__name__
            raise self.unknown(name, number, at, field)
        return found

    def vector(self, at: int, itemsize: int, field: str) -> tuple[int, int]:
        """Follow the offset at `at` to a vector: (position of the first element, count)."""
        start = at + self.u32[at >> 2]
        if start & 3 or start > self.end - 4:
            raise self.fault("vector is out of bounds or misaligned", at, field)
        count = self.u32[start >> 2]
        first = start + 4
        if first + count * itemsize > self.end:
            raise self.fault(f"vector of {count} elements runs past the end", start, field)
        if itemsize == 8 and first & 7 and count:
            raise self.fault("vector of 8-byte elements is misaligned", start, field)
        self.charge(count * itemsize, start, field)
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
            raise self.fault("string is out of bounds or misaligned", at, field)
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

    def strings(self, at: int, field: str) -> list[str]:
        """The vector of strings that the offset at `at` leads to."""
        first, count = self.vector(at, 4, field)
        return [self.string(item, field) for item in range(first, first + 4 * count, 4)]

    def blob(self, at: int, field: str) -> memoryview:
        """A byte vector without copying it. Costs nothing per byte, so the budget is left alone."""
        start = at + self.u32[at >> 2]
        if start & 3 or start > self.end - 4:
            raise self.fault("vector is out of bounds or misaligned", at, field)
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

    def numbers(self, at: int, view: memoryview, shift: int, field: str) -> list[int] | list[float]:
        """The vector of `view`'s elements, of `1 << shift` bytes, that the offset at `at` leads to."""
        first, count = self.vector(at, 1 << shift, field)
        first >>= shift
        return view[first : first + count].tolist()


class Decoder:
    """Decoder of one table, compiled from its declaration when it is first read.

    `read(reader, at)` decodes the table at a byte. Loading a program is mostly that, hence straight-line code with
    an expression per field, as dataclasses make their methods, instead of a loop over the fields.
    """

    __slots__ = ("_slots", "make", "name", "number", "read")

    def __init__(self, make: type, number: int) -> None:
        self.make = make
        self.name = make.__name__
        self.number = number
        self._slots: tuple[Slot, ...] | None = None
        self.read: Callable[[Reader, int], object] = self._compile

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots of the fields, in order."""
        if self._slots is None:
            self._slots = tuple([slot for item in fields_of(self.make) for slot in item.slots])
        return self._slots

    def _compile(self, reader: Reader, at: int) -> object:
        declared = fields_of(self.make)
        names: dict[str, Any] = {"DECODER": self, "MAKE": self.make}
        arguments = [_expression(item, names) for item in declared]
        positions = "".join(f"f{slot.number}, " for slot in self.slots)
        lines = [
            "def read(r, at):",
            f"    {positions and positions + '= '}r.table(at, DECODER)",
            f"    value = MAKE({', '.join(arguments)})",
            "    if r.offsets is not None:",
            "        r.offsets[id(value)] = at",
            "    return value",
        ]
        exec(compile("\n".join(lines), f"<decoder of {self.name}>", "exec"), names)
        self.read = names["read"]
        return self.read(reader, at)


class Kinds:
    """The members of a union by their numbers."""

    __slots__ = ("members", "name")

    def __init__(self, name: str, members: tuple[type, ...]) -> None:
        self.name = name
        self.members = {number: decoder(member) for number, member in enumerate(members, 1)}


_decoders: dict[type, Decoder] = {}
_numbers = itertools.count()


def decoder(cls: type) -> Decoder:
    """The decoder of a table, the same one each time."""
    found = _decoders.get(cls)
    if found is None:
        # Threads may both come here: one decoder is kept, and no two have the same number.
        found = _decoders.setdefault(cls, Decoder(cls, next(_numbers)))
    return found


@cache
def _members(enumeration: type[IntEnum]) -> dict[int, IntEnum]:
    return {int(member): member for member in enumeration}


def _expression(item: Field, names: dict[str, Any]) -> str:
    """Python that reads a field of the table at `at`, given its slots `f0` …; adds the `names` that it uses."""
    here = f"f{item.slot}"
    at = f"at + {here}"
    kind, default = f"K{item.slot}", f"D{item.slot}"
    names[default] = item.default
    word = ""
    if item.inline:
        assert item.scalar is not None
        shift = item.scalar.size.bit_length() - 1
        view = "u8" if item.kind is Kind.BOOL else item.scalar.name
        word = f"r.{view}[({at}) >> {shift}]" if shift else f"r.{view}[{at}]"
    match item.kind:
        case Kind.SCALAR:
            found = word
        case Kind.BOOL:
            found = f"r.boolean({at}, {item.name!r})"
        case Kind.ENUM:
            names[kind] = _members(cast(type[IntEnum], item.types[0]))
            found = f"r.member({at}, {word}, {kind}, {item.name!r})"
        case Kind.STRING:
            found = f"r.string({at}, {item.name!r})"
        case Kind.STRINGS:
            found, default = f"r.strings({at}, {item.name!r})", "[]"
        case Kind.BYTES:
            found = f"r.u8_vector({at}, {item.name!r})"
        case Kind.BLOB:
            found = f"r.blob({at}, {item.name!r})"
        case Kind.VECTOR:
            found, default = f"r.bool_vector({at}, {item.name!r})", "[]"
            if item.scalar is not None and item.scalar.code != "?":
                shift = item.scalar.size.bit_length() - 1
                found = f"r.numbers({at}, r.{item.scalar.name}, {shift}, {item.name!r})"
        case Kind.TABLE:
            names[kind] = decoder(item.types[0])
            found = f"r.child({at}, {kind}, {item.name!r})"
        case Kind.TABLES:
            names[kind] = decoder(item.types[0])
            found, default = f"r.tables({at}, {kind}, {item.name!r})", "[]"
        case Kind.UNION:
            names[kind] = Kinds(item.kind_name, item.types)
            found = f"r.union(at, {here}, f{item.slot + 1}, {kind}, {item.name!r})"
    return f"{found} if {here} else {default}"


class TableLocation(NamedTuple):
    """`path` reads like Python (`execution_plan[0].values[12].val`); `offset` is a byte of the file."""

    path: str
    offset: int


def locate_tables(root: object, offsets: dict[int, int]) -> dict[int, TableLocation]:
    """`id(table)` to path and byte, for `root` and all tables below it.

    `offsets` is what `Reader(locate=True)` recorded. Valid while the tree lives.
    """
    found: dict[int, TableLocation] = {}
    pending: list[tuple[Any, str]] = [(root, "")]
    while pending:
        item, path = pending.pop()
        found[id(item)] = TableLocation(path, offsets[id(item)])
        for field in fields(item):
            name = f"{path}.{field.name}" if path else field.name
            value: Any = getattr(item, field.name)
            if is_dataclass(value):
                pending.append((value, name))
            elif isinstance(value, list):
                children = cast(list[Any], value)
                pending += [(c, f"{name}[{i}]") for i, c in enumerate(children) if is_dataclass(c)]
    return found


class Locations:
    """Looks up bytes by path, in what `locate_tables` found."""

    def __init__(self, locations: dict[int, TableLocation]) -> None:
        self._by_path: dict[str, int] = dict(locations.values())

    def byte_of(self, where: str) -> int | None:
        """The byte of the innermost table on the path `where`: of `a[1].b` for `a[1].b.sizes[0]`."""
        while where not in self._by_path:
            if not where:
                return None
            cut = max(where.rfind("."), where.rfind("["))
            where = where[: max(cut, 0)]
        return self._by_path[where]
