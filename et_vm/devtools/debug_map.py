"""Reading of debug maps: where the instructions of a program come from, as `et-compile --debug-map` writes it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from et_schema.errors import InvalidFile, access_failed

__all__ = ["Place", "places_of_method", "read_debug_map", "rows_of_method"]

HINT: Final = "et-compile --debug-map writes one"


def read_debug_map(path: str | os.PathLike[str]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each method, one for each instruction. The fields of a row have the right types; which of them there
    are is for the reader to check.

    Raises ExecutorchError(AccessFailed) for a file that cannot be read, InvalidFile for one that is no debug map.
    """
    where = os.fspath(path)
    try:
        found: Any = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise access_failed(path, error) from error
    except ValueError as error:
        raise InvalidFile(f"not a debug map: {error}", where=where, hint=HINT) from error
    except RecursionError as error:
        raise InvalidFile("not a debug map: it is nested too deeply", where=where, hint=HINT) from error
    if not isinstance(found, dict):
        raise InvalidFile("not a debug map: expected a JSON object", where=where, hint=HINT)
    for method, rows in cast("dict[str, Any]", found).items():
        if not _is_list(rows, lambda row: isinstance(row, dict)):
            raise InvalidFile(f"not a debug map: method {method!r} has no rows", where=where, hint=HINT)
        if not _is_list(rows, _is_row):
            raise InvalidFile("the debug map has rows of another form", where=where, hint=HINT)
    return cast("dict[str, list[dict[str, Any]]]", found)


_ROW: Final = {"instruction": int, "operator": str, "node": str, "module": str}
_FRAME: Final = {"file": str, "line": int, "function": str, "code": str}

_DELEGATE: Final = {"backend": str, "identifiers": dict}


_DEEPEST: Final = 1_000
"""Parts of a module's path: reports have a group for each beginning of it."""


def _is_row(value: Any) -> bool:
    if not _has(value, _ROW):
        return False
    row = cast("dict[str, Any]", value)
    if row.get("module", "").count(".") >= _DEEPEST:
        return False
    delegate: Any = row.get("delegate") or {}
    if not (
        _is_list(row.get("source") or [], lambda frame: _has(frame, _FRAME))
        and _is_list(row.get("classes") or [], lambda name: isinstance(name, str))
        and _has(delegate, _DELEGATE)
    ):
        return False
    parts: dict[str, Any] = delegate.get("identifiers", {})
    return all(_is_list(rows, _is_row) for rows in parts.values())


def _has(value: Any, fields: Mapping[str, type]) -> bool:
    """Whether a value is an object, in which the fields that are there have these types."""
    return isinstance(value, dict) and all(
        isinstance(found, fields[key]) and not isinstance(found, bool)
        for key, found in cast("dict[str, Any]", value).items()
        if key in fields
    )


def _is_list(value: Any, is_item: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(is_item, cast("list[Any]", value)))


def rows_of_method(path: str | os.PathLike[str], method: str) -> list[dict[str, Any]]:
    """The rows of one method. Raises as `read_debug_map` does, and InvalidFile for a map without the method."""
    found = read_debug_map(path)
    if method not in found:
        raise InvalidFile(f"the debug map has no method {method!r}", where=os.fspath(path), hint=HINT)
    return found[method]


@dataclass(frozen=True)
class Place:
    """Where an instruction, or a part of the delegate that it calls, comes from."""

    module: str = ""
    """Path of the module, such as `encoder.layers.0`; empty where it is not known."""
    line: str = ""
    """`file:line` of the innermost frame; empty where it is not known."""
    parts: Mapping[str, Place] = field(default_factory=dict[str, "Place"])
    """Of a delegate's call: places of its parts by the backend's identifiers, as text."""


def places_of_method(path: str | os.PathLike[str], method: str) -> dict[int, Place]:
    """The places of a method's instructions by index. A part of a delegate that computes several nodes has the place of
    the first in a module; the delegate's call is in the innermost module around all of its nodes, and at a line if they
    are all of that.

    Raises as `rows_of_method` does, and InvalidFile for rows that are no places.
    """
    found: dict[int, Place] = {}
    try:
        for row in rows_of_method(path, method):
            delegate: Any = row.get("delegate")
            identifiers: dict[str, Any] = delegate.get("identifiers", {}) if delegate else {}
            nodes = {identifier: list(map(_place, rows)) for identifier, rows in identifiers.items()}
            parts = {identifier: _first(places) for identifier, places in nodes.items()}
            own = _around([place for places in nodes.values() for place in places]) or _place(row)
            found[int(row["instruction"])] = Place(own.module, own.line, parts)
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError) as error:
        raise InvalidFile(
            "the debug map has rows of another form", where=os.fspath(path), hint=HINT
        ) from error
    return found


def _place(row: Mapping[str, Any]) -> Place:
    # The innermost frame is the last one, as in Python's tracebacks.
    frames = row.get("source") or ()
    return Place(str(row["module"]), f"{frames[-1]['file']}:{frames[-1]['line']}" if frames else "")


def _first(places: Sequence[Place]) -> Place:
    known = [place for place in places if place.module or place.line]
    return next((place for place in known if place.module), known[0] if known else Place())


def _around(places: Sequence[Place]) -> Place | None:
    """The place of several nodes; None where none of them has one."""
    known = [place for place in places if place.module or place.line]
    if not known:
        return None
    paths = [place.module.split(".") for place in known]
    # Of the smallest and the largest path, what is common is common to all.
    least, most = min(paths), max(paths)
    length = next(
        (at for at, pair in enumerate(zip(least, most, strict=False)) if pair[0] != pair[1]), len(least)
    )
    lines = {place.line for place in known}
    return Place(".".join(least[:length]), lines.pop() if len(lines) == 1 else "")
