"""Number of outputs of delegates whose blobs have a known format."""

from __future__ import annotations

from et_schema.errors import InvalidFile
from et_schema.xnnpack import read_xnnpack

__all__ = ["outputs_of_blob"]


def outputs_of_blob(backend: str, blob: memoryview) -> int | None:
    """The number of values that a delegate writes; `None` for a format that is not known, and for a damaged blob."""
    if backend != "XnnpackBackend":
        return None
    try:
        return len(read_xnnpack(blob).graph.output_ids)
    except InvalidFile:
        return None
