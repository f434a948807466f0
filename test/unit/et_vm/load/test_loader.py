import mmap
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest

from et_schema.errors import Error, ExecutorchError
from et_vm.load.loader import BytesDataLoader, FileDataLoader, MmapDataLoader


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "data.bin"
    found.write_bytes(bytes(range(100)))
    return found


@pytest.fixture(params=[BytesDataLoader, FileDataLoader, MmapDataLoader])
def loader(request, path):
    return request.param(path.read_bytes() if request.param is BytesDataLoader else path)


def test_views(loader):
    assert loader.size == 100
    assert bytes(loader.load(10, 3)) == b"\x0a\x0b\x0c"
    assert bytes(loader.load_all()) == bytes(range(100))
    assert loader.load(100, 0).nbytes == 0
    assert loader.load(0, 1).readonly


@pytest.mark.parametrize(("offset", "size"), [(-1, 1), (0, 101), (100, 1), (0, -1), (2**70, 1)])
def test_outside(loader, offset, size):
    with pytest.raises(ExecutorchError) as caught:
        loader.load(offset, size)
    assert caught.value.code == Error.InvalidArgument


@pytest.mark.parametrize("kind", [FileDataLoader, MmapDataLoader])
def test_files_that_cannot_be_read(kind, tmp_path):
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(ExecutorchError, match="cannot read the file") as caught:
            kind(path)
        assert caught.value.code == Error.AccessFailed


@pytest.mark.parametrize("kind", [FileDataLoader, MmapDataLoader])
def test_empty_files(kind, tmp_path):
    path = tmp_path / "empty"
    path.touch()
    assert kind(path).size == 0


def test_a_map_outlives_its_loader(path):
    view = MmapDataLoader(path).load_all()
    path.unlink()
    assert bytes(view[:2]) == b"\x00\x01"


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="only Linux is advised about pages")
def test_huge_pages(path):
    view = MmapDataLoader(path).load_all()
    address = np.frombuffer(view, np.uint8).ctypes.data
    entry = re.compile(rf"^{address:x}-.*\n(?:(?!VmFlags).*\n)*VmFlags: (.*)$", re.MULTILINE)
    found = entry.search(Path("/proc/self/smaps").read_text())
    assert found
    assert "hg" in found[1].split()


def test_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[b"content"])
    writer.start()
    assert bytes(FileDataLoader(path).load_all()) == b"content"
    writer.join()


def test_wider_elements_are_bytes():
    from array import array

    assert BytesDataLoader(memoryview(array("I", [1, 2]))).size == 8


def test_files_that_are_written_in_place(path):
    loader, copy = MmapDataLoader(path), FileDataLoader(path)
    assert not loader.has_changed
    with path.open("r+b") as file:
        file.write(b"other")
    os.utime(path, ns=(0, 1))
    assert loader.has_changed
    assert not copy.has_changed
    assert bytes(copy.load(0, 5)) == bytes(range(5))


@pytest.mark.parametrize("replace", [True, False])
def test_files_that_are_replaced(path, tmp_path, replace):
    """The map is of the old file, which does not change any more."""
    loader = MmapDataLoader(path)
    if replace:
        (tmp_path / "new").write_bytes(b"other")
        (tmp_path / "new").replace(path)
    else:
        path.unlink()
    assert not loader.has_changed
    assert bytes(loader.load(0, 2)) == b"\x00\x01"
