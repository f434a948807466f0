"""The constants of a graph as the tensors that kernels read.

Those in float32 and float16 are views of the blob, or of the program's named data. Quantized ones become
float32 when the graph is loaded: 4 bytes an element, so that each product is a call of BLAS. Matrices among these lie
in memory column by column, as products want them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from et_schema.errors import Error, InvalidFile
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_schema.xnnpack import XnnpackBlob
from et_schema.xnnpack_graph import (
    PerChannelGroupQuant,
    PerChannelQuant,
    PerTensorQuant,
    XNNDatatype,
    XNNQuantizedTensorValue,
    XNNTensorValue,
    XValue,
)
from et_schema.xnnpack_nodes import constant_bytes
from et_vm.values import Array, Tensor, element_count

_D = XNNDatatype
ELEMENTS = {_D.fp16: ScalarType.HALF, _D.bf16: ScalarType.BFLOAT16, _D.int32: ScalarType.INT}
"""The array types of values that are not float32; quantized ones are."""

_STORED = {_D.quint8: np.dtype(np.uint8), _D.qint32: np.dtype(np.int32), _D.qcint32: np.dtype(np.int32)}
_NIBBLES = (_D.qcint4, _D.qbint4)
_NIBBLE_ZERO = 8


def load_constant(
    blob: XnnpackBlob, value: XValue, tensor: XNNTensorValue, named_data: Mapping[str, memoryview], where: str
) -> tuple[Tensor, int]:
    """The constant that `value` is, and how many bytes were taken for it: none for a view; `where` is its path in
    messages.

    Raises InvalidFile(DelegateInvalidCompatibility) when the constant is missing or too short.
    """
    scalar_type = ELEMENTS.get(tensor.datatype, ScalarType.FLOAT)
    data = _bytes(blob, tensor, named_data, where)
    described = value.xvalue_union
    quantized = isinstance(described, XNNQuantizedTensorValue)
    order = (1, 0) if quantized and len(tensor.dims) == 2 else tuple(range(len(tensor.dims)))
    loaded = Tensor(scalar_type, tensor.dims, order, constant=True, name=where)
    if isinstance(described, XNNQuantizedTensorValue):
        numbers = _real_numbers(blob, described, tensor, data, named_data, where)
        loaded.bind(np.ascontiguousarray(numbers.transpose(order)).reshape(-1).view(np.uint8))
        taken = loaded.nbytes
    else:
        stored = np.frombuffer(data, np.uint8)
        taken = 0
        if stored.ctypes.data % loaded.dtype.itemsize:
            stored = stored.copy()
            taken = loaded.nbytes
        loaded.bind(stored)
    loaded.array.flags.writeable = False
    return loaded, taken


def _bytes(
    blob: XnnpackBlob, tensor: XNNTensorValue, named_data: Mapping[str, memoryview], where: str
) -> memoryview:
    data = blob.constant(tensor.constant_buffer_idx, named_data)
    return _first(data, constant_bytes(tensor.datatype, tensor.dims), f"{where}.constant_buffer_idx")


def _first(data: memoryview, needed: int, where: str) -> memoryview:
    if len(data) < needed:
        raise InvalidFile(
            f"constant of {len(data)} bytes, expected {needed}",
            code=Error.DelegateInvalidCompatibility,
            where=where,
        )
    return data[:needed]


def _real_numbers(
    blob: XnnpackBlob,
    value: XNNQuantizedTensorValue,
    tensor: XNNTensorValue,
    data: memoryview,
    named_data: Mapping[str, memoryview],
    where: str,
) -> Array:
    """The dequantized elements of a quantized constant, in float32."""
    if tensor.datatype in _NIBBLES:
        integers = _nibbles(data, tensor.dims)
    else:
        stored = np.frombuffer(data, _STORED.get(tensor.datatype, np.dtype(np.int8)))
        integers = stored.reshape(tensor.dims).astype(np.float32)
    parameters = value.quant_params
    if isinstance(parameters, PerTensorQuant):
        if parameters.zero_point:
            integers -= np.float32(parameters.zero_point)
        return integers * np.float32(parameters.scale)
    if isinstance(parameters, PerChannelGroupQuant):
        scales = _scales(blob, parameters, ScalarType.BFLOAT16, named_data, where)
        groups = tensor.dims[-1] // parameters.group_size
        blocks = integers.reshape(-1, groups, parameters.group_size)
        if scales.size != blocks.shape[0] * groups:
            raise InvalidFile(
                f"{scales.size} scales for {blocks.shape[0] * groups} groups",
                code=Error.DelegateInvalidCompatibility,
                where=where,
            )
        return (blocks * scales.reshape(-1, groups, 1)).reshape(tensor.dims)
    assert isinstance(parameters, PerChannelQuant)
    scales = _scales(blob, parameters, ScalarType.FLOAT, named_data, where)
    shape = [1] * len(tensor.dims)
    shape[parameters.channel_dim] = -1
    return integers * scales.reshape(shape)


def _scales(
    blob: XnnpackBlob,
    parameters: PerChannelQuant | PerChannelGroupQuant,
    stored: ScalarType,
    named_data: Mapping[str, memoryview],
    where: str,
) -> Array:
    if not parameters.scale_buffer_idx:
        return np.array(parameters.scale, np.float32)
    data = blob.constant(parameters.scale_buffer_idx, named_data)
    dtype = numpy_dtype(stored)
    data = _first(data, parameters.num_scales * dtype.itemsize, f"{where}.scale_buffer_idx")
    return np.frombuffer(bytes(data), dtype).astype(np.float32)


def _nibbles(data: memoryview, dims: list[int]) -> Array:
    """4-bit numbers from -8 to 7, of which a byte has two: that of the lower index in its low half."""
    columns = dims[-1]
    pairs = np.frombuffer(data, np.uint8).reshape(element_count(dims[:-1]), -1)
    integers = np.empty((*pairs.shape, 2), np.float32)
    integers[..., 0] = pairs & 15
    integers[..., 1] = pairs >> 4
    integers -= np.float32(_NIBBLE_ZERO)
    return np.ascontiguousarray(integers.reshape(pairs.shape[0], -1)[:, :columns]).reshape(dims)
