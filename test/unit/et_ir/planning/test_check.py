"""The layout checker, on invalid layouts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from et_ir.planning import Buffer, Layout, conflicts, layout_problems

PAIR = [Buffer(32, 0, 4), Buffer(32, 4, 8)]


def test_a_good_layout() -> None:
    assert layout_problems(PAIR, Layout((0, 32), 64)) == []
    assert layout_problems([PAIR[0], Buffer(32, 5, 8)], Layout((0, 0), 32)) == []


def test_buffers_that_overlap() -> None:
    assert layout_problems(PAIR, Layout((0, 16), 64)) == [
        "buffers 0 and 1 overlap at 0 and 16 while both are live"
    ]


def test_outside_of_the_arena() -> None:
    assert layout_problems(PAIR, Layout((0, 48), 64)) == [
        "buffer 1 of 32 bytes at 48 lies outside of the arena of 64 bytes"
    ]
    assert "lies outside" in layout_problems(PAIR, Layout((-16, 32), 64))[0]


def test_alignment() -> None:
    assert layout_problems(PAIR, Layout((0, 40), 128)) == ["buffer 1 at 40 is not aligned to 16 bytes"]


def test_another_number_of_offsets() -> None:
    assert layout_problems(PAIR, Layout((0,), 64)) == ["1 offsets for 2 buffers"]


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 6), st.integers(0, 6), st.integers(0, 60)), max_size=12
    )
)
def test_a_conflict_is_found_where_there_is_one(entries: list[tuple[int, int, int, int]]) -> None:
    buffers = [Buffer(size, first, first + length, 1) for size, first, length, _ in entries]
    offsets = [offset for _, _, _, offset in entries]
    pairs = {
        (i, j)
        for i, a in enumerate(buffers)
        for j, b in enumerate(buffers[:i])
        if a.overlaps(b)
        and a.size
        and b.size
        and offsets[i] < offsets[j] + b.size
        and offsets[j] < offsets[i] + a.size
    }
    found = conflicts(buffers, offsets)
    assert bool(found) == bool(pairs)
    assert {(max(pair), min(pair)) for pair in found} <= pairs
