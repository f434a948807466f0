"""Constants in blobs of Ethos-U."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from et_backends.ethos_u.format import read_vela
from et_schema.delegate_constants import DelegateConstant

__all__ = ["constants"]


def constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    """Weights and scales of all operators in one, as the processor decodes them."""
    data = memoryview(read_vela(blob).weights)
    if data.nbytes:
        yield DelegateConstant("bytes", [data.nbytes], data.nbytes, "", data, "weight_data")
