"""Random instances of up to a dozen buffers, one for each seed."""

from __future__ import annotations

from random import Random
from typing import Final

from et_ir.planning import Buffer

__all__ = ["MOST", "instance"]

MOST: Final = 12


def instance(seed: int) -> list[Buffer]:
    """The instance of a seed: chains and crowds, of a few sizes or of any, with one alignment or several, some with
    gaps, and now and then a buffer of no bytes.
    """
    random = Random(seed)
    count = random.randint(1, MOST)
    end = random.randint(1, 2 * count)
    sizes = random.choice(([1, 2, 3], [16, 32, 48, 64, 80], range(1, 100), range(1, 5000)))
    alignments = random.choice(([1], [1], [16], [64], [4, 16], [1, 8, 64]))
    longest = random.choice((2, 4, end))
    gaps = random.random() < 0.3
    return [
        _buffer(random, end, longest, random.choice(sizes), random.choice(alignments), gaps)
        for _ in range(count)
    ]


def _buffer(random: Random, end: int, longest: int, size: int, alignment: int, gaps: bool) -> Buffer:
    first = random.randrange(end)
    last = min(end, first + random.randint(0, longest))
    if random.random() < 0.03:
        size = 0
    gap: tuple[tuple[int, int], ...] = ()
    if gaps and last - first >= 2:
        begin = random.randint(first + 1, last - 1)
        gap = ((begin, random.randint(begin, last - 1)),)
    return Buffer(size, first, last, alignment, gap)
