"""FlatBuffers writer, derived from the declarations of tables, on the official builder.

A buffer is built back to front, children before their parents, so that every offset is known when it is written.
Equal strings, equal vtables and equal short vectors are written once. The bytes depend on the values alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import copysign
from struct import error as StructError
from typing import Any, NamedTuple

from flatbuffers.builder import Builder, BuilderSizeError

from et_schema.errors import Error, ExecutorchError
from et_schema.tables import Bytes, Field, Kind, fields_of

SHARED_BYTES = 64
"""Vectors up to this size are written once. Readers rely on it: what vectors expand to is bounded by a budget."""
MAX_SIZE = 2**31 - 1
"""Bytes that the offsets of a flatbuffer reach."""


def encode(
    value: object,
    identifier: bytes,
    *,
    reserve: int = 0,
    alignments: Mapping[type, int] | None = None,
    expected_size: int = 1024,
    size_prefixed: bool = False,
) -> memoryview:
    """The flatbuffer of the table `value`, as memory that may be written to; behind its size, if so asked.

    `reserve` zero bytes follow the identifier. `alignments`, by table, are the least of the aligned bytes in it.
    `expected_size` saves a buffer of many bytes from growing. Raises `ExecutorchError` for values that the schema
    cannot hold (InvalidArgument) and when offsets would not reach (NotSupported).
    """
    writer = Writer(alignments, expected_size)
    try:
        return writer.finish(writer.table(value), identifier, reserve, size_prefixed=size_prefixed)
    except BuilderSizeError:
        raise _too_large(MAX_SIZE + 1) from None


class Writer:
    """Writes tables into a `flatbuffers.Builder`. Positions are the builder's: they count from the end."""

    def __init__(self, alignments: Mapping[type, int] | None = None, expected_size: int = 1024) -> None:
        # The library has no types.
        self.builder: Any = Builder(expected_size)
        self.alignments = alignments or {}
        self._shared: dict[tuple[int, bytes], int] = {}

    def table(self, value: object) -> int:
        """Write a table with all that is below it; its position."""
        layout = _layout(type(value))
        builder = self.builder
        offsets: list[tuple[int, int]] = []
        tags: list[tuple[int, int]] = []
        for item, write in layout.behind:
            child = getattr(value, item.name)
            if child is None or (item.omit_empty and not child):
                continue
            slot = item.slot
            if item.kind is Kind.UNION:
                tags.append((slot, item.types.index(type(child)) + 1))
                slot += 1
            try:
                offsets.append((slot, write(self, item, child)))
            except OverflowError as error:
                raise _does_not_fit(item, f"has an element that does not fit: {error}") from None
        builder.StartObject(layout.slots)
        self._numbers(value, layout.wide)
        for slot, position in offsets:
            builder.PrependUOffsetTRelative(position)
            builder.Slot(slot)
        self._numbers(value, layout.narrow)
        for slot, tag in tags:
            builder.PrependUint8(tag)
            builder.Slot(slot)
        return builder.EndObject()

    def tables(self, positions: Sequence[int]) -> int:
        """Write a vector of tables; `positions` in reverse order, as writing back to front gives them."""
        self.builder.StartVector(4, len(positions), 4)
        for position in positions:
            self.builder.PrependUOffsetTRelative(position)
        return self.builder.EndVector()

    def finish(
        self, root: int, identifier: bytes, reserve: int = 0, *, size_prefixed: bool = False
    ) -> memoryview:
        """The buffer, with `reserve` zero bytes behind the identifier, and behind its size if `size_prefixed`."""
        builder = self.builder
        builder.Prep(max(16, builder.minalign), (12 if size_prefixed else 8) + reserve)
        builder.Pad(reserve)
        if size_prefixed:
            builder.FinishSizePrefixed(root, identifier)
        else:
            builder.Finish(root, identifier)
        buffer = memoryview(builder.Bytes)[builder.Head() :]
        if len(buffer) > MAX_SIZE:
            raise _too_large(len(buffer))
        return buffer

    def _numbers(self, value: object, numbers: Sequence[tuple[Field, str]]) -> None:
        """Write the numbers of a table that are not the default."""
        builder = self.builder
        for item, prepend in numbers:
            number = getattr(value, item.name)
            # -0.0 equals the default but is another value.
            if number != item.default or (
                isinstance(number, float) and not number and copysign(1.0, number) < 0
            ):
                try:
                    getattr(builder, prepend)(number)
                except (TypeError, OverflowError, StructError) as error:
                    raise _does_not_fit(item, f"cannot be {number!r}: {error}") from None
                builder.Slot(item.slot)

    def elements(self, data: bytes, size: int) -> int:
        """Write a vector of elements of `size` bytes, a short one once."""
        if len(data) > SHARED_BYTES:
            return self.place(data, size, size)
        position = self._shared.get((size, data))
        if position is None:
            position = self._shared[size, data] = self.place(data, size, size)
        return position

    def place(self, data: Bytes, size: int, alignment: int) -> int:
        """Write a vector of what `data` holds, as `Builder.CreateByteVector` does for elements of one byte."""
        builder = self.builder
        builder.StartVector(size, len(data) // size, alignment)
        end = builder.head
        builder.head = end - len(data)
        builder.Bytes[builder.head : end] = data
        return builder.EndVector()


def _write_string(writer: Writer, item: Field, value: str) -> int:
    return writer.builder.CreateSharedString(value)


def _write_strings(writer: Writer, item: Field, value: Sequence[str]) -> int:
    return writer.tables([writer.builder.CreateSharedString(element) for element in reversed(value)])


def _write_table(writer: Writer, item: Field, value: object) -> int:
    return writer.table(value)


def _write_tables(writer: Writer, item: Field, value: Sequence[object]) -> int:
    return writer.tables([writer.table(element) for element in reversed(value)])


def _write_vector(writer: Writer, item: Field, value: Sequence[Any]) -> int:
    assert item.scalar is not None
    _, code, size = item.scalar
    return writer.elements(bytes(map(bool, value)) if code == "?" else array(code, value).tobytes(), size)


def _write_bytes(writer: Writer, item: Field, value: Bytes) -> int:
    return writer.elements(bytes(value), 1)


def _write_blob(writer: Writer, item: Field, value: Bytes) -> int:
    alignment = max(item.alignment, writer.alignments.get(item.table, 1))
    return writer.place(memoryview(value).cast("B"), 1, alignment)


_WRITE: dict[Kind, Callable[[Writer, Field, Any], int]] = {
    Kind.STRING: _write_string,
    Kind.STRINGS: _write_strings,
    Kind.BYTES: _write_bytes,
    Kind.BLOB: _write_blob,
    Kind.VECTOR: _write_vector,
    Kind.TABLE: _write_table,
    Kind.TABLES: _write_tables,
    Kind.UNION: _write_table,
}
_PREPEND = {
    "?": "PrependBool",
    "b": "PrependInt8",
    "B": "PrependUint8",
    "h": "PrependInt16",
    "H": "PrependUint16",
    "i": "PrependInt32",
    "I": "PrependUint32",
    "q": "PrependInt64",
    "Q": "PrependUint64",
    "f": "PrependFloat32",
    "d": "PrependFloat64",
}


class _Layout(NamedTuple):
    """The fields of a table in the order in which they are written.

    `behind` an offset, the last first, with what writes them; then `wide` numbers, the offsets, and `narrow`
    numbers by their size, so that there is no padding between them.
    """

    behind: tuple[tuple[Field, Callable[[Writer, Field, Any], int]], ...]
    wide: tuple[tuple[Field, str], ...]
    narrow: tuple[tuple[Field, str], ...]
    slots: int


@cache
def _layout(cls: type) -> _Layout:
    fields = fields_of(cls)
    numbers = [(item, item.scalar) for item in fields if item.inline and item.scalar is not None]
    numbers.sort(key=lambda number: -number[1].size)
    wide, narrow = (
        tuple((item, _PREPEND[scalar.code]) for item, scalar in numbers if (scalar.size == 8) is is_wide)
        for is_wide in (True, False)
    )
    behind = tuple((item, _WRITE[item.kind]) for item in reversed(fields) if not item.inline)
    return _Layout(behind, wide, narrow, fields[-1].slots[-1].number + 1 if fields else 0)


def _does_not_fit(item: Field, problem: str) -> ExecutorchError:
    return ExecutorchError(Error.InvalidArgument, f"{item.table.__name__}.{item.name} {problem}")


def _too_large(size: int) -> ExecutorchError:
    return ExecutorchError(
        Error.NotSupported,
        f"the program needs {size} bytes or more but flatbuffer offsets reach 2 GiB",
        hint="put constants and delegate data in segments",
    )
