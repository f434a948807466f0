"""Module paths of instructions, from the debug map that `et-compile --debug-map` writes."""

from __future__ import annotations

import os

from et_schema.errors import InvalidFile
from et_vm.devtools.debug_map import HINT, rows_of_method

__all__ = ["module_paths"]


def module_paths(path: str | os.PathLike[str], method: str) -> dict[int, str]:
    """The module, such as `encoder.layers.0`, that each instruction of a method comes from, where it is known.

    Raises ExecutorchError(AccessFailed) for a file that cannot be read, InvalidFile for one that is no debug map or
    that lacks the method.
    """
    try:
        return {row["instruction"]: row["module"] for row in rows_of_method(path, method) if row["module"]}
    except (TypeError, KeyError) as error:
        raise InvalidFile(
            "the debug map has rows of another form", where=os.fspath(path), hint=HINT
        ) from error
