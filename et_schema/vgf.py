"""VGF files, the blobs of `VgfBackend`: SPIR-V modules, constants and their sequence.

A header of 128 bytes locates the four sections: modules, the sequence of segments, resources (types of tensors), and
constants. Modules and constants are interpreted by the Vulkan driver. Source of the format: the schema and the
`vgf_dump` of Arm's ML SDK, and its files.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

from et_schema.errors import Error, InvalidFile
from et_schema.reader import Reader
from et_schema.tables import At, Int64, UInt8, UInt32, table

__all__ = ["BACKEND", "FORMATS", "VgfFile", "VgfTensor", "read_vgf"]

BACKEND: Final = "VgfBackend"
"""The backend id of blobs in this format."""

_Table = TypeVar("_Table")

_MAGIC: Final = b"VGF1"
_HEADER: Final = struct.Struct("<4s4xBBB5x8Q48x")
_NAMES: Final = ("modules", "sequence", "resources", "constants")


FORMATS: Final = {
    14: "int8",
    75: "int16",
    76: "float16",
    99: "int32",
    100: "float32",
    1000460000: "bool",
}
"""numpy's names of element types, by Vulkan's formats."""


@table
class BindingSlot:
    """A binding, and the resource that it is of."""

    binding: UInt32 = 0
    mrt_index: UInt32 = 0


@table
class ModelSequenceTable:
    """What a file computes from which inputs."""

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
class VgfFile:
    """The sections of a file, and its arguments."""

    version: tuple[int, int, int]
    sections: dict[str, memoryview]
    inputs: tuple[VgfTensor, ...]
    outputs: tuple[VgfTensor, ...]


def read_vgf(blob: memoryview) -> VgfFile:
    """Decode and check the header. Raises `InvalidFile(DelegateInvalidCompatibility)` with the section at fault."""
    try:
        return _read(blob)
    except InvalidFile as error:
        error.code = Error.DelegateInvalidCompatibility
        raise


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
        entry = resources[slot.mrt_index] if slot.mrt_index < len(resources) else None
        if entry is None or entry.description is None:
            raise InvalidFile(f"there is no tensor {slot.mrt_index}", where=f"sequence.{where}")
        return VgfTensor(slot.binding, entry.vk_format, tuple(entry.description.shape))

    inputs = tuple(tensor(slot, f"inputs[{at}]") for at, slot in enumerate(sequence.inputs))
    outputs = tuple(tensor(slot, f"outputs[{at}]") for at, slot in enumerate(sequence.outputs))
    return VgfFile((major, minor, patch), sections, inputs, outputs)


def _decoded(sections: dict[str, memoryview], name: str, kind: type[_Table]) -> _Table:
    """The tables of a section, which has no identifier."""
    section = sections[name]
    try:
        return Reader(section).root(kind, bytes(section[4:8]))
    except InvalidFile as error:
        error.where = f"{name}.{error.where}"
        raise
