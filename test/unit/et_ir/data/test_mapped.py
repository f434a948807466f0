"""Memory of temporary files, whose pages a process gives back and reads again."""

from __future__ import annotations

import gc
import mmap
import sys
from weakref import ref

import numpy as np
import pytest

from et_ir.data.mapped import release, temporary_memory

SIZE = 1 << 24


def resident(array: np.ndarray) -> int:
    """Bytes of pages of the process in the mapping of an array, as Linux counts them."""
    place = f"{array.__array_interface__['data'][0]:x}-"
    with open("/proc/self/smaps", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(place):
                found = next(one for one in lines if one.startswith("Rss:"))
                return int(found.split()[1]) << 10
    raise AssertionError(place)


@pytest.mark.skipif(sys.platform != "linux", reason="the pages of a mapping are counted by Linux")
def test_pages_are_given_back_and_keep_their_content() -> None:
    array = np.frombuffer(temporary_memory(SIZE), np.uint8)
    array[:] = np.arange(SIZE, dtype=np.uint8)
    assert resident(array) > 0  # the system may have taken some pages already
    release(array.__array_interface__["data"][0])
    assert resident(array) == 0
    assert array[12345] == 12345 % 256
    assert resident(array) < SIZE


def test_other_memory_is_left_alone() -> None:
    array = np.ones(SIZE, np.uint8)
    release(array.__array_interface__["data"][0])
    assert array.all()


def test_memory_lives_as_long_as_its_arrays() -> None:
    memory: mmap.mmap | None = temporary_memory(SIZE)
    assert memory is not None
    gone = ref(memory)
    array: np.ndarray | None = np.frombuffer(memory, np.uint8)
    memory = None
    gc.collect()
    assert gone() is not None
    array = None
    gc.collect()
    assert gone() is None
    assert array is None
