"""Reading of debug maps: where the instructions of a program come from, as `et-compile --debug-map` writes it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final, cast

from et_schema.errors import Error, ExecutorchError, InvalidFile

__all__ = ["read_debug_map", "rows_of_method"]

HINT: Final = "et-compile --debug-map writes one"


def read_debug_map(path: str | os.PathLike[str]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each method, one for each instruction. What a row has is for the reader to check.

    Raises ExecutorchError(AccessFailed) for a file that cannot be read, InvalidFile for one that is no debug map.
    """
    where = os.fspath(path)
    try:
        found: Any = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise ExecutorchError(Error.AccessFailed, f"{where}: {error.strerror}", where=where) from error
    except ValueError as error:
        raise InvalidFile(f"not a debug map: {error}", where=where, hint=HINT) from error
    except RecursionError as error:
        raise InvalidFile("not a debug map: it is nested too deeply", where=where, hint=HINT) from error
    if not isinstance(found, dict):
        raise InvalidFile("not a debug map: expected a JSON object", where=where, hint=HINT)
    for method, rows in cast("dict[str, Any]", found).items():
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in cast("list[Any]", rows)):
            raise InvalidFile(f"not a debug map: method {method!r} has no rows", where=where, hint=HINT)
    return cast("dict[str, list[dict[str, Any]]]", found)


def rows_of_method(path: str | os.PathLike[str], method: str) -> list[dict[str, Any]]:
    """The rows of one method. Raises as `read_debug_map` does, and InvalidFile for a map without the method."""
    found = read_debug_map(path)
    if method not in found:
        raise InvalidFile(f"the debug map has no method {method!r}", where=os.fspath(path), hint=HINT)
    return found[method]
