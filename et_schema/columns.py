"""Tables of one kind read and checked as columns: by a few operations on arrays instead of some for each table.

A program consists of few kinds of tables with many of each, nearly all of which have the same vtable. `Columns` checks
all of a kind at once, with what they refer to, and gives their fields as arrays. `Tables` is the vector of them: a
sequence of which an item is decoded when it is first asked for.

Columns only ever accept. What is not as files nearly always are raises `IrregularError`, whether it is an error of the
file or not, and the file is read table by table, which says what is wrong where. What columns accept, the reader
accepts too, at the same cost against its budgets.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast, overload

import numpy as np

import et_schema.reader as reader_module
from et_schema.errors import InvalidFile
from et_schema.reader import decoder
from et_schema.tables import Field, Kind, fields_of

if TYPE_CHECKING:
    from et_schema.reader import Decoder, Reader

__all__ = ["Columns", "IrregularError", "Lists", "Members", "Tables"]

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
_Table = TypeVar("_Table")

_MOST_VTABLES = 64
"""Different ones among the tables of a column. Writers have a handful."""
_ONE = np.zeros(1, np.intp)


class IrregularError(Exception):
    """The tables are not what nearly all files have: read them one by one."""


class Lists(NamedTuple):
    """A vector for each of some tables: `items` of all in a row, of which those of table `i` are from `starts[i]` up to
    `starts[i + 1]`.
    """

    items: Numbers
    starts: Numbers

    @property
    def counts(self) -> Numbers:
        """The length of each."""
        return np.diff(self.starts)


class Members(NamedTuple):
    """A union in each of some tables. `tags` are the numbers of its types, 0 for none. By number, which of the tables
    have such a member, and these members; None instead of few.
    """

    tags: Numbers
    members: dict[int, tuple[Numbers, Columns | None]]

    def with_tags(self, tags: Set[int]) -> list[int]:
        """The tables that have members of some types."""
        return np.flatnonzero(np.isin(self.tags, list(tags))).tolist()


class Columns:
    """The fields of tables of one kind, at some positions. Raises IrregularError."""

    def __init__(self, reader: Reader, kind: Decoder, at: Numbers) -> None:
        self.count = len(at)
        self._reader = reader
        self._arrays = reader.arrays = reader.arrays or _arrays(reader)
        slots = self._slots(kind, at)
        self._fields = {
            field.name: self._field(field, at, [slots[slot.number] for slot in field.slots])
            for field in fields_of(kind.make)
        }

    def numbers(self, field: str) -> Numbers:
        """A field that holds a number, bool or enumeration: 64-bit integers or floats."""
        return self._fields[field]

    def lists(self, field: str) -> Lists:
        """A field that holds a vector of numbers."""
        return self._fields[field]

    def members(self, field: str) -> Members:
        """A field that holds a union."""
        return self._fields[field]

    def tables(self, field: str) -> tuple[Numbers, Columns | None]:
        """A field that holds a table: which have one, and these; None instead of few."""
        return self._fields[field]

    def _slots(self, kind: Decoder, at: Numbers) -> dict[int, Numbers]:
        """The positions in the tables of what each slot of the vtable stands for, 0 where that is absent."""
        if not len(at):
            return {slot.number: at for slot in kind.slots}
        reader, i32 = self._reader, self._arrays["i32"]
        if (at & 3).any() or int(at.max()) > reader.end - 4:
            raise IrregularError
        vtables = at - i32[at >> 2]
        if (vtables == vtables[0]).all():
            different, which = at[:1], _ONE
        else:
            _, first, which = np.unique(vtables, return_index=True, return_inverse=True)
            different = at[first]
        if len(different) > _MOST_VTABLES:
            raise IrregularError
        with _irregular():
            layouts = [reader.layout(position, kind) for position in different.tolist()]
        sizes, masks, residues = (np.array([layout[part] for layout in layouts])[which] for part in range(3))
        if (at + sizes > reader.end).any() or (at & masks != residues).any():
            raise IrregularError
        # One row for all tables, or one for each.
        places = np.array([layout[3] for layout in layouts], np.int64).reshape(len(layouts), -1)[which]
        return {slot.number: places[:, number] for number, slot in enumerate(kind.slots)}

    def _below(self, kind: type, at: Numbers) -> Columns | None:
        """The tables of another kind, at `at`; None if they are so few that they are read one by one."""
        if len(at) >= max(1, reader_module.LEAST_COLUMN // 5):
            return Columns(self._reader, decoder(kind), at)
        read = decoder(kind).read
        with _irregular():
            for position in at.tolist():
                read(self._reader, position)
        return None

    def _field(self, field: Field, at: Numbers, slots: Sequence[Numbers]) -> Any:
        here = slots[0]
        if len(here) == 1 and not here[0] and field.kind is not Kind.UNION:
            # In no table of many.
            which = offsets = at[:0]
            if field.inline:
                return np.full(self.count, field.default, np.float64 if _is_float(field) else np.int64)
        else:
            place = at + here
            if field.inline:
                return self._inline(field, place, here)
            if field.kind is Kind.UNION:
                return self._union(field, at, *slots)
            which = np.arange(self.count) if len(here) == 1 else np.flatnonzero(here)
            offsets = place[which]
        if field.kind is Kind.TABLE:
            return which, self._below(field.types[0], offsets + self._arrays["u32"][offsets >> 2])
        if field.kind is Kind.VECTOR or field.kind is Kind.BYTES:
            return self._vectors(field, offsets, which)
        if field.kind is Kind.STRING:
            with _irregular():
                for offset in offsets.tolist():
                    self._reader.string(offset, field.name)
            return None
        raise IrregularError

    def _inline(self, field: Field, place: Numbers, here: Numbers) -> Numbers:
        assert field.scalar is not None
        scalar = field.scalar
        view = self._arrays["u8" if field.kind is Kind.BOOL else scalar.name]
        shift = scalar.size.bit_length() - 1
        found = view[place >> shift].astype(np.float64 if scalar.is_float else np.int64, copy=False)
        if len(here) > 1 and not here.all():
            found[here == 0] = field.default
        if scalar.name == "u64" and (found < 0).any():
            raise IrregularError
        if field.kind is Kind.BOOL and (found > 1).any():
            raise IrregularError
        if field.kind is Kind.ENUM:
            numbers = {int(member) for member in cast("type[IntEnum]", field.types[0])}
            alike = bool((found == found[0]).all())
            if not set(found[:1].tolist() if alike else np.unique(found).tolist()) <= numbers:
                raise IrregularError
        return found

    def _vectors(self, field: Field, offsets: Numbers, which: Numbers) -> Lists:
        scalar = field.scalar
        size = 1 if scalar is None else scalar.size
        end, u32 = self._reader.end, self._arrays["u32"]
        starts = np.zeros(self.count + 1, np.int64)
        begin = offsets + u32[offsets >> 2]
        if len(begin) and ((begin & 3).any() or int(begin.max()) > end - 4):
            raise IrregularError
        counts = u32[begin >> 2].astype(np.int64)
        first = begin + 4
        if (first + counts * size > end).any() or (size == 8 and (counts[first & 7 != 0] != 0).any()):
            raise IrregularError
        starts[which + 1] = counts
        np.cumsum(starts, out=starts)
        total = int(starts[-1])
        with _irregular():
            self._reader.charge(total * size, 0, field.name)
        shift = size.bit_length() - 1
        index = np.repeat((first >> shift) - starts[which], counts) + np.arange(total)
        code = "u8" if scalar is None or scalar.code == "?" else scalar.name
        items = self._arrays[code][index]
        if scalar is not None and scalar.code == "?" and total and items.max() > 1:
            raise IrregularError
        return Lists(items, starts)

    def _union(self, field: Field, at: Numbers, kinds: Numbers, values: Numbers) -> Members:
        tags = np.where(kinds != 0, self._arrays["u8"][at + kinds], 0).astype(np.int64)
        values = np.broadcast_to(values, at.shape)
        if (values[tags != 0] == 0).any():
            raise IrregularError
        members: dict[int, tuple[Numbers, Columns | None]] = {}
        present: list[int] = np.unique(tags).tolist()
        for number in present:
            if number == 0:
                continue
            if number > len(field.types):
                raise IrregularError
            which = np.flatnonzero(tags == number)
            offsets = at[which] + values[which]
            children = offsets + self._arrays["u32"][offsets >> 2]
            members[number] = which, self._below(field.types[number - 1], children)
        return Members(tags, members)


def _is_float(field: Field) -> bool:
    return field.scalar is not None and field.scalar.is_float


class Tables(Sequence[_Table]):
    """A vector of tables that have been read as `columns`. An item is decoded when it is first asked for."""

    __slots__ = ("_change", "_decoded", "_kind", "_positions", "_reader", "amended", "columns")

    def __init__(self, reader: Reader, kind: Decoder, at: Numbers) -> None:
        """Raises IrregularError."""
        self.columns = Columns(reader, kind, at)
        self._reader = reader
        self._kind = kind
        self._positions: list[int] = at.tolist()
        self._decoded: list[_Table | None] = [None] * len(at)
        self.amended: Mapping[int, str] = {}
        """What `amend` was given."""
        self._change: Callable[[_Table, str], None] | None = None

    def amend(self, amended: Mapping[int, str], change: Callable[[_Table, str], None]) -> None:
        """Let some items be changed when they are decoded: `change(item, amended[index])`. Columns stay as they are."""
        self.amended, self._change = amended, change
        for at in amended:
            known = self._decoded[at]
            if known is not None:
                change(known, amended[at])

    @classmethod
    def at(cls, reader: Reader, kind: Decoder, first: int, count: int) -> Tables[Any]:
        """Those that `count` offsets from byte `first` on lead to."""
        reader.arrays = reader.arrays or _arrays(reader)
        offsets = np.arange(first, first + 4 * count, 4)
        return cls(reader, kind, offsets + reader.arrays["u32"][offsets >> 2])

    def __len__(self) -> int:
        return len(self._decoded)

    @overload
    def __getitem__(self, index: int) -> _Table: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[_Table]: ...

    def __getitem__(self, index: int | slice) -> _Table | Sequence[_Table]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        found = self._decoded[index]
        if found is None:
            # Threads may both come here; one table is kept.
            index = range(len(self))[index]
            made = cast("_Table", self._kind.read(self._reader, self._positions[index]))
            if self._change is not None and index in self.amended:
                self._change(made, self.amended[index])
            found = self._decoded[index]
            if found is None:
                self._decoded[index] = found = made
        return found

    def __iter__(self) -> Iterator[_Table]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(cast("Sequence[object]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] as lists have none

    def __repr__(self) -> str:
        return repr(list(self))


def _arrays(reader: Reader) -> Mapping[str, Numbers]:
    views: dict[str, memoryview[Any]] = {
        "u8": reader.u8,
        "i8": reader.i8,
        "u16": reader.u16,
        "i16": reader.i16,
        "u32": reader.u32,
        "i32": reader.i32,
        "u64": reader.u64,
        "i64": reader.i64,
        "f32": reader.f32,
        "f64": reader.f64,
    }
    return {name: np.frombuffer(cast("bytes", view), view.format) for name, view in views.items()}


@contextmanager
def _irregular() -> Generator[None]:
    try:
        yield
    except InvalidFile as error:
        raise IrregularError from error
