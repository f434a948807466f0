"""The weight store: the blobs of a program in one `.safetensors` file beside its text.

The file is what the `safetensors` library reads and writes. It is written here in a stream, one blob at a
time, and read through a memory map, because the library's own functions hold all tensors in memory at once.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, cast

from et_ir.data.blob import Blob

__all__ = ["StoreError", "WeightStore", "is_weight_store", "write_store"]

# safetensors' dtype names by MLIR element type.
DTYPES = {
    "i1": "BOOL", "ui8": "U8", "i8": "I8", "i16": "I16", "i32": "I32", "i64": "I64",
    "f16": "F16", "bf16": "BF16", "f32": "F32", "f64": "F64",
}  # fmt: skip


class StoreError(Exception):
    """The file is not a weight store, or not the one that belongs to the program."""


def write_store(stream: IO[bytes], entries: Iterable[tuple[Blob, str, tuple[int, ...]]]) -> None:
    """Write blobs, keyed by their SHA-256, each with its element type and shape; equal blobs are written
    once.

    Raises `MissingData` for an unresolved blob.
    """
    unique: dict[str, tuple[Blob, str, tuple[int, ...]]] = {}
    for entry in entries:
        unique.setdefault(entry[0].sha256, entry)
    header: dict[str, Any] = {}
    offset = 0
    for sha256, (blob, dtype, shape) in unique.items():
        if dtype in DTYPES:
            kind, dims = DTYPES[dtype], list(shape)
        else:
            kind, dims = "U8", [blob.nbytes]
        header[sha256] = {"dtype": kind, "shape": dims, "data_offsets": [offset, offset + blob.nbytes]}
        offset += blob.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    stream.write(len(text).to_bytes(8, "little"))
    stream.write(text)
    for blob, _, _ in unique.values():
        stream.write(blob.view())


def is_weight_store(path: Path) -> bool:
    """Whether a file is one that `write_store` has written: its names are digests, those of other files are not."""
    try:
        names = WeightStore(path).names
    except (StoreError, OSError):
        return False
    return all(re.fullmatch("[0-9a-f]{64}", name) for name in names)


class WeightStore:
    """A memory-mapped `.safetensors` file. Raises `StoreError` if it is not one, `OSError` if it cannot be
    opened.
    """

    def __init__(self, path: Path):
        self.path = path
        with path.open("rb") as file:
            size = path.stat().st_size
            if size < 8:
                raise StoreError(f"{path}: not a weight store: {size} bytes, at least 8 expected")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        view = memoryview(self._map)
        length = int.from_bytes(view[:8], "little")
        if length > size - 8:
            raise StoreError(f"{path}: not a weight store: its header of {length} bytes exceeds the file")
        try:
            header = cast("dict[str, Any]", json.loads(bytes(view[8 : 8 + length])))
            self._ranges = {
                name: (int(entry["data_offsets"][0]), int(entry["data_offsets"][1]))
                for name, entry in header.items()
                if name != "__metadata__"
            }
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise StoreError(f"{path}: not a weight store: its header cannot be read ({error})") from error
        self._data = view[8 + length :]
        for name, (start, end) in self._ranges.items():
            if not 0 <= start <= end <= len(self._data):
                raise StoreError(f"{path}: entry '{name}' lies outside of the file")

    @property
    def names(self) -> list[str]:
        """The names of its entries."""
        return list(self._ranges)

    def resolve(self, blob: Blob) -> bool:
        """Give a blob its bytes if the store has them. Raises `StoreError` on a size mismatch."""
        found = self._ranges.get(blob.sha256)
        if found is None:
            return False
        try:
            blob.resolve(self._data[found[0] : found[1]])
        except ValueError as error:
            raise StoreError(f"{self.path}: {error}") from error
        return True
