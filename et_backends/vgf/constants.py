"""Constants in blobs of VGF: types and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from et_backends.vgf.format import FORMATS, read_vgf
from et_schema.delegate_constants import DelegateConstant

__all__ = ["constants"]


def constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    """The constants of a blob, in its order; `named` is the named data of the program."""
    for one in read_vgf(blob).constants:
        dtype, shape = FORMATS.get(one.format, "bytes"), list(one.shape)
        if dtype == "bytes" or one.is_sparse:
            dtype, shape = "bytes", [one.data.nbytes]
        yield DelegateConstant(dtype, shape, one.data.nbytes, "", one.data)
