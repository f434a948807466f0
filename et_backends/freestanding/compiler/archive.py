"""Archives of one object, as linkers take libraries.

The format is that of System V and GNU: an index of the symbols, then the object.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

__all__ = ["archive"]

_HEADER_BYTES = 60


def archive(name: str, code: bytes, symbols: Sequence[str]) -> bytes:
    """An archive with an object called `name` (at most 15 characters), which defines `symbols`."""
    strings = b"".join(symbol.encode() + b"\0" for symbol in symbols)
    index_bytes = 4 + 4 * len(symbols) + len(strings)
    place = 8 + _HEADER_BYTES + _even(index_bytes)
    index = struct.pack(f">I{len(symbols)}I", len(symbols), *[place] * len(symbols)) + strings
    return b"!<arch>\n" + _member("/", index) + _member(f"{name[:15]}/", code)


def _member(name: str, data: bytes) -> bytes:
    """A file of the archive, without a date or an owner: the same bytes each time."""
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode()
    assert len(header) == _HEADER_BYTES
    return header + data + b"\n" * (_even(len(data)) - len(data))


def _even(size: int) -> int:
    return size + size % 2
