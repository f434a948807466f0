"""Readers of the text tables of targets. A line that begins with `#` is a comment."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["NOT_IN_PLACE", "names_in", "read_in_place", "read_refused_types"]

NOT_IN_PLACE: Final = "-"
"""The arguments of a kernel that may not write over any."""


def names_in(path: Path) -> frozenset[str]:
    """The names of a table with one on each line."""
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return frozenset(line for line in lines if line)


def read_refused_types(path: Path) -> dict[str, dict[str, frozenset[str]]]:
    """Element types by kernel and argument, of lines `kernel | argument,… | type …`."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for line in _rows(path):
        kernel, args, types = line.split(" | ")
        found.setdefault(kernel, {}).update(dict.fromkeys(args.split(","), frozenset(types.split())))
    return found


def read_in_place(path: Path) -> tuple[tuple[str, str, str], ...]:
    """Kernel, arguments and reason of each line `kernel | argument,…[ | reason]`."""
    rows: list[tuple[str, str, str]] = []
    for line in _rows(path):
        kernel, arguments, *reason = line.split(" | ")
        rows.append((kernel, arguments, "".join(reason)))
    return tuple(rows)


def _rows(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
