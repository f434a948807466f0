"""Where the tables of a decoded file are, for messages about what they mean."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, cast


class Location(NamedTuple):
    """``path`` reads like Python (``execution_plan[0].values[12].val``); ``offset`` is a byte of the file."""

    path: str
    offset: int


def locate_tables(root: object, offsets: dict[int, int]) -> dict[int, Location]:
    """``id(table)`` to path and byte, for ``root`` and all tables below it.

    ``offsets`` is what ``Reader(locate=True)`` recorded. Valid while the tree lives.
    """
    found: dict[int, Location] = {}
    pending: list[tuple[Any, str]] = [(root, "")]
    while pending:
        item, path = pending.pop()
        found[id(item)] = Location(path, offsets[id(item)])
        for field in fields(item):
            name = f"{path}.{field.name}" if path else field.name
            value: Any = getattr(item, field.name)
            if is_dataclass(value):
                pending.append((value, name))
            elif isinstance(value, list):
                children = cast(list[Any], value)
                pending += [(c, f"{name}[{i}]") for i, c in enumerate(children) if is_dataclass(c)]
    return found


class Locations:
    """Looks up bytes by path, in what :func:`locate_tables` found."""

    def __init__(self, locations: dict[int, Location]) -> None:
        self._by_path: dict[str, int] = dict(locations.values())

    def byte_of(self, where: str) -> int | None:
        """The byte of the innermost table on the path ``where``: of ``a[1].b`` for ``a[1].b.sizes[0]``."""
        while where not in self._by_path:
            if not where:
                return None
            cut = max(where.rfind("."), where.rfind("["))
            where = where[: max(cut, 0)]
        return self._by_path[where]
