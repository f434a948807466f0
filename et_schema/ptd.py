"""The `.ptd` container: named tensors and blobs for programs that keep their data outside of the `.pte`.

    byte 0   u32 position of the root table
         4   "FT01"
         8   "FH01", u32 header length
        16   u64 start and u64 bytes of the flatbuffer behind the header
        32   u64 start of the segments, u64 bytes of the segments

Positions in the flatbuffer count from byte 0, as in a `.pte`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from struct import Struct

from et_schema.digests import decode, is_key
from et_schema.errors import Error, InvalidFile
from et_schema.files import map_file
from et_schema.flat_tensor import FILE_IDENTIFIER, DataSegment, FlatTensor, TensorLayout
from et_schema.reader import Reader, Source
from et_schema.segments import (
    OutputStream,
    SegmentLike,
    align_up,
    check_disjoint,
    place,
    write_segments,
    zeros,
)

HEADER_AT = 8
HEADER_MAGIC = b"FH01"
_HEADER = Struct("<4sIQQQQ")
_RESERVE = _HEADER.size


@dataclass(slots=True)
class PtdFile:
    """A decoded file; `segments` are views of the buffer that was read."""

    tensors: FlatTensor
    segments: list[memoryview]

    def named_data(self) -> dict[str, memoryview]:
        """All blobs by key."""
        return {entry.key: self.segments[entry.segment_index] for entry in self.tensors.named_data}

    def digests(self) -> dict[str, str]:
        """The digests that the file has of its data, by key. Raises `InvalidFile(InvalidExternalData)`."""
        found: dict[str, str] = {}
        for index, entry in enumerate(self.tensors.named_data):
            if is_key(entry.key):
                try:
                    found |= decode(self.segments[entry.segment_index])
                except ValueError as error:
                    raise InvalidFile(
                        f"digests: {error}", code=Error.InvalidExternalData, where=f"named_data[{index}]"
                    ) from None
        return found


def is_ptd(path: Path) -> bool:
    """Whether a file has the identifier of `.ptd` files."""
    with path.open("rb") as stream:
        return stream.read(8)[4:] == FILE_IDENTIFIER


def open_ptd(path: str | os.PathLike[str]) -> PtdFile:
    """Map a file and read it. Raises `InvalidFile(InvalidExternalData)`, or `ExecutorchError(AccessFailed)`."""
    return read_ptd(map_file(path))


def read_ptd(buffer: Source) -> PtdFile:
    """Decode a `.ptd` file without copying its data.

    Raises `InvalidFile(InvalidExternalData)` with the table path and the byte.
    """
    try:
        return _read(memoryview(buffer).cast("B").toreadonly())
    except InvalidFile as error:
        error.code = Error.InvalidExternalData
        raise


def _read(file: memoryview) -> PtdFile:
    if len(file) < HEADER_AT + _HEADER.size:
        raise InvalidFile(f"a file of {len(file)} bytes is too short to hold tensors")
    if bytes(file[4:8]) != FILE_IDENTIFIER:
        from et_schema.file_kinds import kind_of

        kind = kind_of(file)
        if kind is not None:
            raise InvalidFile(f"{kind.name}, not a data file (.ptd)")
    where = "header"
    magic, length, start, size, base, data_size = _HEADER.unpack_from(file, HEADER_AT)
    if magic != HEADER_MAGIC:
        raise InvalidFile(
            f"header starts with {magic!r}, not {HEADER_MAGIC!r}", where=where, offset=HEADER_AT
        )
    if length < _HEADER.size:
        message = f"header claims {length} bytes; at least {_HEADER.size} are required"
        raise InvalidFile(message, where=where, offset=HEADER_AT + 4)
    if start + size > len(file):
        message = f"a flatbuffer of {size} bytes from byte {start} in a file of {len(file)}"
        raise InvalidFile(message, where=where, offset=HEADER_AT + 8, hint="the file may be truncated")
    if data_size and (base < start + size or base + data_size > len(file)):
        message = (
            f"segments at bytes {base}..{base + data_size} overlap the flatbuffer or run past {len(file)}"
        )
        raise InvalidFile(message, where=where, offset=HEADER_AT + 24, hint="the file may be truncated")
    tensors = Reader(file[: start + size]).root(FlatTensor, FILE_IDENTIFIER)
    segments: list[memoryview] = []
    for index, segment in enumerate(tensors.segments):
        if segment.offset + segment.size > data_size:
            message = (
                f"segment at bytes {segment.offset}..{segment.offset + segment.size} runs past {data_size}"
            )
            raise InvalidFile(message, where=f"segments[{index}]")
        segments.append(file[base + segment.offset : base + segment.offset + segment.size])
    check_disjoint([(segment.offset, segment.size) for segment in tensors.segments])
    for index, entry in enumerate(tensors.named_data):
        if entry.segment_index >= len(segments):
            message = f"index {entry.segment_index} where there are {len(segments)}"
            raise InvalidFile(message, where=f"named_data[{index}].segment_index")
        if entry.tensor_layout is not None:
            available = len(segments[entry.segment_index])
            _check_layout(entry.tensor_layout, available, f"named_data[{index}].tensor_layout")
    return PtdFile(tensors, segments)


def _check_layout(layout: TensorLayout, available: int, where: str) -> None:
    """Raise InvalidFile for a layout of no tensor, or of one that needs more than the `available` bytes."""
    rank = len(layout.sizes)
    if len(layout.dim_order) != rank or sorted(layout.dim_order) != list(range(rank)):
        raise InvalidFile(f"dim order is not a permutation of {rank} dimensions", where=f"{where}.dim_order")
    if rank and min(layout.sizes) < 0:
        raise InvalidFile("negative size", where=f"{where}.sizes")
    nbytes = 0 if 0 in layout.sizes else layout.scalar_type.itemsize
    for size in layout.sizes:
        # However many dimensions there are, this stays a short number.
        nbytes = min(nbytes * size, 2**64)
    if nbytes > available:
        raise InvalidFile(f"a tensor of {nbytes} bytes in a segment of {available}", where=f"{where}.sizes")


def write_ptd(
    tensors: FlatTensor,
    segments: Sequence[SegmentLike],
    stream: OutputStream,
    *,
    segment_alignment: int = 128,
) -> int:
    """Write a `.ptd` file and return its size in bytes. The bytes depend on the arguments alone.

    `tensors.segments` is computed from `segments` (its own value is ignored).
    """
    from et_schema.writer import encode

    placement = place(segments, segment_alignment)
    described = replace(tensors, segments=[DataSegment(offset, size) for offset, size in placement.extents])
    encoded = encode(described, FILE_IDENTIFIER, reserve=_RESERVE)
    end = len(encoded)
    base = align_up(end, placement.alignment)
    start = HEADER_AT + _RESERVE
    _HEADER.pack_into(
        encoded, HEADER_AT, HEADER_MAGIC, _HEADER.size, start, end - start, base, placement.size
    )
    stream.write(encoded)
    for block in zeros(base - end):
        stream.write(block)
    write_segments(segments, placement, stream)
    return base + placement.size


def serialize_ptd(
    tensors: FlatTensor, segments: Sequence[SegmentLike] = (), *, segment_alignment: int = 128
) -> bytes:
    """`write_ptd` to memory."""
    stream = io.BytesIO()
    write_ptd(tensors, segments, stream, segment_alignment=segment_alignment)
    return stream.getvalue()
