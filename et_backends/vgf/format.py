"""VGF files, the blobs of `VgfBackend`: SPIR-V modules, constants and their sequence.

A header of 128 bytes locates the four sections: modules, the sequence of segments, resources (types of tensors), and
constants. Modules and constants are interpreted by the Vulkan driver. Source of the format: the schema, the decoder
and the `vgf_dump` of Arm's ML SDK, and its files.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Annotated, Final, TypeVar

from et_schema.delegate_blobs import BlobWrites
from et_schema.errors import Error, InvalidFile
from et_schema.reader import Reader
from et_schema.tables import At, Int64, UInt8, UInt32, table

__all__ = ["BACKEND", "BYTES", "FORMATS", "VgfConstant", "VgfFile", "VgfTensor", "read_vgf", "vgf_writes"]

BACKEND: Final = "VgfBackend"
"""The backend id of blobs in this format."""

_Table = TypeVar("_Table")

_MAGIC: Final = b"VGF1"
_HEADER: Final = struct.Struct("<4s4xBBB5x8Q48x")
_NAMES: Final = ("modules", "sequence", "resources", "constants")
_CONSTANTS: Final = struct.Struct("<8sQ")
_CONSTANT: Final = struct.Struct("<IiQQ")
_CONSTANTS_VERSION: Final = b"CONST00\0"
_HIGHEST_RANK: Final = 32
"""No device has tensors of more dimensions. Many arguments may be of one entry, each with a shape of its own."""

FORMATS: Final = {
    14: "int8",
    75: "int16",
    76: "float16",
    99: "int32",
    100: "float32",
    1000460000: "bool",
}
"""numpy's names of element types, by Vulkan's formats."""

BYTES: Final = {
    **dict.fromkeys((13, 14, 1000460000), 1),
    **dict.fromkeys((74, 75, 76), 2),
    **dict.fromkeys((98, 99, 100), 4),
    **dict.fromkeys((110, 111, 112), 8),
}
"""Bytes of an element of one number, by Vulkan's formats."""


@table
class BindingSlot:
    """A binding, and the resource that it is of."""

    binding: UInt32 = 0
    mrt_index: UInt32 = 0


@table
class ModelSequenceTable:
    """The outputs that a file computes, from which inputs."""

    inputs: Annotated[list[BindingSlot], At(1)] = []
    outputs: list[BindingSlot] = []


@table
class Description:
    """Sizes of a tensor."""

    shape: list[Int64] = []


@table
class ModelResourceTableEntry:
    """Type of a tensor."""

    vk_format: Annotated[UInt32, At(1)] = 0
    category: UInt8 = 0
    description: Description | None = None


@table
class ModelResourceTable:
    """Types of all tensors."""

    mrt_entry: list[ModelResourceTableEntry] = []


@dataclass(frozen=True)
class VgfTensor:
    """An input or output."""

    binding: int
    """Its binding in descriptor set 0."""
    format: int
    """Vulkan's number of its element type."""
    shape: tuple[int, ...]


@dataclass(frozen=True)
class VgfConstant:
    """A constant."""

    format: int
    """Vulkan's number of its element type."""
    shape: tuple[int, ...]
    data: memoryview
    is_sparse: bool
    """Whether the data leaves out zeros."""


@dataclass(frozen=True)
class VgfFile:
    """The sections of a file, its arguments and constants."""

    version: tuple[int, int, int]
    sections: dict[str, memoryview]
    inputs: tuple[VgfTensor, ...]
    outputs: tuple[VgfTensor, ...]
    constants: tuple[VgfConstant, ...]
    """Those of a section of the known version. Of an element type in `BYTES`, the data has the bytes of the shape."""


def read_vgf(blob: memoryview) -> VgfFile:
    """Decode and check all but the modules.

    Raises `InvalidFile(DelegateInvalidCompatibility)` with the section at fault.
    """
    try:
        return _read(blob)
    except InvalidFile as error:
        error.code = Error.DelegateInvalidCompatibility
        raise


