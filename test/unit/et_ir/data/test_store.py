"""The weight store is a safetensors file, written in a stream and read through a map."""

import mmap
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from et_ir.data import Blob, MissingData
from et_ir.data.store import StoreError, WeightStore, is_weight_store, write_store
from et_schema.files import atomic_writer


def _write(path: Path, entries: Iterable[tuple[Blob, str, tuple[int, ...]]]) -> None:
    with atomic_writer(path) as stream:
        write_store(stream, entries)


def unresolved(blob: Blob) -> Blob:
    return Blob.unresolved(blob.key, blob.nbytes, blob.sha256)


def test_safetensors_reads_it(tmp_path: Path):
    path = tmp_path / "w.safetensors"
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    half = np.arange(4, dtype=np.float16)
    flags = np.array([True, False])
    blobs = [Blob.of(str(i), a.tobytes()) for i, a in enumerate((values, half, flags))]
    _write(path, zip(blobs, ("f32", "f16", "i1"), ((2, 3), (4,), (2,)), strict=True))
    with safe_open(path, framework="np") as file:
        assert set(file.keys()) == {blob.sha256 for blob in blobs}
        assert np.array_equal(file.get_tensor(blobs[0].sha256), values)
        assert np.array_equal(file.get_tensor(blobs[1].sha256), half)
        assert np.array_equal(file.get_tensor(blobs[2].sha256), flags)


def test_what_safetensors_wrote_resolves(tmp_path: Path):
    values = np.arange(6, dtype=np.float32)
    blob = Blob.of("w", values.tobytes())
    path = tmp_path / "w.safetensors"
    save_file({blob.sha256: values}, path, metadata={"made": "elsewhere"})
    wanted = unresolved(blob)
    assert WeightStore(path).resolve(wanted)
    assert bytes(wanted.view()) == values.tobytes()


def test_bytes_come_from_the_map(tmp_path: Path):
    path = tmp_path / "w.safetensors"
    blob = Blob.of("w", b"\1\2\3\4")
    _write(path, [(blob, "i8", (4,))])
    wanted = unresolved(blob)
    assert WeightStore(path).resolve(wanted)
    assert isinstance(wanted.view().obj, mmap.mmap)


def test_equal_blobs_are_written_once(tmp_path: Path):
    path = tmp_path / "w.safetensors"
    once = tmp_path / "once.safetensors"
    _write(path, [(Blob.of(key, bytes(100)), "i8", (100,)) for key in ("a", "b", "c")])
    _write(once, [(Blob.of("a", bytes(100)), "i8", (100,))])
    assert path.read_bytes() == once.read_bytes()


def test_writing_streams(tmp_path: Path):
    """Derived blobs are computed one at a time and not kept."""
    alive: list[int] = []

    def blob(value: int) -> Blob:
        def compute() -> memoryview:
            alive.append(value)
            return memoryview(bytes([value]) * 200_000)

        return Blob.derived(str(value), 200_000, compute)

    path = tmp_path / "w.safetensors"
    _write(path, [(blob(i), "ui8", (200_000,)) for i in range(3)])
    assert alive == [0, 1, 2, 0, 1, 2], "once to hash, once to write"
    store = WeightStore(path)
    wanted = unresolved(blob(2))
    assert store.resolve(wanted)
    assert bytes(wanted.view()[:3]) == b"\2\2\2"


def test_missing_data_leaves_the_file_as_it_was(tmp_path: Path):
    path = tmp_path / "w.safetensors"
    path.write_bytes(b"before")
    with pytest.raises(MissingData):
        _write(path, [(Blob.of("a", b"1"), "i8", (1,)), (Blob.unresolved("w", 4, "0" * 64), "f32", (1,))])
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_another_program_s_store(tmp_path: Path):
    path = tmp_path / "w.safetensors"
    _write(path, [(Blob.of("a", b"1"), "i8", (1,))])
    blob = Blob.unresolved("w", 4, "0" * 64)
    assert not WeightStore(path).resolve(blob)
    assert not blob.is_resolved


def test_wrong_size(tmp_path: Path):
    path = tmp_path / "w.safetensors"
    blob = Blob.of("a", b"1")
    _write(path, [(blob, "i8", (1,))])
    with pytest.raises(StoreError, match="has 2 bytes, but 1 in its weight store"):
        WeightStore(path).resolve(Blob.unresolved("a", 2, blob.sha256))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0\0", "2 bytes, at least 8 expected"),
        (b"\xff\0\0\0\0\0\0\0", "its header of 255 bytes exceeds the file"),
        (b"\2\0\0\0\0\0\0\0[}", "its header cannot be read"),
        (b"\2\0\0\0\0\0\0\0[]", "its header cannot be read"),
        (b'\x07\0\0\0\0\0\0\0{"a":1}', "its header cannot be read"),
        (b'\x1d\0\0\0\0\0\0\0{"a":{"data_offsets":[0, 9]}}', "'a' lies outside of the file"),
        (b'\x19\0\0\0\0\0\0\0{"a":{"data_offsets":[]}}', "its header cannot be read"),
        (b'\x1d\0\0\0\0\0\0\0{"a":{"data_offsets":[-1,0]}}', "'a' lies outside of the file"),
    ],
)
def test_malformed_files(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=message):
        WeightStore(path)


def test_missing_file(tmp_path: Path):
    with pytest.raises(OSError, match="nowhere"):
        WeightStore(tmp_path / "nowhere.safetensors")


def test_an_empty_store_round_trips(tmp_path: Path):
    path = tmp_path / "w.safetensors"
    _write(path, [])
    assert not WeightStore(path).resolve(Blob.unresolved("w", 4, "0" * 64))


def test_stores_and_other_files(tmp_path: Path):
    path = tmp_path / "w.safetensors"
    _write(path, [(Blob.of("a", b"1"), "i8", (1,))])
    assert is_weight_store(path)
    save_file({"layer.weight": np.zeros(1, np.float32)}, path)
    assert not is_weight_store(path)
    path.write_bytes(b"notes")
    assert not is_weight_store(path)
