"""A memory plan drawn with letters: instructions from left to right, offsets from the bottom up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import ascii_letters
from typing import Any, Final

__all__ = ["OTHER", "marks", "picture"]

OTHER: Final = "+"
"""The mark of all tensors that have no letter."""
COLUMNS: Final = 62
ROWS: Final = 16


def marks(arena: dict[str, Any]) -> Mapping[int, str]:
    """The letters of the largest tensors by their place in the table, in the table's order; `OTHER` of the rest."""
    used = [at for at, tensor in enumerate(arena["tensors"]) if "first" in tensor and tensor["nbytes"]]
    largest = sorted(used, key=lambda at: -arena["tensors"][at]["nbytes"])[: len(ascii_letters)]
    lettered = dict(zip(sorted(largest), ascii_letters, strict=False))
    return {at: lettered.get(at, OTHER) for at in used}


def picture(arena: dict[str, Any]) -> Iterator[str]:
    """Rows of an arena from the top; in each cell the tensor that has most of it, a dot where none has any.

    The first column is before the first instruction, the last one after the last.
    """
    times = arena["instructions"] + 2
    nbytes = arena["nbytes"]
    used = marks(arena)
    if not used or not nbytes:
        return
    columns = min(COLUMNS, times)
    rows = min(ROWS, nbytes)
    cells = [[(0, ".")] * columns for _ in range(rows)]
    for at, mark in used.items():
        tensor = arena["tensors"][at]
        left, right = tensor["first"] + 1, tensor["last"] + 2
        low, high = tensor["offset"], min(tensor["offset"] + tensor["nbytes"], nbytes)
        for row in range(low * rows // nbytes, -(-high * rows // nbytes)):
            # In units of a cell's: bytes × rows and instructions × columns are whole numbers.
            height = min(high * rows, (row + 1) * nbytes) - max(low * rows, row * nbytes)
            for column in range(left * columns // times, -(-right * columns // times)):
                width = min(right * columns, (column + 1) * times) - max(left * columns, column * times)
                if height * width > cells[row][column][0]:
                    cells[row][column] = (height * width, mark)
    for row in reversed(range(rows)):
        end = (row + 1) * nbytes // rows
        yield f"  {end:>13,} " + "".join(mark for _, mark in cells[row])
    yield f"  {'':>13} start{'end':>{columns - 5}}" if columns > 8 else ""
    others = sum(mark == OTHER for mark in used.values())
    if others:
        yield f"  {'':>13} {OTHER} is {others} smaller tensors"
