"""Outputs of delegates and updates of inputs, read by backend packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from et_schema.backend_packages import backend_packages, load_part
from et_schema.errors import InvalidFile

__all__ = ["BlobWrites", "outputs_of_blob", "updates_of_blob"]


class BlobWrites(NamedTuple):
    """The values that a delegate writes."""

    outputs: int
    """Their number."""
    updates: Mapping[int, int] = {}
    """The outputs that are an input with other elements in some places, by number, and each one's input."""


def outputs_of_blob(backend: str, blob: memoryview, named: Mapping[str, memoryview]) -> int | None:
    """The number of values that a delegate writes; `None` for a format that is not known, and for a damaged blob.
    `named` is the named data of the program.
    """
    found = _writes(backend, blob, named)
    return None if found is None else found.outputs


def updates_of_blob(backend: str, blob: memoryview, named: Mapping[str, memoryview]) -> Mapping[int, int]:
    """The outputs that are an input with other elements in some places, by number, and each one's input."""
    found = _writes(backend, blob, named)
    return {} if found is None else found.updates


def _writes(backend: str, blob: memoryview, named: Mapping[str, memoryview]) -> BlobWrites | None:
    place = backend_packages().places("writes").get(backend)
    if place is None:
        return None
    reader: Callable[[memoryview, Mapping[str, memoryview]], BlobWrites] = load_part(place)
    try:
        return reader(blob, named)
    except InvalidFile:
        return None
