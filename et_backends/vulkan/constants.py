"""Constants in blobs of shaders: bytes, as kernels read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from et_backends.vulkan.format.blob import read_vulkan
from et_schema.delegate_constants import DelegateConstant

__all__ = ["constants"]


def constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    """The constants of a blob, in its order; `named` is the named data of the program."""
    for one in read_vulkan(blob).constants:
        yield DelegateConstant("bytes", [one.nbytes], one.nbytes, one.key, named.get(one.key))
