"""Blobs by content: equal bytes are stored once."""

from __future__ import annotations

from et_ir.data.blob import Blob

__all__ = ["BlobIndex"]


class BlobIndex:
    """Numbers blobs by content, in the order of their first use.

    Comparing is what this costs, and only blobs of one size can be equal. Those in memory are compared with others
    that begin with the same bytes; of those that are yet to be computed this is not known.
    """

    def __init__(self) -> None:
        self.blobs: list[Blob] = []
        self._by_identity: dict[int, tuple[Blob, int]] = {}
        """With the blob, so that its identity is not given to another."""
        self._by_size: dict[int, list[int]] = {}
        self._by_head: dict[tuple[int, bytes | None], list[int]] = {}

    def __len__(self) -> int:
        return len(self.blobs)

    def add(self, blob: Blob) -> int:
        """The number of a blob, from 0. Raises `MissingData` if its bytes are not there to be compared with others."""
        known = self._by_identity.get(id(blob))
        if known is not None:
            return known[1]
        size, head = blob.nbytes, blob.head
        same_size = self._by_size.setdefault(size, [])
        same_head = self._by_head.setdefault((size, head), [])
        similar = same_size if head is None else [*same_head, *self._by_head.get((size, None), ())]
        for index in similar:
            if self.blobs[index] == blob:
                self._by_identity[id(blob)] = blob, index
                return index
        index = len(self.blobs)
        self.blobs.append(blob)
        same_size.append(index)
        same_head.append(index)
        self._by_identity[id(blob)] = blob, index
        return index
