"""Delegate blobs of a header, a graph, and constants behind it.

ExecuTorch's XNNPACK and Vulkan backends have such.

byte 0   u32 zero
     4   four bytes that say which
     8   u16 header length, 30
    10   u32 start and u32 bytes of the graph, a flatbuffer with positions of its own
    18   u32 start and u64 bytes of the constants
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final, NamedTuple, TypeVar

from et_schema.errors import InvalidFile
from et_schema.reader import Locations, Reader, locate_tables
from et_schema.segments import align_up

__all__ = ["CONSTANT_ALIGNMENT", "MAGIC_AT", "GraphBlob", "decode_graph", "pack_header", "split_blob"]

MAGIC_AT: Final = 4
CONSTANT_ALIGNMENT: Final = 16
"""Alignment of the graph, and of constants, in bytes."""

_HEADER: Final = Struct("<I4sHIIIQ")
_HINT: Final = "the blob may be cut short"

_Graph = TypeVar("_Graph")


class GraphBlob(NamedTuple):
    """The parts of a blob."""

    flatbuffer: memoryview
    """The graph."""
    start: int
    """Its first byte in the blob."""
    constants: memoryview
    """The bytes that follow it."""


def split_blob(blob: memoryview, magic: bytes) -> GraphBlob:
    """The parts of a blob with a header. Raises InvalidFile for a header that makes no sense."""
    where = "header"
    if len(blob) < _HEADER.size:
        raise InvalidFile(f"a blob of {len(blob)} bytes is too short for a header", where=where, offset=0)
    _, found, length, start, size, base, data_size = _HEADER.unpack_from(blob)
    if found != magic:
        raise InvalidFile(f"magic {found!r}, expected {magic!r}", where=where, offset=MAGIC_AT)
    if length < _HEADER.size:
        message = f"header claims {length} bytes; at least {_HEADER.size} are required"
        raise InvalidFile(message, where=where, offset=8)
    if start < length or start + size > len(blob):
        message = f"a graph of {size} bytes from byte {start} in a blob of {len(blob)}"
        raise InvalidFile(message, where=where, offset=10, hint=_HINT)
    if data_size and (base < start + size or base + data_size > len(blob)):
        message = f"constants at bytes {base}..{base + data_size} overlap the graph or run past {len(blob)}"
        raise InvalidFile(message, where=where, offset=18, hint=_HINT)
    return GraphBlob(blob[start : start + size], start, blob[base : base + data_size])


def pack_header(magic: bytes, size: int, data_size: int) -> tuple[bytes, int]:
    """The header of a blob with a graph of `size` bytes, padded to where that begins, and the padding behind it."""
    start = align_up(_HEADER.size, CONSTANT_ALIGNMENT)
    base = align_up(start + size, CONSTANT_ALIGNMENT)
    header = _HEADER.pack(0, magic, _HEADER.size, start, size, base, data_size)
    return header.ljust(start, b"\0"), base - start - size


def decode_graph(
    flatbuffer: memoryview, start: int, kind: type[_Graph], identifier: bytes, check: Callable[[_Graph], None]
) -> _Graph:
    """Decode the graph that starts at byte `start` of a blob, and `check` it.

    Raises InvalidFile with the table path and the byte of the blob.
    """
    try:
        graph = Reader(flatbuffer).root(kind, identifier)
    except InvalidFile as error:
        if error.offset is not None:
            error.offset += start
        raise
    try:
        check(graph)
    except InvalidFile as error:
        # Where the tables are is recorded for graphs that are wrong only.
        reader = Reader(flatbuffer, locate=True)
        again = reader.root(kind, identifier)
        assert reader.offsets is not None
        byte = Locations(locate_tables(again, reader.offsets)).byte_of(error.where or "")
        error.offset = None if byte is None else start + byte
        raise
    return graph
