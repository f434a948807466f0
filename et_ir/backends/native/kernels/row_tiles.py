"""Tiles of rows: a range of rows, by register tiles of one height or of several.

A tile that would pass the end is moved back to end with it, and computes some rows again with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable

from et_ir.backends.native.loop_builder import Index, LoopBuilder

__all__ = ["visit_rows"]


def visit_rows(
    b: LoopBuilder,
    start: Index,
    end: Index,
    tile: int,
    visit: Callable[[Index, int], None],
    *,
    any_number: bool = False,
) -> None:
    """Visit tiles, by their first row and height, that cover the rows from `start` to `end`.

    There are as many rows as a tile has, unless `any_number` is given: then the rows that are left after whole tiles
    are those of a lower tile, which few rows are computed twice of.
    """
    if not any_number:
        _tiles(b, start, end, tile, visit)
        return
    whole = b.add(start, b.multiple_below(b.sub(end, start), tile))
    with b.for_(start, whole, tile) as loop:
        visit(loop.index, tile)
    _rest(b, start, whole, end, tile, visit)


def _rest(
    b: LoopBuilder, start: Index, first: Index, end: Index, tile: int, visit: Callable[[Index, int], None]
) -> None:
    """Visit the rows from `first` to `end`, which are fewer than a tile has; those from `start` on are before."""
    heights = [tile, *(height for height in (8, 4, 1) if height < tile)]
    count, left = b.sub(end, start), b.sub(end, first)

    def choose(place: int) -> None:
        """The lowest tile that takes all that is left, among those that there are rows enough for."""
        height = heights[place]
        if place == len(heights) - 1:
            _tiles(b, first, end, height, visit)
            return
        lower = heights[place + 1]
        fits = b.at_least(count, height)
        if lower > 1:
            fits = b.both(fits, b.below(lower, left))
        with b.if_(fits) as otherwise:
            _tiles(b, first, end, height, visit)
            with otherwise():
                choose(place + 1)

    if tile > 1:
        with b.if_(b.below(first, end)):
            choose(0)


def _tiles(b: LoopBuilder, start: Index, end: Index, tile: int, visit: Callable[[Index, int], None]) -> None:
    """Visit tiles of one height; those before `start` may be visited again in part."""
    last = b.sub(end, tile)
    with b.for_(start, end, tile) as loop:
        visit(b.min(loop.index, last), tile)
