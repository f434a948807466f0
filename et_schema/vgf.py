"""VGF files, the blobs of `VgfBackend`: SPIR-V modules, constants and their sequence.

A header of 128 bytes locates the four sections: modules, the sequence of segments, resources (types of tensors), and
constants. Their contents are interpreted by the Vulkan driver. Source of the format: `vgf_dump` of Arm's ML SDK, and
its files.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from et_schema.errors import Error, InvalidFile

__all__ = ["BACKEND", "VgfFile", "read_vgf"]

BACKEND: Final = "VgfBackend"
"""The backend id of blobs in this format."""

_MAGIC: Final = b"VGF1"
_HEADER: Final = struct.Struct("<4s4xBBB5x8Q48x")
_NAMES: Final = ("modules", "sequence", "resources", "constants")


@dataclass(frozen=True)
class VgfFile:
    """The sections of a file."""

    version: tuple[int, int, int]
    sections: dict[str, memoryview]


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
    return VgfFile((major, minor, patch), sections)
