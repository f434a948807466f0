"""Constants in blobs of XNNPACK: types and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from et_backends.xnnpack.format.blob import read_xnnpack
from et_backends.xnnpack.format.nodes import constant_bytes, tensor_of
from et_schema.delegate_constants import TORCH, DelegateConstant

__all__ = ["constants"]


def constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    """The constants of a blob, in its order; `named` is the named data of the program."""
    read = read_xnnpack(blob)
    for value in read.graph.xvalues:
        tensor = tensor_of(value)
        if tensor is None or not tensor.constant_buffer_idx:
            continue
        index = tensor.constant_buffer_idx
        key = "" if read.graph.constant_buffer else read.graph.constant_data[index].named_key
        dtype = TORCH.get(tensor.datatype.name, tensor.datatype.name)
        data = named.get(key) if key else read.constant(index, named)
        nbytes = constant_bytes(tensor.datatype, tensor.dims)
        yield DelegateConstant(dtype, list(tensor.dims), nbytes, key, data)
