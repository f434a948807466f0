"""Module paths of instructions, from the debug map that `et-compile --debug-map` writes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

from et_schema.errors import Error, ExecutorchError, InvalidFile

__all__ = ["module_paths"]


def module_paths(path: str | os.PathLike[str], method: str) -> dict[int, str]:
    """The module, such as `encoder.layers.0`, that each instruction of a method comes from, where it is known.

    Raises ExecutorchError(AccessFailed) for a file that cannot be read, InvalidFile for one that is no debug map or
    that lacks the method.
    """
    where = os.fspath(path)
    try:
        origins: Any = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise ExecutorchError(Error.AccessFailed, f"{where}: {error.strerror}", where=where) from error
    except ValueError as error:
        raise InvalidFile(f"not a debug map: {error}", where=where) from error
    hint = "et-compile --debug-map writes one"
    rows: Any = origins.get(method) if hasattr(origins, "get") else None
    if not isinstance(rows, list):
        raise InvalidFile(f"the debug map has no method {method!r}", where=where, hint=hint)
    try:
        return {
            row["instruction"]: row["module"] for row in cast("list[dict[str, Any]]", rows) if row["module"]
        }
    except (TypeError, KeyError) as error:
        raise InvalidFile("the debug map has rows of another form", where=where, hint=hint) from error
