"""Configurations of preprocessors of images and audio."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, cast

from et_schema.errors import InputError

__all__ = ["read_preprocessor"]

_FILES: Final = ("preprocessor_config.json", "processor_config.json")


def read_preprocessor(folder: Path, part: str, what: str) -> dict[str, Any]:
    """The object of `preprocessor_config.json` or `processor_config.json` in a folder, or its member `part`.

    Raises InputError, which names `what` the preprocessor is for, if there is none, or it is damaged.
    """
    for name in _FILES:
        path = folder / name
        if not path.is_file():
            continue
        try:
            found: Any = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"not a configuration of {what}: {error}", where=str(path)) from None
        if isinstance(found, dict):
            whole = cast("dict[str, Any]", found)
            found = whole.get(part, whole)
        if isinstance(found, dict):
            return cast("dict[str, Any]", found)
    raise InputError(
        f"no {_FILES[0]}, the configuration of {what}",
        where=str(folder),
        hint="copy it from the folder of the model",
    )
