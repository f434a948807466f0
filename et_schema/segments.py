"""Segments: the aligned runs of bytes behind the flatbuffer in `.pte` and `.ptd` files.

A segment is written from chunks, one after the other, so that gigabytes of weights pass from a mapped file
to the output without a copy of the whole in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from et_schema.errors import FIRST, Error, ExecutorchError, InvalidFile, Problems
from et_schema.tables import Bytes

ZEROS = bytes(1 << 16)


@dataclass(frozen=True, slots=True)
class Padding:
    """`nbytes` zero bytes."""

    nbytes: int


@dataclass(frozen=True, slots=True)
class Deferred:
    """`nbytes` bytes that `produce()` makes when they are written: computed weights need not be held
    together."""

    nbytes: int
    produce: Callable[[], Bytes]


Chunk = Bytes | Padding | Deferred


@dataclass(frozen=True, slots=True)
class Segment:
    """Chunks with an alignment of their own (bytes), on top of the one that all segments of a file have."""

    chunks: Sequence[Chunk]
    alignment: int = 1


SegmentLike = Segment | Sequence[Chunk]


class OutputStream(Protocol):
    def write(self, data: Bytes, /) -> object: ...


@dataclass(frozen=True, slots=True)
class SegmentPlacement:
    """Segment layout: (offset, size) of each from a base that needs `alignment`; `size` is the sum."""

    extents: list[tuple[int, int]]
    alignment: int
    size: int


def check_alignment(name: str, alignment: int) -> None:
    """Raise `ValueError` for an alignment that is not a power of two."""
    if alignment < 1 or alignment & (alignment - 1):
        raise ValueError(f"{name}: {alignment} is not a power of two")


def align_up(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def chunk_size(chunk: Chunk) -> int:
    """Bytes of a chunk."""
    return len(chunk) if isinstance(chunk, bytes | bytearray) else chunk.nbytes


def place(segments: Sequence[SegmentLike], alignment: int) -> SegmentPlacement:
    """Lay out segments in order, each aligned to `lcm(alignment, its own)`."""
    extents: list[tuple[int, int]] = []
    end, base_alignment = 0, alignment
    for segment in segments:
        chunks, own = (segment.chunks, segment.alignment) if isinstance(segment, Segment) else (segment, 1)
        align = math.lcm(alignment, own)
        base_alignment = math.lcm(base_alignment, align)
        offset = align_up(end, align)
        size = sum(map(chunk_size, chunks))
        extents.append((offset, size))
        end = offset + size
    return SegmentPlacement(extents, base_alignment, end)


def write_segments(
    segments: Sequence[SegmentLike], placement: SegmentPlacement, stream: OutputStream
) -> None:
    """Write segments as placed; the stream stands at their base."""
    end = 0
    for segment, (offset, size) in zip(segments, placement.extents, strict=True):
        for block in zeros(offset - end):
            stream.write(block)
        for chunk in segment.chunks if isinstance(segment, Segment) else segment:
            write_chunk(chunk, stream)
        end = offset + size


def write_chunk(chunk: Chunk, stream: OutputStream) -> None:
    """Raises `ExecutorchError(Internal)` if a deferred chunk produces another size than it promised."""
    if isinstance(chunk, Padding):
        for block in zeros(chunk.nbytes):
            stream.write(block)
    elif isinstance(chunk, Deferred):
        data = chunk.produce()
        if chunk_size(data) != chunk.nbytes:
            raise ExecutorchError(
                Error.Internal, f"a chunk of {chunk.nbytes} bytes came out as {chunk_size(data)} bytes"
            )
        stream.write(data)
    else:
        stream.write(chunk)


def zeros(count: int) -> Iterator[Bytes]:
    while count > 0:
        block = min(count, len(ZEROS))
        yield memoryview(ZEROS)[:block]
        count -= block


def check_disjoint(extents: Sequence[tuple[int, int]], problems: Problems = FIRST) -> None:
    """Report segments that begin in another one, given their offsets and sizes. Empty ones may lie anywhere."""
    filled = sorted((offset, size, index) for index, (offset, size) in enumerate(extents) if size)
    furthest, end = -1, 0
    for offset, size, index in filled:
        if offset < end:
            fault = f"segment at {offset}..{offset + size} overlaps segment {furthest}, which ends at {end}"
            problems.add(InvalidFile(fault, where=f"segments[{index}]"))
        if offset + size > end:
            furthest, end = index, offset + size
