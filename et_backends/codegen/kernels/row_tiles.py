"""Tiles of rows: a range of rows, by register tiles of one height or of several.

A tile that would pass the end is moved back to end with it, and computes some rows again with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from et_backends.codegen.loop_builder import Index, LoopBuilder

__all__ = ["low_tiles", "visit_rows"]

LOW: Final = 4
"""Rows of a low tile: as many as the latency of additions asks for."""


def low_tiles(tile: int) -> tuple[int, ...]:
    """Heights of tiles for rows that are left after whole ones, whatever their number."""
    return tuple(lower for lower in (LOW, 1) if lower < tile)


def visit_rows(
    b: LoopBuilder,
    start: Index,
    end: Index,
    tile: int,
    visit: Callable[[Index, int], None],
    *,
    any_number: bool = False,
    least: Index | None = None,
) -> None:
    """Visit tiles, by their first row and height, that cover the rows from `start` to `end`.

    There are as many rows as a tile has, unless `any_number` is given: then what is left after whole tiles is visited
    in tiles of `LOW` rows if it is little, and where there are fewer rows than that, in single ones. Tiles are moved
    back to rows from `least` on, which is `start` unless it is given. From the first row of all on, heights do not
    depend on which thread has the last rows.
    """
    if not any_number:
        _tiles(b, start, end, end, tile, visit)
        return
    count = b.sub(end, start if least is None else least)
    reached: Index = start
    for height in (tile, *low_tiles(tile)):
        if height == 1:
            stop: Index = end
        else:
            whole = b.add(reached, b.multiple_below(b.sub(end, reached), height))
            much = b.below(b.add(whole, 2 * LOW if height > LOW else 0), end)
            stop = b.choose(b.at_least(count, height), b.choose(much, end, whole), reached)
        _tiles(b, reached, stop, end, height, visit)
        reached = stop


def _tiles(
    b: LoopBuilder, start: Index, stop: Index, end: Index, tile: int, visit: Callable[[Index, int], None]
) -> None:
    """Visit tiles of one height; those that would pass the end are moved back, and may visit rows again."""
    last = b.sub(end, tile)
    with b.for_(start, stop, tile) as loop:
        visit(b.min(loop.index, last), tile)
