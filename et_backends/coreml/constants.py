"""Constants in blobs of Core ML: types, shapes and names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from et_backends.coreml.format.blob import read_coreml
from et_schema.delegate_constants import DelegateConstant

__all__ = ["constants"]


def constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    """The constants of a blob, in its order; `named` is the named data of the program."""
    for name, value in read_coreml(blob, named).program.weights():
        dtype = value.type.name.name.lower()
        data = memoryview(value.data)
        yield DelegateConstant(dtype, list(value.type.shape), data.nbytes, "", data, name)
