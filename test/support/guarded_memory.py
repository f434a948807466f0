"""Memory between pages that nothing may touch: an access one byte outside ends the process with SIGSEGV."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

from et_vm.platform import Platform
from et_vm.values import Array

__all__ = ["GuardedPlatform", "guarded_bytes"]

_PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None, use_errno=True)
_MAPS: list[mmap.mmap] = []
"""Kept for good: what points into one may outlive the array."""


def guarded_bytes(nbytes: int, alignment: int = 4, *, at_end: bool = True) -> Array:
    """Zeros that end where an inaccessible page starts, or start where one ends.

    If they do not fill whole units of `alignment`, the rest of the last unit is in reach.
    """
    pages = max(-(-nbytes // _PAGE), 1)
    memory = mmap.mmap(-1, (pages + 2) * _PAGE)
    _MAPS.append(memory)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for guard in (base, base + (pages + 1) * _PAGE):
        if _LIBC.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(_PAGE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = _PAGE
    if at_end:
        start = (pages + 1) * _PAGE - -(-nbytes // alignment) * alignment
    return np.frombuffer(memory, np.uint8, nbytes, start)


class GuardedPlatform(Platform):
    """Gives out memory between guard pages."""

    def __init__(self, *, at_end: bool) -> None:
        super().__init__()
        self._at_end = at_end

    def allocate(self, nbytes: int) -> Array:
        return guarded_bytes(nbytes, 4, at_end=self._at_end)
