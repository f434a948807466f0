"""Blobs for the XNNPACK backend: a header (`et_schema.graph_blob`), the graph, and the constants.

A blob without the header is the flatbuffer alone, with its constants in it (generation XN00).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from et_backends.xnnpack.format.check import check_graph
from et_backends.xnnpack.format.graph import FILE_IDENTIFIER, XNNGraph
from et_schema.delegate_blobs import BlobWrites
from et_schema.errors import Error, InvalidFile
from et_schema.graph_blob import MAGIC_AT, decode_graph, pack_header, split_blob
from et_schema.reader import Source
from et_schema.segments import Chunk, OutputStream, Padding, chunk_size, write_chunk
from et_schema.wording import data_file

HEADER_MAGIC = b"XH00"
OLD_IDENTIFIER = b"XN00"


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
                hint=f"if it is in a data file, pass the file: {data_file()}",
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


def xnnpack_writes(blob: memoryview, named: Mapping[str, memoryview]) -> BlobWrites:
    """The values that a delegate writes. Raises as `read_xnnpack` does."""
    return BlobWrites(len(read_xnnpack(blob).graph.output_ids))


def _read(blob: memoryview) -> XnnpackBlob:
    if bytes(blob[MAGIC_AT : MAGIC_AT + 4]) in (OLD_IDENTIFIER, FILE_IDENTIFIER):
        return XnnpackBlob(_graph(blob, 0, 0), blob[:0])
    parts = split_blob(blob, HEADER_MAGIC)
    return XnnpackBlob(_graph(parts.flatbuffer, parts.start, len(parts.constants)), parts.constants)


def _graph(flatbuffer: memoryview, start: int, data_size: int) -> XNNGraph:
    """Decode and check the graph that starts at byte `start`."""
    found = bytes(flatbuffer[4:8])
    identifier = OLD_IDENTIFIER if found == OLD_IDENTIFIER else FILE_IDENTIFIER
    return decode_graph(flatbuffer, start, XNNGraph, identifier, lambda graph: check_graph(graph, data_size))


def xnnpack_chunks(graph: XNNGraph, constants: Sequence[Chunk] = ()) -> list[Chunk]:
    """A blob in order, in chunks: what `constants` are made of follows the graph, at a multiple of 16 bytes.

    The bytes depend on the arguments alone. Says nothing of whether the graph means something:
    `et_backends.xnnpack.format.check.check_graph` does.
    """
    from et_schema.writer import encode

    flatbuffer = encode(graph, FILE_IDENTIFIER)
    header, padding = pack_header(HEADER_MAGIC, len(flatbuffer), sum(map(chunk_size, constants)))
    chunks: list[Chunk] = [header, flatbuffer]
    if padding:
        chunks.append(Padding(padding))
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
