"""The `.pte` container: a program (flatbuffer), an extended header inside of it, and segments behind it.

    byte 0   u32 position of the root table
         4   "ET12"
         8   "eh00", u32 header length            only when there are segments
        16   u64 bytes of the program, u64 start of the segments, u64 bytes of the segments

Readers that predate the header skip it: it lies in what the flatbuffer regards as padding.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from struct import Struct
from typing import TYPE_CHECKING

from et_schema.errors import FIRST, Error, InvalidFile, Problems
from et_schema.files import map_file
from et_schema.program import (
    FILE_IDENTIFIER,
    BackendDelegateDataReference,
    BackendDelegateInlineData,
    Buffer,
    DataLocation,
    DataSegment,
    EValue,
    Instruction,
    Program,
    SubsegmentOffsets,
)
from et_schema.reader import Locations, Reader, Source, TableLocation, locate_tables
from et_schema.segments import (
    OutputStream,
    SegmentLike,
    align_up,
    check_disjoint,
    place,
    write_segments,
    zeros,
)

if TYPE_CHECKING:
    from et_schema.file_kinds import FileKind

MINIMUM_FILE_SIZE = 64
HEADER_AT = 8
HEADER_MAGIC = b"eh00"
_HEADER = Struct("<4sIQQQ")
# The length of headers from before segment_data_size.
_SHORT_HEADER_SIZE = 24
# Header and padding: with the 8 bytes in front a multiple of 16.
_RESERVE = 40


class NoProgram(InvalidFile):
    """A file of another kind, such as a model that is not compiled."""

    def __init__(self, kind: FileKind) -> None:
        super().__init__(f"{kind.name}, not a compiled program (.pte)", hint=kind.hint or None)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class ExtendedHeader:
    """Sizes in bytes. `segment_base_offset` 0: no segments; `segment_data_size` 0: none, or not
    recorded."""

    program_size: int
    segment_base_offset: int
    segment_data_size: int
    length: int = _HEADER.size

    @classmethod
    def parse(cls, file: memoryview) -> ExtendedHeader | None:
        """The header of a file of at least 64 bytes; `None` if there is none. Raises `InvalidFile`."""
        magic, length, program_size, base, data_size = _HEADER.unpack_from(file, HEADER_AT)
        if magic != HEADER_MAGIC:
            return None
        if length < _SHORT_HEADER_SIZE:
            raise InvalidFile(
                f"extended header claims {length} bytes; at least {_SHORT_HEADER_SIZE} are required",
                where="extended header",
                offset=HEADER_AT + 4,
            )
        return cls(program_size, base, data_size if length >= _HEADER.size else 0, length)


@dataclass(slots=True)
class PteFile:
    """A decoded file. Segments and inline constants are views of the buffer that was read, not copies.

    `locations` (only with `read_pte(locate=True)`) maps `id(table)` of every table of `program` to
    its path and byte. `program.segments[i]` describes `segments[i]`. `malformed` (only with problems that
    are collected) are the ids of the tables that say nothing because they, or what they point to, could not be read.
    `input_names` are, by method, the names of its inputs in order, "" for one without, where the file has names and
    `et_schema.names.apply_names` has read them.
    """

    program: Program
    segments: list[memoryview]
    header: ExtendedHeader | None
    locations: dict[int, TableLocation] | None = None
    malformed: set[int] = field(default_factory=set[int])
    input_names: dict[str, tuple[str, ...]] = field(
        default_factory=dict[str, "tuple[str, ...]"], compare=False
    )
    _named: dict[str, memoryview] | None = field(default=None, compare=False, repr=False)

    def constant(self, index: int, nbytes: int) -> memoryview:
        """The first `nbytes` bytes of the constant `index` (`Tensor.data_buffer_idx`, from 1).

        Raises `InvalidFile` if there is no such constant or it is shorter.
        """
        offsets = self.program.constant_segment
        if offsets is not None and offsets.offsets:
            return self._subsegment(offsets, index, nbytes, "constant_segment")
        buffers = self.program.constant_buffer
        if not 0 < index < len(buffers):
            raise InvalidFile(f"no constant {index} among {len(buffers)}", where="constant_buffer")
        data = memoryview(buffers[index].storage)
        if nbytes > len(data):
            raise InvalidFile(
                f"constant of {len(data)} bytes, expected {nbytes}",
                where=f"constant_buffer[{index}].storage",
            )
        return data[:nbytes]

    def mutable_data(self, segment: int, index: int, nbytes: int) -> memoryview:
        """The initial `nbytes` bytes of mutable buffer `index` in `mutable_data_segments[segment]`.

        Raises `InvalidFile`.
        """
        entries = self.program.mutable_data_segments
        if not 0 <= segment < len(entries):
            raise InvalidFile(f"no entry {segment} among {len(entries)}", where="mutable_data_segments")
        return self._subsegment(entries[segment], index, nbytes, f"mutable_data_segments[{segment}]")

    def _subsegment(self, entry: SubsegmentOffsets, index: int, nbytes: int, where: str) -> memoryview:
        if not 0 < index < len(entry.offsets):
            raise InvalidFile(f"no entry {index} among {len(entry.offsets)}", where=f"{where}.offsets")
        segment = self.segments[entry.segment_index]
        start = entry.offsets[index]
        if start + nbytes > len(segment):
            raise InvalidFile(
                f"{nbytes} bytes from {start} run past segment {entry.segment_index} of {len(segment)} bytes",
                where=f"{where}.offsets[{index}]",
            )
        return segment[start : start + nbytes]

    def delegate_data(self, reference: BackendDelegateDataReference) -> memoryview:
        """The blob of a delegate, inline or in a segment. `reference` is one of this file's: already
        checked."""
        if reference.location == DataLocation.SEGMENT:
            return self.segments[reference.index]
        return memoryview(self.program.backend_delegate_data[reference.index].data)

    def named_data(self) -> Mapping[str, memoryview]:
        """All named blobs by key."""
        if self._named is None:
            count = len(self.segments)
            self._named = {
                entry.key: self.segments[entry.segment_index]
                for entry in self.program.named_data
                # A segment that there is not is reported where problems are collected.
                if 0 <= entry.segment_index < count
            }
        return self._named


def open_pte(path: str | os.PathLike[str], *, locate: bool = False) -> PteFile:
    """Map a file and read it; the map lives as long as views of it do.

    Raises `InvalidFile`, or `ExecutorchError(AccessFailed)` when the file cannot be opened.
    """
    return read_pte(map_file(path), locate=locate)


def read_pte(
    buffer: Source, *, locate: bool = False, problems: Problems = FIRST, columns: bool = False
) -> PteFile:
    """Decode a `.pte` file without copying its data.

    Every offset, size and reference into segments and inline data is checked. What the values and
    instructions of a plan mean to each other is the loader's to check. Raises `InvalidFile` with the
    runtime's error code, the table path and the byte; with `problems` that are collected only for a fault that
    leaves nothing to read. With `columns`, long lists of values and instructions are `et_schema.columns.Tables`, in
    which nothing can be replaced.
    """
    file = memoryview(buffer).cast("B").toreadonly()
    if bytes(file[4:8]) != FILE_IDENTIFIER:
        from et_schema.file_kinds import kind_of

        kind = kind_of(file)
        # Of a few bytes without a meaning, it says more that they are too few.
        if kind is not None and (kind.hint or len(file) >= MINIMUM_FILE_SIZE):
            raise NoProgram(kind)
    if len(file) < MINIMUM_FILE_SIZE:
        raise InvalidFile(
            f"a file of {len(file)} bytes is too short to be a program",
            code=Error.InvalidArgument,
            where="file",
            offset=len(file),
            hint=f"at least {MINIMUM_FILE_SIZE} bytes are required",
        )
    header = ExtendedHeader.parse(file)
    program_size = len(file)
    if header is not None:
        _check_header(header, len(file))
        program_size = header.program_size
    reader = Reader(file[:program_size], locate=locate, problems=problems)
    if columns and reader.offsets is None:
        program = _root_in_columns(file[:program_size]) or reader.root(Program, FILE_IDENTIFIER)
    else:
        program = reader.root(Program, FILE_IDENTIFIER)
    locations = None if reader.offsets is None else locate_tables(program, reader.offsets)
    # Of those that are part of the program: what was lost with its parent is no table of it.
    malformed = {id(table) for table, _ in reader.lost if locations is not None and id(table) in locations}
    try:
        segments = _segments(program, header, file, problems, malformed)
        _check_references(program, segments, problems, malformed)
    except InvalidFile as error:
        if locations is None:
            # Rare enough to find out where by reading again.
            return read_pte(file, locate=True)
        error.offset = Locations(locations).byte_of(error.where or "")
        raise
    return PteFile(program, segments, header, locations, malformed)


def _root_in_columns(data: memoryview) -> Program | None:
    """The program, with its long lists in columns; None if it is not such that this can be done."""
    from et_schema.columns import IrregularError, Tables

    reader = Reader(data, in_columns={EValue: Tables.at, Instruction: Tables.at})
    try:
        program = reader.root(Program, FILE_IDENTIFIER)
    except IrregularError:
        return None
    reader.release()
    return program


def write_pte(
    program: Program,
    segments: Sequence[SegmentLike],
    stream: OutputStream,
    *,
    tensor_alignment: int = 16,
    delegate_alignment: int = 16,
    segment_alignment: int = 128,
) -> int:
    """Write a `.pte` file and return its size in bytes. The bytes depend on the arguments alone.

    `program.segments` is computed from `segments` (its own value is ignored). A segment is a sequence
    of chunks, written in turn, or a `Segment` to align it more. Alignments are in bytes, powers of two;
    the first two are for data inside of the flatbuffer. Without any segment bytes the file has no extended
    header, as upstream's.

    Raises `ExecutorchError` for values that the schema cannot hold.
    """
    from et_schema.writer import encode

    placement = place(segments, segment_alignment)
    described = replace(program, segments=[DataSegment(offset, size) for offset, size in placement.extents])
    alignments = {Buffer: tensor_alignment, BackendDelegateInlineData: delegate_alignment}
    encoded = encode(described, FILE_IDENTIFIER, reserve=_RESERVE, alignments=alignments)
    program_size = len(encoded)
    if placement.size == 0:
        stream.write(encoded)
        return program_size
    base = align_up(program_size, placement.alignment)
    _HEADER.pack_into(encoded, HEADER_AT, HEADER_MAGIC, _HEADER.size, program_size, base, placement.size)
    stream.write(encoded)
    for block in zeros(base - program_size):
        stream.write(block)
    write_segments(segments, placement, stream)
    return base + placement.size


def serialize_pte(
    program: Program,
    segments: Sequence[SegmentLike] = (),
    *,
    tensor_alignment: int = 16,
    delegate_alignment: int = 16,
    segment_alignment: int = 128,
) -> bytes:
    """`write_pte` to memory."""
    stream = io.BytesIO()
    write_pte(
        program,
        segments,
        stream,
        tensor_alignment=tensor_alignment,
        delegate_alignment=delegate_alignment,
        segment_alignment=segment_alignment,
    )
    return stream.getvalue()


def _check_header(header: ExtendedHeader, file_size: int) -> None:
    where = "extended header"
    if header.program_size > file_size:
        raise InvalidFile(
            f"a program of {header.program_size} bytes in a file of {file_size}",
            where=f"{where}.program_size",
            offset=HEADER_AT + 8,
            hint="the file may be truncated",
        )
    if header.segment_base_offset == 0:
        return
    if header.segment_base_offset < header.program_size:
        raise InvalidFile(
            f"segments from byte {header.segment_base_offset} overlap {header.program_size} bytes of program",
            where=f"{where}.segment_base_offset",
            offset=HEADER_AT + 16,
        )
    end = header.segment_base_offset + header.segment_data_size
    if end > file_size:
        raise InvalidFile(
            f"segments end at byte {end} in a file of {file_size}",
            where=f"{where}.segment_data_size",
            offset=HEADER_AT + 24,
            hint="the file may be truncated",
        )


def _segments(
    program: Program,
    header: ExtendedHeader | None,
    file: memoryview,
    problems: Problems,
    malformed: set[int],
) -> list[memoryview]:
    """Views of the segments, all inside of the file and none on top of another."""
    base = header.segment_base_offset if header is not None else 0
    end = len(file)
    if header is not None and header.segment_data_size:
        end = base + header.segment_data_size
    views: list[memoryview] = []
    for index, segment in enumerate(program.segments):
        start = base + segment.offset
        fault, hint = "", None
        if segment.size and base == 0:
            fault = "the program has segments but the extended header does not locate them"
        elif segment.size and start + segment.size > end:
            fault = f"segment at bytes {start}..{start + segment.size} runs past {end}"
            hint = "the file may be truncated"
        if fault and id(segment) not in malformed:
            problems.add(InvalidFile(fault, where=f"segments[{index}]", hint=hint))
            malformed.add(id(segment))
        views.append(file[:0] if fault else file[start : start + segment.size])
    known = [
        (0, 0) if id(segment) in malformed else (segment.offset, segment.size) for segment in program.segments
    ]
    check_disjoint(known, problems)
    return views


def _check_references(
    program: Program, segments: list[memoryview], problems: Problems, malformed: set[int]
) -> None:
    """Everything that points into segments or inline data."""

    def check_index(index: int, count: int, where: str) -> bool:
        if index < count:
            return True
        problems.add(InvalidFile(f"index {index} where there are {count}", where=where))
        return False

    def check_offsets(entry: SubsegmentOffsets, where: str) -> None:
        at = entry.segment_index
        if (
            not check_index(at, len(segments), f"{where}.segment_index")
            or id(program.segments[at]) in malformed
        ):
            malformed.add(id(entry))
            return
        size = len(segments[at])
        for index, offset in enumerate(entry.offsets):
            if offset > size:
                malformed.add(id(entry))
                problems.add(
                    InvalidFile(
                        f"offset {offset} in a segment of {size} bytes", where=f"{where}.offsets[{index}]"
                    )
                )

    if program.named_data and not segments:
        problems.add(
            InvalidFile("named data without segments", code=Error.InvalidArgument, where="named_data")
        )
        malformed.update(map(id, program.named_data))
    else:
        for index, entry in enumerate(program.named_data):
            where, at = f"named_data[{index}].segment_index", entry.segment_index
            if id(entry) not in malformed and (
                not check_index(at, len(segments), where) or id(program.segments[at]) in malformed
            ):
                malformed.add(id(entry))
    constants = program.constant_segment
    if constants is not None and len(constants.offsets) > 1:
        check_offsets(constants, "constant_segment")
    for index, entry in enumerate(program.mutable_data_segments):
        if id(entry) not in malformed:
            check_offsets(entry, f"mutable_data_segments[{index}]")
    for plan_index, plan in enumerate(program.execution_plan):
        for index, delegate in enumerate(plan.delegates):
            if id(delegate) in malformed:
                continue
            where = f"execution_plan[{plan_index}].delegates[{index}].processed"
            reference = delegate.processed
            if reference is None:
                problems.add(InvalidFile("delegate without data", where=where))
                continue
            inline = reference.location == DataLocation.INLINE
            count = len(program.backend_delegate_data if inline else segments)
            if not check_index(reference.index, count, f"{where}.index"):
                malformed.add(id(reference))
