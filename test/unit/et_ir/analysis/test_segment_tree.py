"""Segment trees against a list of intervals."""

from __future__ import annotations

from random import Random

import pytest

from et_ir.analysis.segment_tree import SegmentTree


@pytest.mark.parametrize("end", [0, 1, 7, 8, 100])
def test_intervals(end: int) -> None:
    random = Random(end)
    tree: SegmentTree[int] = SegmentTree(end)
    intervals: list[tuple[int, int]] = []
    for number in range(40):
        first = random.randint(0, end)
        intervals.append((first, random.randint(first, end + 1)))
        tree.add(number, *intervals[-1])
        for time in range(end + 1):
            expected = [at for at, (first, last) in enumerate(intervals) if first <= time < last]
            assert sorted(tree.at(time)) == expected
