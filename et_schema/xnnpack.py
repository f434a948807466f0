"""Blobs for the XNNPACK backend: a header, the graph, and the constants.

    byte 0   u32 zero
         4   "XH00"
         8   u16 header length, 30
        10   u32 start and u32 bytes of the graph, a flatbuffer with positions of its own
        18   u32 start and u64 bytes of the constants behind it

A blob without the header is the flatbuffer alone, with its constants in it (generation XN00).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import Struct

from et_schema.errors import Error, InvalidFile
from et_schema.reader import Locations, Reader, Source, locate_tables
from et_schema.segments import Chunk, OutputStream, Padding, align_up, chunk_size, write_chunk
from et_schema.xnnpack_check import check_graph
from et_schema.xnnpack_graph import FILE_IDENTIFIER, XNNGraph

MAGIC_AT = 4
HEADER_MAGIC = b"XH00"
OLD_IDENTIFIER = b"XN00"
CONSTANT_ALIGNMENT = 16
_HEADER = Struct("<I4sHIIIQ")


@dataclass(slots=True)
class XnnpackBlob:
    """A decoded blob; `constants` is a view of the buffer that was read: what follows the graph."""

    graph: XNNGraph
    constants: memoryview

    def constant(self, index: int, named_data: Mapping[str, memoryview]) -> memoryview:
        """The bytes of a constant of the graph, which may be in the program's `named_data`.

        Raises InvalidFile(DelegateInvalidCompatibility) for data that the program does not have.
        """
        if self.graph.constant_buffer:
            return memoryview(self.graph.constant_buffer[index].storage)
        data = self.graph.constant_data[index]
        if not data.named_key:
            return self.constants[data.offset : data.offset + data.size]
        named = named_data.get(data.named_key)
        if named is None:
            raise InvalidFile(
                f"the program has no data named {data.named_key!r}",
                code=Error.DelegateInvalidCompatibility,
                where=f"constant_data[{index}].named_key",
                hint="if it is in a data file, pass the file (et-vm run --data FILE.ptd)",
            )
        return named


def read_xnnpack(buffer: Source) -> XnnpackBlob:
    """Decode and check a blob without copying its constants.

    Raises `InvalidFile(DelegateInvalidCompatibility)` with the table path and the byte of the blob.
    """
    blob = memoryview(buffer).cast("B").toreadonly()
    try:
        return _read(blob)
    except InvalidFile as error:
        error.code = Error.DelegateInvalidCompatibility
        raise


def _read(blob: memoryview) -> XnnpackBlob:
    if bytes(blob[MAGIC_AT : MAGIC_AT + 4]) in (OLD_IDENTIFIER, FILE_IDENTIFIER):
        return XnnpackBlob(_graph(blob, 0, 0), blob[:0])
    where = "header"
    if len(blob) < _HEADER.size:
        raise InvalidFile(f"a blob of {len(blob)} bytes is too short for a header", where=where, offset=0)
    _, magic, length, start, size, base, data_size = _HEADER.unpack_from(blob)
    if magic != HEADER_MAGIC:
        raise InvalidFile(f"magic {magic!r}, expected {HEADER_MAGIC!r}", where=where, offset=MAGIC_AT)
    if length < _HEADER.size:
        message = f"header claims {length} bytes; at least {_HEADER.size} are required"
        raise InvalidFile(message, where=where, offset=8)
    hint = "the blob may be cut short"
    if start < length or start + size > len(blob):
        message = f"a graph of {size} bytes from byte {start} in a blob of {len(blob)}"
        raise InvalidFile(message, where=where, offset=10, hint=hint)
    if data_size and (base < start + size or base + data_size > len(blob)):
        message = f"constants at bytes {base}..{base + data_size} overlap the graph or run past {len(blob)}"
        raise InvalidFile(message, where=where, offset=18, hint=hint)
    graph = _graph(blob[start : start + size], start, data_size)
    return XnnpackBlob(graph, blob[base : base + data_size])


def _graph(flatbuffer: memoryview, start: int, data_size: int) -> XNNGraph:
    """Decode and check the graph that starts at byte `start`."""
    found = bytes(flatbuffer[4:8])
    identifier = OLD_IDENTIFIER if found == OLD_IDENTIFIER else FILE_IDENTIFIER
    try:
        graph = Reader(flatbuffer).root(XNNGraph, identifier)
    except InvalidFile as error:
        if error.offset is not None:
            error.offset += start
        raise
    try:
        check_graph(graph, data_size)
    except InvalidFile as error:
        # Where the tables are is recorded for graphs that are wrong only.
        reader = Reader(flatbuffer, locate=True)
        again = reader.root(XNNGraph, identifier)
        assert reader.offsets is not None
        byte = Locations(locate_tables(again, reader.offsets)).byte_of(error.where or "")
        error.offset = None if byte is None else start + byte
        raise
    return graph


def xnnpack_chunks(graph: XNNGraph, constants: Sequence[Chunk] = ()) -> list[Chunk]:
    """A blob in order, in chunks: what `constants` are made of follows the graph, at a multiple of 16 bytes.

    The bytes depend on the arguments alone. Says nothing of whether the graph means something:
    `et_schema.xnnpack_check.check_graph` does.
    """
    from et_schema.writer import encode

    flatbuffer = encode(graph, FILE_IDENTIFIER)
    start = align_up(_HEADER.size, CONSTANT_ALIGNMENT)
    size = len(flatbuffer)
    base = align_up(start + size, CONSTANT_ALIGNMENT)
    data_size = sum(map(chunk_size, constants))
    header = _HEADER.pack(0, HEADER_MAGIC, _HEADER.size, start, size, base, data_size)
    chunks: list[Chunk] = [header.ljust(start, b"\0"), flatbuffer]
    if base > start + size:
        chunks.append(Padding(base - start - size))
    return [*chunks, *constants]


def write_xnnpack(graph: XNNGraph, constants: Sequence[Chunk], stream: OutputStream) -> int:
    """Write a blob and return its size in bytes."""
    chunks = xnnpack_chunks(graph, constants)
    for chunk in chunks:
        write_chunk(chunk, stream)
    return sum(map(chunk_size, chunks))


def node_identifier(debug_handle: int) -> str:
    """The identifier of a node in traces and delegate maps, by its debug handle."""
    # Text, since upstream's tools look for the digits of numbers in the names of XNNPACK's own events.
    return f"node {debug_handle}"


def serialize_xnnpack(graph: XNNGraph, constants: Sequence[Chunk] = ()) -> bytes:
    """`write_xnnpack` to memory."""
    stream = io.BytesIO()
    write_xnnpack(graph, constants, stream)
    return stream.getvalue()
