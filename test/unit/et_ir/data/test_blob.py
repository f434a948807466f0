"""Blobs: identity by content, views without copies, derived bytes that are not kept."""

import hashlib

import pytest

from et_ir.data import Blob, BlobIndex, MissingData
from et_ir.data.blob import KEEP


def test_a_blob_is_a_view_of_its_bytes():
    data = bytearray(b"abcd")
    blob = Blob.of("w", data)
    data[0] = ord("z")
    assert bytes(blob.view()) == b"zbcd"
    assert blob.view().readonly
    assert blob.nbytes == 4


def test_views_of_other_formats_are_flattened():
    numbers = memoryview(b"\1\0\2\0").cast("h")
    assert Blob.of("w", numbers).nbytes == 4
    assert bytes(Blob.of("w", numbers).view()) == b"\1\0\2\0"


def test_equality_is_content():
    a, b, c = Blob.of("a", b"12"), Blob.of("b", b"12"), Blob.of("a", b"13")
    assert a == b
    assert hash(a) == hash(b)
    assert a != c
    assert a != Blob.of("a", b"123")
    assert a != "12"
    assert a.sha256 == hashlib.sha256(b"12").hexdigest()


def test_small_derived_bytes_are_computed_once():
    calls: list[int] = []

    def compute() -> memoryview:
        calls.append(1)
        return memoryview(b"xy")

    blob = Blob.derived("d", 2, compute)
    assert not calls
    assert bytes(blob.view()) == bytes(blob.view()) == b"xy"
    assert len(calls) == 1


def test_large_derived_bytes_are_not_kept():
    calls: list[int] = []

    def compute() -> memoryview:
        calls.append(1)
        return memoryview(bytes(KEEP + 1))

    blob = Blob.derived("d", KEEP + 1, compute)
    blob.view()
    blob.view()
    assert len(calls) == 2
    assert blob.is_resolved


def test_unresolved_blobs_know_what_is_missing():
    blob = Blob.unresolved("fc.weight", 4, hashlib.sha256(b"abcd").hexdigest())
    assert not blob.is_resolved
    with pytest.raises(MissingData, match=r'"fc\.weight" are not loaded: give its weight store'):
        blob.view()
    assert blob == Blob.of("other", b"abcd")
    blob.resolve(memoryview(b"abcd"))
    assert bytes(blob.view()) == b"abcd"


def test_resolve_checks_the_size():
    blob = Blob.unresolved("w", 4, "0" * 64)
    with pytest.raises(ValueError, match="has 4 bytes, but 3 in its weight store"):
        blob.resolve(memoryview(b"abc"))


def test_bytes_in_memory_are_compared_without_hashing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hashlib, "sha256", None)
    data = bytes(range(256)) * 10_000
    assert Blob.of("a", data) == Blob.of("b", bytearray(data))
    assert Blob.of("a", data) != Blob.of("b", data[:-1] + b"\0")


def test_the_same_rearrangement_is_compared_by_its_source():
    def reversed_(source: Blob, how: str = "reversed") -> Blob:
        def compute() -> memoryview:
            raise AssertionError("computed to be compared")

        return Blob.derived("r", KEEP + 1, compute, rearranged=(how, source))

    data = bytes(KEEP) + b"\1"
    one, same, other = Blob.of("one", data), Blob.of("same", data), Blob.of("other", b"\1" + bytes(KEEP))
    assert reversed_(one) == reversed_(same)
    assert reversed_(one) != reversed_(other)
    with pytest.raises(AssertionError, match="computed to be compared"):
        reversed_(one).__eq__(reversed_(one, "rotated"))


def test_first_bytes_that_can_be_computed_alone_tell_blobs_apart():
    """Equality computes all bytes only where the first are the same."""
    computed: list[str] = []

    def derived(key: str, data: bytes) -> Blob:
        def compute() -> memoryview:
            computed.append(key)
            return memoryview(data)

        return Blob.derived(key, len(data), compute, begin=lambda count: data[:count])

    rest = bytes(KEEP)
    one, other = derived("one", b"\1" + rest), derived("other", b"\2" + rest)
    assert one != other
    assert not computed
    assert one == derived("same", b"\1" + rest)
    assert computed


def test_an_index_of_blobs_finds_equal_ones_wherever_their_bytes_are():
    data = bytes(range(200))
    index = BlobIndex()
    kept = Blob.of("kept", data)
    assert index.add(kept) == 0
    assert index.add(Blob.of("other", data[::-1])) == 1
    assert index.add(Blob.derived("computed", len(data), lambda: memoryview(data))) == 0
    late = bytes([7]) * 200
    assert index.add(Blob.derived("late", len(late), lambda: memoryview(late))) == 2
    assert index.add(Blob.of("same", late)) == 2
    assert index.add(Blob.of("again", data)) == 0
    assert len(index) == 3


def test_other_names():
    """They are not part of the identity, and what is under them is computed as before."""
    calls: list[int] = []

    def compute() -> memoryview:
        calls.append(1)
        return memoryview(bytes(KEEP + 1))

    blob = Blob.derived("packed", KEEP + 1, compute)
    other = blob.named("fc.packed")
    assert (other.key, blob.key) == ("fc.packed", "packed")
    assert other == blob
    before = len(calls)
    assert bytes(other.view()) == bytes(KEEP + 1)
    assert len(calls) == before + 1
