"""A memory plan drawn with letters: instructions from left to right, offsets from the bottom up."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_letters, digits
from typing import Any, Final

__all__ = ["MARKS", "picture"]

MARKS: Final = ascii_letters + digits
"""The letters of tensors, by place in the table; they repeat where there are more."""
COLUMNS: Final = 62
ROWS: Final = 16


def picture(arena: dict[str, Any]) -> Iterator[str]:
    """Rows of an arena from the top; in each cell the tensor that has most of it, a dot where none has any.

    The first column is before the first instruction, the last one after the last.
    """
    times = arena["instructions"] + 2
    nbytes = arena["nbytes"]
    used = [
        (at, tensor) for at, tensor in enumerate(arena["tensors"]) if "first" in tensor and tensor["nbytes"]
    ]
    if not used or not nbytes:
        return
    columns = min(COLUMNS, times)
    rows = min(ROWS, nbytes)
    cells = [[(0, ".")] * columns for _ in range(rows)]
    for at, tensor in used:
        left, right = tensor["first"] + 1, tensor["last"] + 2
        low, high = tensor["offset"], min(tensor["offset"] + tensor["nbytes"], nbytes)
        for row in range(low * rows // nbytes, -(-high * rows // nbytes)):
            # In units of a cell's: bytes × rows and instructions × columns are whole numbers.
            height = min(high * rows, (row + 1) * nbytes) - max(low * rows, row * nbytes)
            for column in range(left * columns // times, -(-right * columns // times)):
                width = min(right * columns, (column + 1) * times) - max(left * columns, column * times)
                if height * width > cells[row][column][0]:
                    cells[row][column] = (height * width, MARKS[at % len(MARKS)])
    for row in reversed(range(rows)):
        end = (row + 1) * nbytes // rows
        yield f"  {end:>13,} " + "".join(mark for _, mark in cells[row])
    yield f"  {'':>13} start{'end':>{columns - 5}}" if columns > 8 else ""
