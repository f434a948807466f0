"""Data loaders of program bytes."""

from __future__ import annotations

import mmap
import os
from abc import ABC, abstractmethod
from contextlib import suppress

import numpy as np

from et_schema.errors import Error, ExecutorchError, access_failed
from et_schema.wording import in_words


class DataLoader(ABC):
    """Random access to the bytes of a file, which stay valid and unchanged as long as a view of them is
    alive.
    """

    name: str = "<program>"

    @property
    @abstractmethod
    def size(self) -> int:
        """Length in bytes."""

    @abstractmethod
    def load(self, offset: int, size: int) -> memoryview:
        """A read-only view of `size` bytes from `offset`.

        Raises ExecutorchError(InvalidArgument) when the range is not inside the data.
        """

    def load_all(self) -> memoryview:
        """A read-only view of everything."""
        return self.load(0, self.size)

    @property
    def has_changed(self) -> bool:
        """Whether what views show is known to be another than when it was loaded."""
        return False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {in_words(self.size, 'byte')}>"


class BytesDataLoader(DataLoader):
    """Bytes already in memory; they are neither copied nor checked for later changes."""

    def __init__(self, data: bytes | bytearray | memoryview, name: str = "<bytes>") -> None:
        self._view = memoryview(data).cast("B").toreadonly()
        self.name = name

    @property
    def size(self) -> int:
        return self._view.nbytes

    def load(self, offset: int, size: int) -> memoryview:
        if offset < 0 or size < 0 or offset + size > self._view.nbytes:
            raise ExecutorchError(
                Error.InvalidArgument,
                f"{size} bytes at {offset} are outside the {self._view.nbytes} available bytes",
                where=self.name,
            )
        return self._view[offset : offset + size]


class FileDataLoader(BytesDataLoader):
    """A file read into memory at once: for files that may change or disappear while they are in use."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises ExecutorchError(AccessFailed) when the file cannot be read."""
        try:
            with open(path, "rb") as file:
                # NumPy asks for huge pages, which kernels read faster (see `_mapped`). A pipe does not tell its size.
                memory = np.empty(os.fstat(file.fileno()).st_size, np.uint8)
                count = file.readinto(memory.data)
                data = memory[:count].data if count else file.read()
        except OSError as error:
            raise access_failed(path, error) from error
        super().__init__(data, os.fspath(path))


class MmapDataLoader(BytesDataLoader):
    """A file mapped read-only: weights are paged in when a kernel first reads them, and shared between
    processes. A file that is written in place meanwhile changes under its views, or ends the process where it became
    shorter; one that is replaced by another of its name does neither.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises ExecutorchError(AccessFailed) when the file cannot be mapped."""
        try:
            with open(path, "rb") as file:
                # An empty file cannot be mapped; the parser is the one to say that it is too short.
                found = os.fstat(file.fileno())
                data = b"" if found.st_size == 0 else _mapped(file.fileno())
        except (OSError, ValueError) as error:
            raise access_failed(path, error) from error
        super().__init__(memoryview(data), os.fspath(path))
        self._found = found

    @property
    def has_changed(self) -> bool:
        """Whether the file, if it still has its name, has another size or time of change."""
        before = self._found
        try:
            now = os.stat(self.name)
        except OSError:
            return False
        same_file = (now.st_dev, now.st_ino) == (before.st_dev, before.st_ino)
        return same_file and (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns)


def _mapped(descriptor: int) -> mmap.mmap:
    """A read-only map of a file, in huge pages where the system has them for files.

    A kernel that reads more weights than caches hold is limited by memory: in pages of 4 kB, which lie
    wherever memory was free, a processor reads ahead less and translates more addresses.
    The advice counts for pages that are not in memory yet.
    """
    made = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # A system without huge pages refuses the advice.
        with suppress(OSError):
            made.madvise(mmap.MADV_HUGEPAGE)
    return made
