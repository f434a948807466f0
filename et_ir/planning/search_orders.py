"""Orders in which a search tries buffers. No order is good for all programs: a search is short in one and hopeless in
another. So they are raced, each as it is and then many times with its key shaken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from random import Random
from typing import Final

from et_ir.planning.buffer import Buffer

__all__ = ["ORDERS", "attempts", "ranks"]

ORDERS: Final = ("TWA", "WAT", "TAW", "ATW", "LWA", "BTW")
"""Sort keys by falling importance: W the size, T the time between first and last, A the area, size × time, L the
number of sections, B size × sections. The longest and largest come first.
"""
SHAKE: Final = (0.6, 1.6)
"""By what a key is multiplied."""
WILD: Final = ((1, 0.0), (1, 0.5), (2, 1.0), (3, 1.0))
"""Exponents of size and time in keys that are shaken by more, in turns with the others: what they share is that large
buffers come early, and there is luck in the rest.
"""
WILD_SHAKE: Final = (0.1, 10.0)


def attempts(buffers: Sequence[Buffer], lengths: Sequence[int]) -> Iterator[tuple[list[int], bool]]:
    """Ranks of the buffers and whether to look at the tightest section, one attempt after the other, without end.

    `lengths` are the numbers of sections per buffer. The sequence is the same each time.
    """
    random = Random(0)
    wild = cycle(WILD)
    for tightest in (True, False):
        for name in ORDERS:
            yield ranks(buffers, lengths, name), tightest
    while True:
        for tightest in (False, True):
            for name in ORDERS:
                shaken = [random.uniform(*SHAKE) for _ in buffers]
                yield ranks(buffers, lengths, name, shaken), tightest
                size, time = next(wild)
                yield _wild_ranks(buffers, size, time, random), False


def ranks(
    buffers: Sequence[Buffer], lengths: Sequence[int], name: str, shaken: Sequence[float] | None = None
) -> list[int]:
    """The place of each buffer in one of `ORDERS`, the first key multiplied by a number for each buffer."""

    def key(index: int) -> tuple[float, ...]:
        buffer = buffers[index]
        time = buffer.last - buffer.first + 1
        length = lengths[index]
        values = {
            "W": buffer.size,
            "T": time,
            "A": buffer.size * time,
            "L": length,
            "B": buffer.size * length,
        }
        first, *rest = (-values[letter] for letter in name)
        return (first, *rest, index) if shaken is None else (first * shaken[index], index)

    return _places([key(index) for index in range(len(buffers))])


def _wild_ranks(buffers: Sequence[Buffer], size: int, time: float, random: Random) -> list[int]:
    """The place of each buffer by size and time, raised to these powers, times a number of its own."""
    return _places(
        [
            (
                -(buffer.size**size) * (buffer.last - buffer.first + 1) ** time * random.uniform(*WILD_SHAKE),
                index,
            )
            for index, buffer in enumerate(buffers)
        ]
    )


def _places(keys: Sequence[tuple[float, ...]]) -> list[int]:
    result = [0] * len(keys)
    for place, index in enumerate(sorted(range(len(keys)), key=keys.__getitem__)):
        result[index] = place
    return result
