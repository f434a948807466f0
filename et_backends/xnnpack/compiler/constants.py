"""Constants of a program as XNNPACK wants them: in another order of dimensions, shape or element type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f16, f32, i64
from xdsl.ir import Attribute, SSAValue

from et_backends.xnnpack.format.graph import XNNDatatype
from et_ir.analysis.integer_operations import is_quantized_constant
from et_ir.data import Blob
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.evaluation.arrays import numpy_dtype

__all__ = ["DATATYPES", "PLACES", "array_blob", "constant_array", "is_constant"]

DATATYPES: dict[Attribute, XNNDatatype] = {f32: XNNDatatype.fp32, f16: XNNDatatype.fp16}
"""The element types that tensors can have, and what XNNPACK calls them."""
PLACES: dict[Attribute, XNNDatatype] = {i64: XNNDatatype.int32}
"""The same for places of elements, which only leave a graph: the runtime makes 64 bits of them."""

Array = np.ndarray[Any, np.dtype[Any]]


def is_constant(value: SSAValue | None) -> bool:
    """Whether a value is data that the program has, which no run changes, or is restored from such integers."""
    return value is not None and (isinstance(value.owner, GetOp) or is_quantized_constant(value))


def constant_array(value: SSAValue, symbols: Globals) -> Array:
    """The elements of a constant, with the shape of its type: a view of the program's data.

    Raises `MissingData` for a constant whose data was not given.
    """
    symbol = symbols.constant_of(value)
    assert symbol is not None
    assert symbol.value is not None
    type = tensor_type(value)
    dtype = numpy_dtype(type.element_type)
    order = dim_order_of(type)
    sizes = [type.get_shape()[dim] for dim in order]
    stored = np.frombuffer(symbol.value.blob.view(), dtype=dtype).reshape(sizes)
    return stored.transpose([order.index(dim) for dim in range(len(order))])


def array_blob(key: str, array: Array, order: Sequence[int] | None = None) -> Blob:
    """The bytes of an array whose dimensions are put into an order; those of a view where nothing moves."""
    arranged = np.ascontiguousarray(array if order is None else array.transpose(order))
    return Blob.of(key, arranged.reshape(-1).view(np.uint8).data)
