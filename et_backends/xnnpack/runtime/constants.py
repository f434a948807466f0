"""The constants of a graph as the tensors that kernels read.

Those in float32 and float16 are views of the blob, or of the program's named data, and so are the integers of quantized
weights (`weights.py`). Other quantized constants, such as biases, become float32 when the graph is loaded: 4 bytes an
element. Matrices among these lie in memory column by column, as products want them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from et_backends.xnnpack.format.blob import XnnpackBlob
from et_backends.xnnpack.format.graph import (
    PerChannelGroupQuant,
    PerChannelQuant,
    PerTensorQuant,
    XNNDatatype,
    XNNQuantizedTensorValue,
    XNNTensorValue,
    XValue,
)
from et_backends.xnnpack.format.nodes import constant_bytes
from et_backends.xnnpack.runtime.weights import QuantizedWeight
from et_schema.errors import Error, InvalidFile
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.backends.accounting import Accountant
from et_vm.values import Array, Tensor, element_count

_D = XNNDatatype
ELEMENTS = {_D.fp16: ScalarType.HALF, _D.bf16: ScalarType.BFLOAT16, _D.int32: ScalarType.INT}
"""The array types of values that are not float32; quantized ones are."""

_STORED = {_D.quint8: np.dtype(np.uint8), _D.qint32: np.dtype(np.int32), _D.qcint32: np.dtype(np.int32)}
_NIBBLES = (_D.qcint4, _D.qbint4)


def load_constant(
    blob: XnnpackBlob,
    value: XValue,
    tensor: XNNTensorValue,
    named_data: Mapping[str, memoryview],
    where: str,
    accountant: Accountant,
) -> tuple[Tensor, int]:
    """The constant that `value` is, and how many bytes were taken for it: none for a view; `where` is its path in
    messages.

    Raises InvalidFile(DelegateInvalidCompatibility) when the constant is missing or too short, and what `accountant`
    raises.
    """
    scalar_type = ELEMENTS.get(tensor.datatype, ScalarType.FLOAT)
    data = _bytes(blob, tensor, named_data, where)
    described = value.xvalue_union
    quantized = isinstance(described, XNNQuantizedTensorValue)
    order = (1, 0) if quantized and len(tensor.dims) == 2 else tuple(range(len(tensor.dims)))
    loaded = Tensor(scalar_type, tensor.dims, order, constant=True, name=where)
    if isinstance(described, XNNQuantizedTensorValue):

        def restored() -> Array:
            numbers = _real_numbers(blob, described, tensor, data, named_data, where)
            return np.ascontiguousarray(numbers.transpose(order)).reshape(-1).view(np.uint8)

        # Numbers row by row, and the integers that are halves of bytes.
        temporaries = 2 * loaded.nbytes + _scale_bytes(described, tensor)
        loaded.bind(accountant.derive(loaded.nbytes, restored, temporaries))
        taken = loaded.nbytes
    else:
        stored = np.frombuffer(data, np.uint8)
        taken = 0
        if stored.ctypes.data % loaded.dtype.itemsize:
            stored = accountant.derive(loaded.nbytes, stored.copy)
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
    weight = quantized_weight(blob, value, tensor, data, named_data, where)
    numbers = np.empty((weight.rows, weight.columns), np.float32)
    weight.dequantize(0, weight.rows, numbers)
    return numbers.reshape(tensor.dims)


def load_weight(
    blob: XnnpackBlob,
    value: XNNQuantizedTensorValue,
    tensor: XNNTensorValue,
    named_data: Mapping[str, memoryview],
    where: str,
    accountant: Accountant,
) -> QuantizedWeight:
    """A quantized constant as integers, which are a view. Raises as `load_constant` does."""
    data = _bytes(blob, tensor, named_data, where)
    made: list[QuantizedWeight] = []

    def scales() -> Array:
        made.append(quantized_weight(blob, value, tensor, data, named_data, where))
        return made[0].scales

    nbytes = _scale_bytes(value, tensor)
    accountant.derive(nbytes, scales, nbytes)
    return made[0]


def _scale_bytes(value: XNNQuantizedTensorValue, tensor: XNNTensorValue) -> int:
    """Bytes of the scales of a constant, of its channels or groups and of its rows."""
    parameters = value.quant_params
    if not isinstance(parameters, (PerChannelQuant, PerChannelGroupQuant)):
        return 4
    stored = parameters.num_scales if parameters.scale_buffer_idx else len(parameters.scale)
    return 4 * (stored + element_count(tensor.dims[:-1]))


def quantized_weight(
    blob: XnnpackBlob,
    value: XNNQuantizedTensorValue,
    tensor: XNNTensorValue,
    data: memoryview,
    named_data: Mapping[str, memoryview],
    where: str,
) -> QuantizedWeight:
    """The integers of `data` with their scales, as a matrix with the innermost dimension for columns."""
    parameters = value.quant_params
    dims = tuple(tensor.dims)
    columns = dims[-1] if dims else 1
    rows = element_count(dims[:-1])
    nibbles = tensor.datatype in _NIBBLES
    stored = np.frombuffer(data, np.uint8 if nibbles else _STORED.get(tensor.datatype, np.dtype(np.int8)))
    stored = stored.reshape(rows, -(-columns // 2) if nibbles else columns)
    if isinstance(parameters, PerTensorQuant):
        scales = np.full((1, 1), parameters.scale, np.float32)
        return QuantizedWeight(stored, nibbles, dims, scales, np.float32(parameters.zero_point))
    if isinstance(parameters, PerChannelGroupQuant):
        scales = _scales(blob, parameters, ScalarType.BFLOAT16, named_data, where)
        groups = columns // parameters.group_size
        if scales.size != rows * groups:
            raise InvalidFile(
                f"{scales.size} scales for {rows * groups} groups",
                code=Error.DelegateInvalidCompatibility,
                where=where,
            )
        return QuantizedWeight(stored, nibbles, dims, scales.reshape(rows, groups))
    assert isinstance(parameters, PerChannelQuant)
    scales = _scales(blob, parameters, ScalarType.FLOAT, named_data, where)
    shape = [1] * len(dims)
    shape[parameters.channel_dim] = -1
    # One for each row, or for each column.
    spread = scales.reshape(shape)
    by_column = spread.shape[-1:] != (1,)
    spread = spread.reshape(1, -1) if by_column else np.broadcast_to(spread, (*dims[:-1], 1)).reshape(rows, 1)
    return QuantizedWeight(stored, nibbles, dims, spread)


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
