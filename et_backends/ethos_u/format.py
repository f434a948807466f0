"""Blobs of the backend `EthosUBackend`: a command stream for an Ethos-U, its weights, and where its values are.

A blob is a sequence of blocks: a name of 16 bytes that ends in zeros, a length i32, a byte that is 1 where the data are
the name of data elsewhere, 11 zeros, and the data, padded to 16 bytes. The first and the last are empty and mark the
stream. Numbers are little-endian. Source of the format: the reader of ExecuTorch's Arm backend, `VelaBinStream`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from et_schema.delegate_blobs import BlobWrites
from et_schema.errors import Error, InvalidFile

__all__ = [
    "BACKEND",
    "ESTIMATE_SPEC",
    "VelaProgram",
    "VelaTensor",
    "ethos_u_writes",
    "read_vela",
    "serialize_vela",
]

BACKEND: Final = "EthosUBackend"
"""The backend id of blobs in this format."""
ESTIMATE_SPEC: Final = "vela_estimate"
"""The compile spec with the compiler's estimate of memory and time, JSON, which runtimes do not read."""

_HEADER: Final = struct.Struct("<16siB11s")
_TENSOR: Final = struct.Struct("<9i")
_RANK: Final = 6
_ALIGNMENT: Final = 16
_FIRST: Final = "vela_bin_stream"
_LAST: Final = "vela_end_stream"
_NAMES: Final = ("cmd_data", "weight_data", "scratch_size", "inputs", "outputs")
_MAGIC: Final = b"COP1"
"""The first bytes of a command stream for Arm's driver."""


@dataclass(frozen=True)
class VelaTensor:
    """An input or output."""

    shape: tuple[int, ...]
    """Six sizes; those in front are 1."""
    element_size: int
    """Bytes of an element."""
    offset: int
    """Place in the region, in bytes."""
    region: int
    """Number of the region of memory, as commands name it: that of the working memory."""

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.element_size


@dataclass(frozen=True)
class VelaProgram:
    """A program of an Ethos-U."""

    commands: bytes | memoryview
    """The command stream in the form of Arm's driver."""
    weights: bytes | memoryview
    """Encoded weights, and scales of results."""
    scratch_size: int
    """Bytes of working memory, inputs and outputs among them."""
    inputs: tuple[VelaTensor, ...]
    """In the order of the arguments."""
    outputs: tuple[VelaTensor, ...]
    """In the order of the results."""


def serialize_vela(program: VelaProgram) -> bytes:
    """The blob of a program."""
    data = (
        program.commands,
        program.weights,
        struct.pack("<I", program.scratch_size),
        _tensor_bytes(program.inputs),
        _tensor_bytes(program.outputs),
    )
    blocks = [(_FIRST, b""), *zip(_NAMES, data, strict=True), (_LAST, b"")]
    return b"".join(_block(name, bytes(content)) for name, content in blocks)


def _block(name: str, data: bytes) -> bytes:
    return _HEADER.pack(name.encode(), len(data), 0, b"") + data + b"\0" * (-len(data) % _ALIGNMENT)


def _tensor_bytes(tensors: Sequence[VelaTensor]) -> bytes:
    packed = (_TENSOR.pack(*one.shape, one.element_size, one.offset, one.region) for one in tensors)
    return struct.pack("<i", len(tensors)) + b"".join(packed)


def read_vela(buffer: bytes | memoryview) -> VelaProgram:
    """Decode and check a blob without copying commands and weights.

    Raises `InvalidFile(DelegateInvalidCompatibility)` with the byte or the block at fault.
    """
    try:
        return _read(memoryview(buffer).cast("B").toreadonly())
    except InvalidFile as error:
        error.code = Error.DelegateInvalidCompatibility
        raise


def ethos_u_writes(blob: memoryview, named: Mapping[str, memoryview]) -> BlobWrites:
    """The values that a delegate writes. Raises as `read_vela` does."""
    return BlobWrites(len(read_vela(blob).outputs))


def _read(buffer: memoryview) -> VelaProgram:
    blocks: dict[str, memoryview] = {}
    for name, data in _blocks(buffer):
        if name not in _NAMES:
            raise InvalidFile(f"unknown block {name!r}; blocks are: {', '.join(_NAMES)}", where=name)
        if name in blocks:
            raise InvalidFile("there are two blocks of the name", where=name)
        blocks[name] = data
    for name in _NAMES:
        if name not in blocks:
            raise InvalidFile(f"the block {name!r} is missing", where=name)
    if bytes(blocks["cmd_data"][:4]) != _MAGIC:
        raise InvalidFile(f"the command stream does not begin with {_MAGIC.decode()}", where="cmd_data")
    if len(blocks["scratch_size"]) != 4:
        raise InvalidFile(f"{len(blocks['scratch_size'])} bytes, not 4", where="scratch_size")
    (scratch,) = struct.unpack("<I", blocks["scratch_size"])
    inputs, outputs = (_tensors(blocks[name], name, scratch) for name in ("inputs", "outputs"))
    return VelaProgram(blocks["cmd_data"], blocks["weight_data"], scratch, inputs, outputs)


def _blocks(buffer: memoryview) -> Iterator[tuple[str, memoryview]]:
    """The blocks between the first and the last."""
    at = 0
    is_first = True
    while True:
        if at + _HEADER.size > len(buffer):
            raise InvalidFile(f"the stream ends at byte {len(buffer)} without {_LAST}", offset=at)
        name, length, is_elsewhere, _ = _HEADER.unpack_from(buffer, at)
        text = name.rstrip(b"\0").decode("ascii", "replace")
        begin = at + _HEADER.size
        if not 0 <= length <= len(buffer) - begin:
            left = len(buffer) - begin
            raise InvalidFile(f"{length} bytes are said of block {text!r}, {left} are there", offset=at)
        if is_first is not (text == _FIRST):
            raise InvalidFile(f"{_FIRST} is the first block, and no other", offset=at)
        if is_elsewhere:
            raise InvalidFile("data outside of the blob are not supported", where=text)
        if text == _LAST:
            return
        if not is_first:
            yield text, buffer[begin : begin + length]
        is_first = False
        at = begin + -(-length // _ALIGNMENT) * _ALIGNMENT


def _tensors(data: memoryview, where: str, scratch: int) -> tuple[VelaTensor, ...]:
    (count,) = struct.unpack_from("<i", data) if len(data) >= 4 else (-1,)
    if count < 0 or len(data) != 4 + count * _TENSOR.size:
        raise InvalidFile(f"{len(data)} bytes for {count} tensors", where=where)
    found: list[VelaTensor] = []
    for number, numbers in enumerate(_TENSOR.iter_unpack(data[4:])):
        shape, (element_size, offset, region) = numbers[:_RANK], numbers[_RANK:]
        tensor = VelaTensor(shape, element_size, offset, region)
        good = min(shape) >= 0 and element_size in (1, 2, 4, 8) and 0 <= offset <= scratch - tensor.nbytes
        if not good:
            raise InvalidFile(
                f"{list(shape)} of {element_size} bytes at {offset} of {scratch}", where=f"{where}[{number}]"
            )
        found.append(tensor)
    return tuple(found)
