"""Constants in blobs of ExecuTorch's Vulkan backend: types and shapes of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from et_backends.vulkan_graph.format.blob import SCALAR_TYPES, read_vkgraph
from et_backends.vulkan_graph.format.tables import VkTensor
from et_schema.delegate_constants import DelegateConstant

__all__ = ["constants"]


def constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    """The constants of a blob, in its order; `named` is the named data of the program."""
    read = read_vkgraph(blob)
    tensors = {
        one.value.constant_id: one.value
        for one in reversed(read.graph.values)
        if isinstance(one.value, VkTensor)
    }
    for at, one in enumerate(read.graph.constants):
        data = named.get(one.named_key) if one.named_key else read.constant(at, named)
        dtype, shape = "bytes", [one.length]
        tensor = tensors.get(at)
        # What kernels read in another layout than the tensor's is bytes.
        if tensor is not None and prod(tensor.dims) * SCALAR_TYPES[tensor.datatype].itemsize == one.length:
            dtype, shape = tensor.datatype.name.lower(), list(tensor.dims)
        yield DelegateConstant(dtype, shape, one.length, one.named_key, data)
