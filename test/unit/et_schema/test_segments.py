from __future__ import annotations

import io

import pytest

from et_schema.errors import Error, ExecutorchError
from et_schema.segments import Deferred, Padding, Segment, place, write_segments


def test_segments_are_aligned_to_the_common_multiple() -> None:
    placement = place([[b"a"], Segment([b"bb"], 48), [], [b"c"]], 32)
    assert placement.extents == [(0, 1), (96, 2), (128, 0), (128, 1)]
    assert placement.alignment == 96
    assert placement.size == 129


def test_chunks_are_written_in_turn() -> None:
    segments = [[b"ab", Padding(3), Deferred(2, lambda: bytearray(b"cd")), memoryview(b"ef")], [b"x"]]
    stream = io.BytesIO()
    write_segments(segments, place(segments, 8), stream)
    assert stream.getvalue() == b"ab\0\0\0cdef" + bytes(7) + b"x"


def test_long_padding_is_written_in_blocks() -> None:
    stream = io.BytesIO()
    write_segments([[Padding(200_000)]], place([[Padding(200_000)]], 1), stream)
    assert stream.getvalue() == bytes(200_000)


def test_deferred_chunks_are_made_one_at_a_time() -> None:
    events: list[str] = []

    class Stream(io.BytesIO):
        def write(self, data: object, /) -> int:
            events.append("write")
            return 1

    def produce() -> bytes:
        events.append("make")
        return b"1234"

    segments = [[Deferred(4, produce), Deferred(4, produce)]]
    write_segments(segments, place(segments, 1), Stream())
    assert events == ["make", "write", "make", "write"]


def test_wide_memoryviews_count_bytes() -> None:
    wide = memoryview(bytes(16)).cast("I")
    assert place([[wide]], 1).size == 16


def test_a_deferred_chunk_must_keep_its_promise() -> None:
    segments = [[Deferred(4, lambda: b"123")]]
    with pytest.raises(ExecutorchError, match="a chunk of 4 bytes came out as 3 bytes") as caught:
        write_segments(segments, place(segments, 1), io.BytesIO())
    assert caught.value.code == Error.Internal
