"""Files kept until what they were made from changes: trained weights, compiled programs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# What a package's behaviour is made of: its code, and the tables and schemas beside it.
SOURCES = (".py", ".txt", ".fbs")


def digest(*items: Path | str) -> str:
    """A sha256 over the items in order: a file's content, a folder's sources, or the string itself."""
    state = hashlib.sha256()
    for item in items:
        if isinstance(item, str):
            state.update(f"{len(item)}:{item}".encode())
            continue
        files = [item] if item.is_file() else sorted(p for p in item.rglob("*") if p.suffix in SOURCES)
        for file in files:
            content = file.read_bytes()
            state.update(f"{file.name}:{len(content)}:".encode())
            state.update(content)
    return state.hexdigest()


def package(name: str) -> Path:
    """The folder of an importable package; `ModuleNotFoundError` when there is none."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"no package {name!r}; is the project installed (pip install -e .)?")
    return Path(spec.submodule_search_locations[0])


def keep(path: Path, key: str, make: Callable[[Path], dict[str, Any]]) -> tuple[dict[str, Any], bool]:
    """The notes of the file at `path`, made by `make` unless it was already made under the same `key`.

    `make` writes the file at the path it is given and returns notes (JSON values) that are kept beside it
    in `<path>.json`. Returns the notes, and whether the file had to be made. An interrupted `make` leaves
    nothing behind that a later call would take for finished.
    """
    record = path.with_name(f"{path.name}.json")
    if path.exists() and record.exists():
        known = json.loads(record.read_text())
        if known["key"] == key:
            return known["notes"], False
    path.parent.mkdir(parents=True, exist_ok=True)
    record.unlink(missing_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        notes = make(draft)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    record.write_text(json.dumps({"key": key, "notes": notes}, indent=1))
    return notes, True
