"""Protocol Buffers wire format: reading and writing message fields by number.

A field is a varint `number << 3 | kind` and its content: a varint (kind 0), 8 bytes (1), a length and so many bytes
(2), or 4 bytes (5). Numbers of a repeated field are packed into one of kind 2. Source: the page on encoding of
protobuf.dev.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from et_schema.errors import InvalidFile

__all__ = ["bytes_field", "fields", "numbers", "packed_field", "text", "text_field", "varint", "varint_field"]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED: Final = {_FIXED64: 8, _FIXED32: 4}
_MASK: Final = (1 << 64) - 1


def varint(number: int) -> bytes:
    """Seven bits per byte, lowest first; negative numbers are encoded as 64-bit two's complement."""
    number &= _MASK
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def varint_field(number: int, value: int) -> bytes:
    """A field that is an integer, a bool or an enumerator."""
    return varint(number << 3 | _VARINT) + varint(value)


def bytes_field(number: int, data: bytes | memoryview) -> bytes:
    """A field that is bytes or a message."""
    return varint(number << 3 | _BYTES) + varint(len(data)) + bytes(data)


def text_field(number: int, text: str) -> bytes:
    """A field that is text."""
    return bytes_field(number, text.encode())


def packed_field(number: int, values: Iterable[int]) -> bytes:
    """A field that is a list of integers."""
    return bytes_field(number, b"".join(map(varint, values)))


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message in their order: the number of each, and an integer or the bytes without a copy.

    Raises `InvalidFile` for a message that ends early, or has a field of an unknown kind.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise InvalidFile(f"field {number} is of the kind {kind}, which messages do not have")
        if size > len(message) - at:
            raise InvalidFile(f"field {number} has {size:,} bytes, {len(message) - at:,} are left")
        yield number, message[at : at + size]
        at += size


def numbers(content: int | memoryview, *, bits: int = 64) -> list[int]:
    """The signed integers of a field that is one or a packed list of them."""
    found: list[int] = []
    if isinstance(content, int):
        found.append(content)
    else:
        at = 0
        while at < len(content):
            value, at = _varint(content, at)
            found.append(value)
    top = 1 << (bits - 1)
    return [((value & (2 * top - 1)) ^ top) - top for value in found]


def text(content: int | memoryview) -> str:
    """The text of a field. Raises `InvalidFile` for a field of another kind, or invalid UTF-8."""
    if isinstance(content, int):
        raise InvalidFile("an integer where text is expected")
    try:
        return bytes(content).decode()
    except UnicodeDecodeError as error:
        raise InvalidFile("text that is not UTF-8") from error


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise InvalidFile("the message ends within a number")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, at
    raise InvalidFile("a number of more than ten bytes")
