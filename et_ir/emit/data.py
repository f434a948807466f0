"""The bytes of a file behind its flatbuffer: constants, initial state, what backends compiled, named data.

Equal bytes are written once. Nothing is copied: segments are made of chunks that are asked for their bytes
when they are written.
"""

from __future__ import annotations

from et_ir.data import Blob, BlobIndex, MissingData
from et_schema.program import SubsegmentOffsets
from et_schema.segments import Chunk, Deferred, Padding, Segment, align_up

__all__ = ["DataPool", "SegmentList"]


class DataPool:
    """Constants in one segment, each at a multiple of `alignment` bytes; number 0 is reserved."""

    def __init__(self, alignment: int):
        self.alignment = alignment
        self._index = BlobIndex()

    def add(self, blob: Blob) -> int:
        """The number of a constant, from 1. Raises `MissingData`."""
        if not blob.is_resolved:
            raise MissingData(blob.key)
        return self._index.add(blob) + 1

    def __len__(self) -> int:
        return len(self._index)

    def layout(self) -> tuple[list[int], list[Chunk]]:
        """Offset of each constant, with an entry for number 0, and the segment's content."""
        offsets, chunks, end = [0], list[Chunk](), 0
        for blob in self._index.blobs:
            start = align_up(end, self.alignment)
            if start > end:
                chunks.append(Padding(start - end))
            offsets.append(start)
            chunks.append(Deferred(blob.nbytes, blob.view))
            end = start + blob.nbytes
        if len(self) and not end:
            # The stock runtime takes a segment of no bytes for one that is missing, and rejects the file.
            chunks.append(Padding(1))
        return offsets, chunks


class SegmentList:
    """The segments of a file as they are added."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self._blobs = BlobIndex()
        self._places: dict[int, int] = {}

    def add_pool(self, pool: DataPool) -> SubsegmentOffsets:
        """Add a pool as one segment, none if it is empty; returns where its entries are."""
        offsets, chunks = pool.layout()
        if not len(pool):
            return SubsegmentOffsets(0, offsets)
        self.segments.append(Segment(chunks))
        return SubsegmentOffsets(len(self.segments) - 1, offsets)

    def add_blob(self, blob: Blob, alignment: int = 1) -> int:
        """The segment that is this blob; one with the same bytes is used again. Raises `MissingData`.

        `alignment` in bytes raises that of the segment.
        """
        if not blob.is_resolved:
            raise MissingData(blob.key)
        number = self._blobs.add(blob)
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = len(self.segments)
            self.segments.append(Segment([Deferred(blob.nbytes, blob.view)], alignment))
        elif self.segments[place].alignment < alignment:
            self.segments[place] = Segment(self.segments[place].chunks, alignment)
        return place
