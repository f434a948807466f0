"""Outputs of delegates, and the inputs that they update, by known formats."""

from __future__ import annotations

from et_backends.native.format import read_native
from et_backends.xnnpack.format.blob import read_xnnpack
from et_schema.errors import InvalidFile

__all__ = ["outputs_of_blob", "updates_of_blob"]


def outputs_of_blob(backend: str, blob: memoryview) -> int | None:
    """The number of values that a delegate writes; `None` for a format that is not known, and for a damaged blob."""
    try:
        match backend:
            case "XnnpackBackend":
                return len(read_xnnpack(blob).graph.output_ids)
            case "NativeBackend":
                return len(read_native(blob).outputs)
            case _:
                return None
    except InvalidFile:
        return None


def updates_of_blob(backend: str, blob: memoryview) -> dict[int, int]:
    """The outputs that are an input with other elements in some places, by number, and each one's input."""
    if backend != "NativeBackend":
        return {}
    try:
        return {one.output: one.input for one in read_native(blob).updates}
    except InvalidFile:
        return {}
