"""Instances and layouts as tables: the format of MiniMalloc.

The columns are `id`, `lower` and `upper`, the first time at which a buffer is needed and the one after the last, and
`size` in bytes; `alignment` (1 unless it is there), and `gaps`, times within in which it is not needed, as `3-5 8-9`,
without their ends. A layout has the column `offset` too. Other columns are kept out.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from io import StringIO

from et_ir.planning.buffer import Buffer, Layout

__all__ = ["Instance", "InvalidInstance", "read_instance", "write_layout"]

COLUMNS = ("id", "lower", "upper", "size")
LARGEST = 1 << 62
"""Exclusive upper bound of a size, of a time and of the sum of all sizes: the search counts in 64 bits."""


class InvalidInstance(ValueError):
    """A table is no instance; the message says where."""


@dataclass(frozen=True, slots=True)
class Instance:
    """Buffers and what they are called."""

    names: tuple[str, ...]
    buffers: tuple[Buffer, ...]


def read_instance(text: str) -> Instance:
    """The instance that a table describes.

    Raises `InvalidInstance`, with the line.
    """
    rows = csv.reader(StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        head = [name.strip() for name in next(rows, list[str]())]
        missing = [name for name in COLUMNS if name not in head]
        if missing:
            raise InvalidInstance(
                f"line 1: no column {', '.join(missing)} (an instance has id,lower,upper,size)"
            )
        names: dict[str, int] = {}
        buffers: list[Buffer] = []
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            line = rows.line_num
            if len(row) != len(head):
                raise InvalidInstance(f"line {line}: {len(row)} cells for {len(head)} columns")
            cells = dict(zip(head, (cell.strip() for cell in row), strict=True))
            name = cells["id"]
            if name in names:
                raise InvalidInstance(f"line {line}: buffer {name} is a duplicate of line {names[name]}")
            names[name] = line
            buffers.append(_buffer(cells, line))
    except csv.Error as error:
        raise InvalidInstance(f"line {rows.line_num}: {error}") from None
    if sum(buffer.size for buffer in buffers) >= LARGEST:
        raise InvalidInstance(f"the buffers total {LARGEST} bytes or more")
    return Instance(tuple(names), tuple(buffers))


def write_layout(instance: Instance, layout: Layout) -> str:
    """The table of an instance with offsets."""
    aligned = any(buffer.alignment != 1 for buffer in instance.buffers)
    gaps = any(buffer.gaps for buffer in instance.buffers)
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*COLUMNS, *(["alignment"] if aligned else []), *(["gaps"] if gaps else []), "offset"])
    for name, buffer, offset in zip(instance.names, instance.buffers, layout.offsets, strict=True):
        row: list[object] = [name, buffer.first, buffer.last + 1, buffer.size]
        if aligned:
            row.append(buffer.alignment)
        if gaps:
            row.append(" ".join(f"{first}-{last + 1}" for first, last in buffer.gaps))
        rows.writerow([*row, offset])
    return text.getvalue()


def _buffer(cells: dict[str, str], line: int) -> Buffer:
    numbers = {
        name: _number(cells[name], name, line)
        for name in ("lower", "upper", "size", "alignment")
        if name in cells
    }
    gaps: list[tuple[int, int]] = []
    for gap in cells.get("gaps", "").split():
        ends = re.fullmatch(r"([0-9]{1,19})-([0-9]{1,19})", gap)
        if ends is None:
            raise InvalidInstance(f"line {line}: {gap!r} is not a gap such as 3-5")
        gaps.append((int(ends[1]), int(ends[2]) - 1))
    if numbers["upper"] <= numbers["lower"]:
        raise InvalidInstance(
            f"line {line}: upper is {numbers['upper']}, not above lower, {numbers['lower']}"
        )
    try:
        return Buffer(
            numbers["size"], numbers["lower"], numbers["upper"] - 1, numbers.get("alignment", 1), tuple(gaps)
        )
    except ValueError as error:
        raise InvalidInstance(f"line {line}: {error}") from None


def _number(text: str, name: str, line: int) -> int:
    if re.fullmatch(r"[0-9]{1,19}", text) is None or int(text) >= LARGEST:
        raise InvalidInstance(f"line {line}: {name} is {text!r}, not a number of up to {LARGEST - 1}")
    return int(text)
