"""The table of tensors in a ``.ptd`` file.

Generated from flat_tensor.fbs by `python -m et_schema.generate`; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from et_schema.errors import InvalidFile
from et_schema.flatbuffer import Reader, Slot, TableType, Writer
from et_schema.scalar_type import ScalarType

__all__ = [
    "FILE_IDENTIFIER",
    "DataSegment",
    "FlatTensor",
    "NamedData",
    "TensorLayout",
    "read",
    "write",
]

FILE_IDENTIFIER = b"FT01"


@dataclass(slots=True)
class TensorLayout:
    scalar_type: ScalarType = ScalarType.BYTE
    sizes: list[int] = field(default_factory=list[int])
    dim_order: bytes = b""


@dataclass(slots=True)
class DataSegment:
    """Bytes after the flatbuffer; offset counts from the header's segment base."""

    offset: int = 0
    size: int = 0


@dataclass(slots=True)
class NamedData:
    key: str = ""
    segment_index: int = 0
    tensor_layout: TensorLayout | None = None


@dataclass(slots=True)
class FlatTensor:
    version: int = 0
    segments: list[DataSegment] = field(default_factory=list["DataSegment"])
    named_data: list[NamedData] = field(default_factory=list["NamedData"])


_SCALAR_TYPE = {int(member): member for member in ScalarType}
_DATA_SEGMENT = TableType("DataSegment", 0, [Slot("offset", "Q", 8), Slot("size", "Q", 8)])
_TENSOR_LAYOUT = TableType(
    "TensorLayout",
    1,
    [
        Slot("scalar_type", "b", 1),
        Slot("sizes", "", 4),
        Slot("dim_order", "", 4),
    ],
)
_NAMED_DATA = TableType(
    "NamedData",
    2,
    [
        Slot("key", "", 4),
        Slot("segment_index", "I", 4),
        Slot("tensor_layout", "", 4),
    ],
)
_FLAT_TENSOR = TableType(
    "FlatTensor",
    3,
    [
        Slot("version", "I", 4),
        Slot("segments", "", 4),
        Slot("named_data", "", 4),
    ],
)


def _read_data_segment(r: Reader, at: int) -> DataSegment:
    f0, f1 = r.table(at, _DATA_SEGMENT)
    offset = r.u64[(at + f0) >> 3] if f0 else 0
    size = r.u64[(at + f1) >> 3] if f1 else 0
    value = DataSegment(offset, size)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_tensor_layout(r: Reader, at: int) -> TensorLayout:
    f0, f1, f2 = r.table(at, _TENSOR_LAYOUT)
    scalar_type = _SCALAR_TYPE.get(r.i8[at + f0]) if f0 else ScalarType.BYTE
    if scalar_type is None:
        raise r.unknown("ScalarType", r.i8[at + f0], at + f0, "scalar_type")
    sizes = r.i32_vector(at + f1, "sizes") if f1 else []
    dim_order = r.u8_vector(at + f2, "dim_order") if f2 else b""
    value = TensorLayout(scalar_type, sizes, dim_order)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_named_data(r: Reader, at: int) -> NamedData:
    f0, f1, f2 = r.table(at, _NAMED_DATA)
    key = r.string(at + f0, "key") if f0 else ""
    segment_index = r.u32[(at + f1) >> 2] if f1 else 0
    tensor_layout = None
    if f2:
        try:
            tensor_layout = _read_tensor_layout(r, at + f2 + r.u32[(at + f2) >> 2])
        except InvalidFile as error:
            error.nest("tensor_layout")
            raise
    value = NamedData(key, segment_index, tensor_layout)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_flat_tensor(r: Reader, at: int) -> FlatTensor:
    f0, f1, f2 = r.table(at, _FLAT_TENSOR)
    version = r.u32[(at + f0) >> 2] if f0 else 0
    segments: list[DataSegment] = []
    if f1:
        first, count = r.table_vector(at + f1, "segments")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                segments.append(_read_data_segment(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"segments[{len(segments)}]"
                segments.append(r.substitute(DataSegment(), item, path, error))
    named_data: list[NamedData] = []
    if f2:
        first, count = r.table_vector(at + f2, "named_data")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                named_data.append(_read_named_data(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"named_data[{len(named_data)}]"
                named_data.append(r.substitute(NamedData(), item, path, error))
    value = FlatTensor(version, segments, named_data)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _write_data_segment(w: Writer, value: DataSegment) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.offset:
        present |= 0x1
        scalars.append(value.offset)
    if value.size:
        present |= 0x2
        scalars.append(value.size)
    return w.table(_DATA_SEGMENT, present, offsets, scalars)


def _write_tensor_layout(w: Writer, value: TensorLayout) -> int:
    present = 0x6
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.u8_vector(value.dim_order))
    offsets.append(w.i32_vector(value.sizes))
    if value.scalar_type != ScalarType.BYTE:
        present |= 0x1
        scalars.append(value.scalar_type)
    return w.table(_TENSOR_LAYOUT, present, offsets, scalars)


def _write_named_data(w: Writer, value: NamedData) -> int:
    present = 0x1
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.tensor_layout is not None:
        present |= 0x4
        offsets.append(_write_tensor_layout(w, value.tensor_layout))
    offsets.append(w.string(value.key))
    if value.segment_index:
        present |= 0x2
        scalars.append(value.segment_index)
    return w.table(_NAMED_DATA, present, offsets, scalars)


def _write_flat_tensor(w: Writer, value: FlatTensor) -> int:
    present = 0x6
    offsets: list[int] = []
    scalars: list[int | float] = []
    items = [_write_named_data(w, item) for item in reversed(value.named_data)]
    offsets.append(w.tables(items))
    items = [_write_data_segment(w, item) for item in reversed(value.segments)]
    offsets.append(w.tables(items))
    if value.version:
        present |= 0x1
        scalars.append(value.version)
    return w.table(_FLAT_TENSOR, present, offsets, scalars)


def read(reader: Reader, identifier: bytes = FILE_IDENTIFIER) -> FlatTensor:
    """Decode a whole buffer. Raises ``InvalidFile`` with the table path and the byte."""
    return reader.root(identifier, _read_flat_tensor)


def write(writer: Writer, value: FlatTensor) -> int:
    """Encode ``value``; the result is the root for ``Writer.finish``."""
    return _write_flat_tensor(writer, value)
