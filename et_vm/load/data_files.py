"""Data files (`.ptd`): tensors by name, for programs that keep their data outside of the `.pte`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from et_schema.errors import Error, InvalidFile
from et_schema.ptd import read_ptd
from et_vm.load.loader import MmapDataLoader

if TYPE_CHECKING:
    from et_schema.flat_tensor import TensorLayout


class DataFiles(Mapping[str, memoryview]):
    """The data of some files by name, without copies."""

    def __init__(self) -> None:
        self._data: dict[str, memoryview] = {}
        self._layouts: dict[str, TensorLayout | None] = {}
        self._sources: dict[str, str] = {}

    @classmethod
    def load(cls, *paths: str | os.PathLike[str]) -> DataFiles:
        """Map files. Raises ExecutorchError(AccessFailed); InvalidFile(InvalidExternalData) for what is no data file,
        and for a name that two of them have.
        """
        files = cls()
        for path in paths:
            files.add(MmapDataLoader(path).load_all(), os.fspath(path))
        return files

    def add(self, data: bytes | memoryview, source: str = "<memory>") -> None:
        """Add what is in a file; `source` names it in errors. Raises InvalidFile(InvalidExternalData)."""
        try:
            file = read_ptd(data)
        except InvalidFile as error:
            error.where = f"{source}: {error.where}" if error.where else source
            raise
        for index, entry in enumerate(file.tensors.named_data):
            if entry.key in self._data:
                raise InvalidFile(
                    f"{entry.key!r} is already in {self._sources[entry.key]}",
                    code=Error.InvalidExternalData,
                    where=f"{source}: named_data[{index}].key",
                )
            self._data[entry.key] = file.segments[entry.segment_index]
            self._layouts[entry.key] = entry.tensor_layout
            self._sources[entry.key] = source

    def layout(self, name: str) -> TensorLayout | None:
        """Element type, shape and layout of a tensor; None for data that says no such thing, or is not there."""
        return self._layouts.get(name)

    def __getitem__(self, name: str) -> memoryview:
        return self._data[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)
