"""Memory for tensors outside of the C library's: temporary files, and pages.

Files are for what is too much to hold and is read again, pages for what is needed shortly.
"""

from __future__ import annotations

import mmap
import tempfile
from contextlib import suppress
from typing import Final
from weakref import WeakValueDictionary

__all__ = ["release", "returned_memory", "temporary_memory"]

_MAPS: Final[WeakValueDictionary[int, mmap.mmap]] = WeakValueDictionary()
"""By the address of the first byte."""


def temporary_memory(nbytes: int) -> mmap.mmap:
    """Zeros in a temporary file, which the system may write out when it needs the memory."""
    with tempfile.TemporaryFile() as file:
        file.truncate(nbytes)
        memory = mmap.mmap(file.fileno(), nbytes)
    _MAPS[_address(memory)] = memory
    return memory


def returned_memory(nbytes: int) -> mmap.mmap | bytearray:
    """Zeros that go back to the system when they are not used any more: the C library would keep the pages, and could
    not use them again for as much where something small has been put between.
    """
    private: int = getattr(mmap, "MAP_PRIVATE", 0)
    if not private:
        return bytearray(nbytes)
    memory = mmap.mmap(-1, nbytes, flags=private | mmap.MAP_ANONYMOUS)
    advice: int | None = getattr(mmap, "MADV_HUGEPAGE", None)
    if advice is not None:
        with suppress(OSError):  # a kernel without large pages
            memory.madvise(advice)
    return memory


def release(address: int) -> None:
    """Take the pages of such memory from those of the process, if it begins at an address.

    They stay in the cache of the system, and come back when they are read.
    """
    memory = _MAPS.get(address)
    advice: int | None = getattr(mmap, "MADV_DONTNEED", None)
    if memory is not None and advice is not None:
        memory.madvise(advice)


def _address(memory: mmap.mmap) -> int:
    import numpy as np

    return int(np.frombuffer(memory, np.uint8).__array_interface__["data"][0])