def vgf_writes(blob: memoryview, named: Mapping[str, memoryview]) -> BlobWrites:
    """The values that a delegate writes. Raises as `read_vgf` does."""
    return BlobWrites(len(read_vgf(blob).outputs))


def _read(blob: memoryview) -> VgfFile:
    if len(blob) < _HEADER.size:
        raise InvalidFile(f"{len(blob)} bytes, the header has {_HEADER.size}", where="header")
    magic, major, minor, patch, *places = _HEADER.unpack_from(blob)
    if magic != _MAGIC:
        raise InvalidFile(f"the file does not begin with {_MAGIC.decode()}", where="header")
    if major != 0:
        raise InvalidFile(f"version {major}.{minor}.{patch}; versions 0.x are supported", where="header")
    sections: dict[str, memoryview] = {}
    for name, offset, size in zip(_NAMES, places[::2], places[1::2], strict=True):
        if offset < _HEADER.size or offset + size > len(blob):
            raise InvalidFile(f"{size:,} bytes at {offset:,} of {len(blob):,}", where=name)
        sections[name] = blob[offset : offset + size]
    resources = _decoded(sections, "resources", ModelResourceTable).mrt_entry
    sequence = _decoded(sections, "sequence", ModelSequenceTable)

    def tensor(slot: BindingSlot, where: str) -> VgfTensor:
        return VgfTensor(slot.binding, *_tensor(resources, slot.mrt_index, f"sequence.{where}"))

    inputs = tuple(tensor(slot, f"inputs[{at}]") for at, slot in enumerate(sequence.inputs))
    outputs = tuple(tensor(slot, f"outputs[{at}]") for at, slot in enumerate(sequence.outputs))
    constants = tuple(_constants(sections["constants"], resources))
    return VgfFile((major, minor, patch), sections, inputs, outputs, constants)


def _tensor(resources: list[ModelResourceTableEntry], number: int, where: str) -> tuple[int, tuple[int, ...]]:
    """Format and shape of a tensor."""
    entry = resources[number] if number < len(resources) else None
    if entry is None or entry.description is None:
        raise InvalidFile(f"there is no tensor {number}", where=where)
    shape = entry.description.shape
    if len(shape) > _HIGHEST_RANK:
        raise InvalidFile(f"tensor {number} has {len(shape):,} dimensions", where=where)
    return entry.vk_format, tuple(shape)


def _constants(section: memoryview, resources: list[ModelResourceTableEntry]) -> Iterator[VgfConstant]:
    """The constants of a section.

    After the version and their count, it has of each the resource, the sparse dimension, size and offset, then data.
    """
    if len(section) < _CONSTANTS.size:
        return
    version, count = _CONSTANTS.unpack_from(section)
    if version != _CONSTANTS_VERSION:
        return
    there = (len(section) - _CONSTANTS.size) // _CONSTANT.size
    if count > there:
        raise InvalidFile(f"{count:,} constants, of which there is room for {there:,}", where="constants")
    length = len(section) - _CONSTANTS.size - count * _CONSTANT.size
    for at in range(count):
        number, sparse, size, offset = _CONSTANT.unpack_from(section, _CONSTANTS.size + at * _CONSTANT.size)
        where = f"constants[{at}]"
        format, shape = _tensor(resources, number, where)
        if offset + size > length:
            raise InvalidFile(f"{size:,} bytes at {offset:,} of {length:,}", where=where)
        width = BYTES.get(format)
        if min(shape, default=1) < 1 or (width is not None and sparse < 0 and prod(shape) * width != size):
            raise InvalidFile(f"{size:,} bytes for a tensor of sizes {list(shape)}", where=where)
        begin = len(section) - length + offset
        yield VgfConstant(format, shape, section[begin : begin + size], sparse >= 0)


def _decoded(sections: dict[str, memoryview], name: str, kind: type[_Table]) -> _Table:
    """The tables of a section, which has no identifier."""
    section = sections[name]
    try:
        return Reader(section).root(kind, bytes(section[4:8]))
    except InvalidFile as error:
        error.where = f"{name}.{error.where}"
        raise
