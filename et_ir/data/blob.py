"""A blob: the bytes of one constant, identified by their SHA-256.

A blob may hold its bytes (a view of a torch tensor, of a mapped file, of a `bytes`), may know how to compute
them (*derived*: the transpose of another blob), or may only know what they should be (*unresolved*: text was
read, its weight store was not). Derived bytes above `KEEP` bytes are made when asked for and dropped
afterwards, so that a program whose weights were all transposed still needs no second copy of them in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from typing import Final

__all__ = ["KEEP", "Blob", "MissingData"]

KEEP: Final = 64 * 1024
"""Derived blobs up to this many bytes keep their bytes once computed."""

_LARGEST_STEP: Final = 1 << 20
"""Bytes that are compared at a time, at most."""


_HEAD: Final = 256
"""Bytes at the start of a blob that are kept, as different weights differ soon."""


class MissingData(Exception):
    """The bytes of a constant are needed, but the weight store that holds them was not given."""

    def __init__(self, key: str):
        super().__init__(f'the bytes of constant "{key}" are not loaded: give its weight store')
        self.key = key


class Blob:
    """Bytes of one constant. `key` is a readable name, not part of the identity.

    Equality is equality of content: blobs of different size differ at once, the same rearrangement of two blobs is
    equal where they are, bytes in memory are compared up to the first difference; of others the first bytes are kept,
    and where these are equal SHA-256 decides.
    """

    __slots__ = (
        "__weakref__",
        "_begin",
        "_compute",
        "_head",
        "_rearranged",
        "_sha256",
        "_view",
        "key",
        "nbytes",
    )

    def __init__(
        self,
        key: str,
        nbytes: int,
        *,
        view: memoryview | None = None,
        compute: Callable[[], memoryview] | None = None,
        sha256: str | None = None,
        rearranged: tuple[Hashable, Blob] | None = None,
        begin: Callable[[int], bytes] | None = None,
    ):
        self.key = key
        self.nbytes = nbytes
        self._view = view
        self._compute = compute
        self._sha256 = sha256
        self._rearranged = rearranged
        self._begin = begin
        self._head: bytes | None = None

    @staticmethod
    def of(key: str, data: bytes | bytearray | memoryview) -> Blob:
        """A blob over existing bytes, which are not copied."""
        view = memoryview(data).cast("B") if not isinstance(data, memoryview) or data.format != "B" else data
        return Blob(key, view.nbytes, view=view)

    @staticmethod
    def derived(
        key: str,
        nbytes: int,
        compute: Callable[[], memoryview],
        *,
        rearranged: tuple[Hashable, Blob] | None = None,
        begin: Callable[[int], bytes] | None = None,
    ) -> Blob:
        """A blob whose bytes are computed when needed; `compute` must give the same bytes every time.

        `rearranged` says that they are those of another blob, each once, in an order that a key determines; `begin`
        computes the first bytes, as many as it is asked for. They spare computing all to tell two such blobs apart.
        """
        return Blob(key, nbytes, compute=compute, rearranged=rearranged, begin=begin)

    @staticmethod
    def unresolved(key: str, nbytes: int, sha256: str) -> Blob:
        """A blob known by its hash; `resolve` gives it its bytes."""
        return Blob(key, nbytes, sha256=sha256)

    @property
    def is_resolved(self) -> bool:
        return self._view is not None or self._compute is not None

    def resolve(self, view: memoryview) -> None:
        """Attach the bytes. Raises `ValueError` if their size is not the blob's; content is checked by
        `check`.
        """
        if view.nbytes != self.nbytes:
            raise ValueError(
                f'constant "{self.key}" has {self.nbytes} bytes, but {view.nbytes} in its weight store'
            )
        self._view = view.cast("B") if view.format != "B" else view

    def check(self) -> None:
        """Raise `ValueError` if the bytes are not those that the hash is of, as in a damaged weight store."""
        if self._sha256 is not None and hashlib.sha256(self.view()).hexdigest() != self._sha256:
            raise ValueError(f'constant "{self.key}" does not match its SHA-256')

    def named(self, key: str) -> Blob:
        """The same bytes under another name."""
        return Blob(key, self.nbytes, compute=self.view, sha256=self.sha256)

    def view(self) -> memoryview:
        """The bytes, as a flat read-only view. Raises `MissingData` for an unresolved blob."""
        if self._view is not None:
            return self._view.toreadonly()
        if self._compute is None:
            raise MissingData(self.key)
        view = self._compute().cast("B")
        if view.nbytes != self.nbytes:
            raise AssertionError(
                f'derived constant "{self.key}" has {view.nbytes} bytes, expected {self.nbytes}'
            )
        if self.nbytes <= KEEP:
            self._view = view
            self._compute = None
        self._head = bytes(view[:_HEAD])
        return view.toreadonly()

    def _first_bytes(self) -> bytes | None:
        """The first bytes, None for an unresolved blob; computed once."""
        if self._head is None and self.is_resolved:
            if self._view is None and self._begin is not None:
                self._head = self._begin(min(_HEAD, self.nbytes))
            else:
                self._head = bytes(self.view()[:_HEAD])
        return self._head

    @property
    def head(self) -> bytes | None:
        """The first bytes, where they are in memory: equal blobs have the same."""
        return None if self._view is None else self._first_bytes()

    @property
    def sha256(self) -> str:
        """The hash in hexadecimal, computed once."""
        if self._sha256 is None:
            self._sha256 = hashlib.sha256(self.view()).hexdigest()
        return self._sha256

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Blob) or self.nbytes != other.nbytes:
            return False
        if self._view is not None and other._view is not None:
            return _same(self._view, other._view)
        ours, theirs = self._rearranged, other._rearranged
        if ours is not None and theirs is not None and ours[0] == theirs[0]:
            return ours[1] == theirs[1]
        if self._sha256 is None or other._sha256 is None:
            head, start = self._first_bytes(), other._first_bytes()
            if head is not None and start is not None and head != start:
                return False
        return self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(("Blob", self.nbytes))

    def __repr__(self) -> str:
        return f"Blob({self.key!r}, {self.nbytes} bytes)"


def _same(ours: memoryview, theirs: memoryview) -> bool:
    """Whether views of one size hold the same bytes.

    They are compared as `bytes`, which memoryviews are not compared as fast as; in steps that grow, as different
    weights differ soon.
    """
    start, step = 0, 256
    while start < len(ours):
        end = start + step
        if bytes(ours[start:end]) != bytes(theirs[start:end]):
            return False
        start, step = end, min(2 * step, _LARGEST_STEP)
    return True
