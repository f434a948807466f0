"""Data that a backend finds by name: weights that partitions and methods share are in the file once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from et_ir.data import Blob, BlobIndex

__all__ = ["DataEntry", "NamedDataConflict", "NamedDataStore", "NamedDataStoreOutput"]


class NamedDataConflict(ValueError):
    """Two different data of one name."""


@dataclass(frozen=True)
class DataEntry:
    """Bytes of a name, and their alignment in the file."""

    buffer_index: int
    alignment: int


@dataclass(frozen=True)
class NamedDataStoreOutput:
    """Content of a store: equal bytes are one buffer."""

    buffers: tuple[Blob, ...]
    pte_data: Mapping[str, DataEntry]
    """Data in the program's file."""
    external_data: Mapping[str, Mapping[str, DataEntry]] = field(
        default_factory=dict[str, Mapping[str, DataEntry]]
    )
    """Data in data files, by file name."""


class NamedDataStore:
    """Collects data by name. Bytes are not copied, and hashed only where two buffers have one size."""

    def __init__(self) -> None:
        self._buffers = BlobIndex()
        self._entries: dict[str, DataEntry] = {}
        self._files: dict[str, str | None] = {}
        """The data file of each name, None for the program's own file."""

    def add_named_data(
        self, key: str, data: bytes | Blob, alignment: int | None = None, external_tag: str | None = None
    ) -> None:
        """Add data under a name. `alignment` is a power of two, in bytes; the largest that is asked for holds.
        `external_tag` is the data file (`.ptd`) that it is written to, that of the first who asks; without one it is in
        the program's file.

        Adding the same again changes nothing. Raises `NamedDataConflict` if the name stands for other bytes, and
        `ValueError` for an alignment that is no power of two, or a data file in a folder.
        """
        if external_tag is not None and (not external_tag or "/" in external_tag):
            raise ValueError(f"named data '{key}': '{external_tag}' is not a file name without folders")
        wanted = 1 if alignment is None else alignment
        if wanted < 1 or wanted & (wanted - 1):
            raise ValueError(f"named data '{key}': an alignment of {wanted} bytes is not a power of two")
        blob = data if isinstance(data, Blob) else Blob.of(key, data)
        known = self._entries.get(key)
        if known is not None:
            if self._buffers.blobs[known.buffer_index] != blob:
                raise NamedDataConflict(
                    f"two different blobs are named '{key}'; name data by its content or by its owner"
                )
            self._entries[key] = DataEntry(known.buffer_index, max(known.alignment, wanted))
            return
        self._entries[key] = DataEntry(self._buffers.add(blob), wanted)
        self._files[key] = external_tag

    def merge_named_data_store(self, other: NamedDataStoreOutput) -> None:
        """Add all that another store holds. Raises as `add_named_data` does."""
        for file, entries in ((None, other.pte_data), *other.external_data.items()):
            for key, entry in entries.items():
                self.add_named_data(key, other.buffers[entry.buffer_index], entry.alignment, file)

    def get_named_data_store_output(self) -> NamedDataStoreOutput:
        """Added data."""
        inside: dict[str, DataEntry] = {}
        outside: dict[str, dict[str, DataEntry]] = {}
        for key, entry in self._entries.items():
            file = self._files[key]
            (inside if file is None else outside.setdefault(file, {}))[key] = entry
        return NamedDataStoreOutput(tuple(self._buffers.blobs), inside, outside)
