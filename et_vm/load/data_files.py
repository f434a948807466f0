"""Data files (`.ptd`): tensors by name, for programs that keep their data outside of the `.pte`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from et_schema import digests
from et_schema.errors import Error, InvalidFile
from et_schema.ptd import read_ptd
from et_vm.load.loader import MmapDataLoader

if TYPE_CHECKING:
    from et_schema.flat_tensor import TensorLayout
    from et_schema.pte import PteFile


class DataFiles(Mapping[str, memoryview]):
    """The data of some files by name, without copies.

    A program takes it if no digest that the program has of it differs from that in the file, or with `any_data`.
    """

    def __init__(self, *, any_data: bool = False) -> None:
        self._any_data = any_data
        self._digests: dict[str, str] = {}
        self._data: dict[str, memoryview] = {}
        self._layouts: dict[str, TensorLayout | None] = {}
        self._sources: dict[str, str] = {}

    @classmethod
    def load(cls, *paths: str | os.PathLike[str], any_data: bool = False) -> DataFiles:
        """Map files. Raises ExecutorchError(AccessFailed); InvalidFile(InvalidExternalData) for what is no data file,
        and for a name that two of them have.
        """
        files = cls(any_data=any_data)
        for path in paths:
            files.add(MmapDataLoader(path).load_all(), os.fspath(path))
        return files

    def add(self, data: bytes | memoryview, source: str = "<memory>") -> None:
        """Add what is in a file; `source` names it in errors. Raises InvalidFile(InvalidExternalData)."""
        try:
            file = read_ptd(data)
            stated = file.digests()
        except InvalidFile as error:
            error.where = f"{source}: {error.where}" if error.where else source
            raise
        for index, entry in enumerate(file.tensors.named_data):
            if digests.is_key(entry.key):
                continue
            if entry.key in self._data:
                raise InvalidFile(
                    f"{entry.key!r} is already in {self._sources[entry.key]}",
                    code=Error.InvalidExternalData,
                    where=f"{source}: named_data[{index}].key",
                )
            self._data[entry.key] = file.segments[entry.segment_index]
            self._layouts[entry.key] = entry.tensor_layout
            self._sources[entry.key] = source
            if entry.key in stated:
                self._digests[entry.key] = stated[entry.key]

    def check(self, pte: PteFile) -> None:
        """Raise InvalidFile(InvalidExternalData) for data that is not what a program was compiled with, unless any may
        be used. Digests are compared, no data is read.
        """
        if not self._any_data:
            digests.check(digests.digests_of(pte), self._digests, self._sources)

    def damaged(self) -> list[InvalidFile]:
        """InvalidFile(InvalidExternalData) for each of the data that has not the digest in its file. Reads all data."""
        # Imported here because starting is part of the time that a run takes.
        from hashlib import sha256

        return [
            InvalidFile(
                f"the data of {name!r} has changed since the file was written",
                code=Error.InvalidExternalData,
                where=self._sources[name],
            )
            for name, digest in self._digests.items()
            if sha256(self._data[name]).hexdigest() != digest
        ]

    def layout(self, name: str) -> TensorLayout | None:
        """Element type, shape and layout of a tensor; None for data that says no such thing, or is not there."""
        return self._layouts.get(name)

    def __getitem__(self, name: str) -> memoryview:
        return self._data[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)
