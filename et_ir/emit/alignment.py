"""Inference of a file's alignments from the offsets of its data.

A file does not record them. What is looked for is the least that gives every byte its place, so that the file
written again is the same; a layout that no alignment explains gets the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm

from et_schema.program import SubsegmentOffsets
from et_schema.pte import PteFile
from et_schema.segments import align_up

__all__ = ["Alignments", "recover_alignments"]

DEFAULT_TENSOR = 16
DEFAULT_SEGMENT = 128
LARGEST = 1 << 24


@dataclass(frozen=True)
class Alignments:
    """In bytes. `own` has what each segment needs on top of `segment`, 1 for nothing."""

    tensor: int
    segment: int
    own: tuple[int, ...]


def recover_alignments(
    file: PteFile, constants: Mapping[int, int], state: Mapping[int, int] | None = None
) -> Alignments:
    """The alignments of a file; `constants` and `state` have the bytes of each constant and initial state by
    number.
    """
    pools: list[tuple[SubsegmentOffsets, Mapping[int, int]]] = []
    if file.program.constant_segment is not None:
        pools.append((file.program.constant_segment, constants))
    if file.program.mutable_data_segments:
        pools.append((file.program.mutable_data_segments[0], state or {}))
    segment, own = _segments(file)
    return Alignments(_tensors(pools), segment, own)


def _powers(first: int) -> list[int]:
    powers = [first]
    while powers[-1] < LARGEST:
        powers.append(powers[-1] * 2)
    return powers


def _tensors(pools: Sequence[tuple[SubsegmentOffsets, Mapping[int, int]]]) -> int:
    for alignment in (*_powers(DEFAULT_TENSOR), 8, 4, 2, 1):
        if all(_explains(entry.offsets, sizes, alignment) for entry, sizes in pools):
            return alignment
    return DEFAULT_TENSOR


def _explains(offsets: Sequence[int], sizes: Mapping[int, int], alignment: int) -> bool:
    """Whether constants of these sizes, each behind the other at a multiple of the alignment, start at these
    offsets.
    """
    end = 0
    for index, offset in enumerate(offsets):
        if index and offset != align_up(end, alignment):
            return False
        end = offset + sizes.get(index, 0)
    return True


def _own_alignments(
    extents: Sequence[tuple[int, int]], alignment: int, least: Sequence[int]
) -> tuple[int, ...] | None:
    """The extra alignment of each segment, at least `least`; `None` if nothing explains the
    layout.
    """
    own: list[int] = []
    end = 0
    for (offset, size), needed in zip(extents, least, strict=True):
        for extra in (needed, *_powers(alignment * 2)):
            if extra >= needed and align_up(end, lcm(alignment, extra)) == offset:
                own.append(extra)
                break
        else:
            return None
        end = offset + size
    return tuple(own)


def _segments(file: PteFile) -> tuple[int, tuple[int, ...]]:
    extents = [(segment.offset, segment.size) for segment in file.program.segments]
    nothing = tuple(1 for _ in extents)
    header = file.header
    if header is None or not any(size for _, size in extents):
        return DEFAULT_SEGMENT, nothing

    def explains(alignment: int, own: tuple[int, ...] | None) -> bool:
        if own is None:
            return False
        return header.segment_base_offset == align_up(header.program_size, lcm(alignment, *own))

    # One alignment for all is the likeliest; else one segment's own is also that of where segments start.
    for alignment in _powers(DEFAULT_SEGMENT):
        own = _own_alignments(extents, alignment, nothing)
        if own == nothing and explains(alignment, own):
            return alignment, nothing
    for largest in (1, *_powers(DEFAULT_SEGMENT)):
        for position in reversed(range(len(extents))):
            least = [1] * len(extents)
            least[position] = largest
            own = _own_alignments(extents, DEFAULT_SEGMENT, least)
            if own is not None and explains(DEFAULT_SEGMENT, own):
                return DEFAULT_SEGMENT, own
    return DEFAULT_SEGMENT, nothing
