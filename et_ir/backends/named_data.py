"""Data that a backend finds by name: weights that partitions and methods share are in the file once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from et_ir.data import Blob

__all__ = ["DataEntry", "NamedDataConflict", "NamedDataStore", "NamedDataStoreOutput"]


class NamedDataConflict(ValueError):
    """Two different data of one name."""


@dataclass(frozen=True)
class DataEntry:
    """Which bytes a name stands for, and their alignment in the file."""

    buffer_index: int
    alignment: int


@dataclass(frozen=True)
class NamedDataStoreOutput:
    """What a store holds: equal bytes are one buffer."""

    buffers: tuple[Blob, ...]
    pte_data: Mapping[str, DataEntry]


class NamedDataStore:
    """Collects data by name. Bytes are not copied, and hashed only where two buffers have one size."""

    def __init__(self) -> None:
        self._buffers: list[Blob] = []
        self._by_size: dict[int, list[int]] = {}
        self._entries: dict[str, DataEntry] = {}

    def add_named_data(self, key: str, data: bytes | Blob, alignment: int | None = None) -> None:
        """Add data under a name. `alignment` is a power of two, in bytes; the largest that is asked for holds.

        Adding the same again changes nothing. Raises `NamedDataConflict` if the name stands for other bytes, and
        `ValueError` for an alignment that is no power of two.
        """
        wanted = 1 if alignment is None else alignment
        if wanted < 1 or wanted & (wanted - 1):
            raise ValueError(f"named data '{key}': an alignment of {wanted} bytes is no power of two")
        blob = data if isinstance(data, Blob) else Blob.of(key, data)
        known = self._entries.get(key)
        if known is not None:
            if self._buffers[known.buffer_index] != blob:
                raise NamedDataConflict(
                    f"two different data are named '{key}'; name data by its content, or by who it belongs to"
                )
            self._entries[key] = DataEntry(known.buffer_index, max(known.alignment, wanted))
            return
        self._entries[key] = DataEntry(self._buffer(blob), wanted)

    def merge_named_data_store(self, other: NamedDataStoreOutput) -> None:
        """Add all that another store holds. Raises as `add_named_data` does."""
        for key, entry in other.pte_data.items():
            self.add_named_data(key, other.buffers[entry.buffer_index], entry.alignment)

    def get_named_data_store_output(self) -> NamedDataStoreOutput:
        """What has been added."""
        return NamedDataStoreOutput(tuple(self._buffers), dict(self._entries))

    def _buffer(self, blob: Blob) -> int:
        same_size = self._by_size.setdefault(blob.nbytes, [])
        for index in same_size:
            if self._buffers[index] == blob:
                return index
        self._buffers.append(blob)
        same_size.append(len(self._buffers) - 1)
        return same_size[-1]
