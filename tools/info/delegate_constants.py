"""Constants in the blobs of each backend.

XNNPACK, Core ML, TOSA and VGF have types and shapes, ExecuTorch's Vulkan those of tensors, Core ML and TOSA names of
their own; the others have only bytes, as kernels read them. A nested program has names of weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Final

from et_schema.delegate_constants import DelegateConstant

__all__ = [
    "coreml_constants",
    "ethos_u_constants",
    "native_constants",
    "nested_constants",
    "spirv_constants",
    "tosa_constants",
    "vgf_constants",
    "vkgraph_constants",
    "xnnpack_constants",
]

TORCH: Final = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
"""Types that torch has under another name."""


def xnnpack_constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    from et_backends.xnnpack.format.blob import read_xnnpack
    from et_backends.xnnpack.format.nodes import constant_bytes, tensor_of

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


def native_constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    from et_backends.native.format import read_native

    for one in read_native(blob).constants:
        yield DelegateConstant("bytes", [one.nbytes], one.nbytes, one.key, named.get(one.key))


def vkgraph_constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    from et_backends.vulkan_graph.format.blob import SCALAR_TYPES, read_vkgraph
    from et_backends.vulkan_graph.format.tables import VkTensor

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


def spirv_constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    from et_backends.vulkan.format.blob import read_vulkan

    for one in read_vulkan(blob).constants:
        yield DelegateConstant("bytes", [one.nbytes], one.nbytes, one.key, named.get(one.key))


def coreml_constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    from et_backends.coreml.format.blob import read_coreml

    for name, value in read_coreml(blob).program.weights():
        dtype = value.type.name.name.lower()
        data = memoryview(value.data)
        yield DelegateConstant(dtype, list(value.type.shape), data.nbytes, "", data, name)


def tosa_constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    from et_backends.tosa.format.blob import block_of, constant_bytes, read_tosa
    from et_backends.tosa.format.operators import TosaType

    for tensor in block_of(read_tosa(blob)).tensors:
        if tensor.data:
            dtype = tensor.type.name.lower()
            dtype = TORCH.get(dtype, dtype)
            nbytes = constant_bytes(TosaType(tuple(tensor.shape), tensor.type))
            data = memoryview(tensor.data)[:nbytes]  # without padding
            yield DelegateConstant(dtype, list(tensor.shape), nbytes, "", data, tensor.name)


def vgf_constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    from et_backends.vgf.format import FORMATS, read_vgf

    for one in read_vgf(blob).constants:
        dtype, shape = FORMATS.get(one.format, "bytes"), list(one.shape)
        if dtype == "bytes" or one.is_sparse:
            dtype, shape = "bytes", [one.data.nbytes]
        yield DelegateConstant(dtype, shape, one.data.nbytes, "", one.data)


def ethos_u_constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    """Weights and scales of all operators in one, as the processor decodes them."""
    from et_backends.ethos_u.format import read_vela

    data = memoryview(read_vela(blob).weights)
    if data.nbytes:
        yield DelegateConstant("bytes", [data.nbytes], data.nbytes, "", data, "weight_data")


def nested_constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    from et_tools.info.weights import constants
    from et_vm.load.loader import BytesDataLoader
    from et_vm.program import Program
    from et_vm.verify.tensors import tensor_data

    program = Program(BytesDataLoader(blob))
    for table, weight in constants(program):
        name: str = weight.get("name", "")
        key = name if weight["external"] else ""
        data = named.get(key) if key else tensor_data(table, weight["nbytes"], program.pte)
        yield DelegateConstant(
            weight["dtype"], weight["shape"], weight["nbytes"], key, data, "" if key else name
        )
