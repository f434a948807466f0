"""Constants as numpy arrays, and arrays as the bytes of constants."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from et_ir.data import Blob
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema.literals import ELEMENT_TYPES, element_type_name

__all__ = ["Array", "array_of", "bytes_of", "element_type_of", "has_numpy_dtype", "numpy_dtype"]

Array: TypeAlias = npt.NDArray[Any]

_DTYPES: dict[str, np.dtype[Any]] = {
    "ui8": np.dtype(np.uint8),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i1": np.dtype(np.bool_),
    "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128),
}


@cache
def has_numpy_dtype(element_type: Attribute) -> bool:
    """Whether numpy can hold elements of a type: all but `complex<f16>`."""
    return element_type_name(element_type) in _DTYPES


@cache
def numpy_dtype(element_type: Attribute) -> np.dtype[Any]:
    """The numpy dtype of an element type. Raises `TypeError` for one that numpy does not have."""
    found = _DTYPES.get(element_type_name(element_type))
    if found is None:
        raise TypeError(f"numpy has no {element_type}")
    return found


_PANEL = 64
"""Columns that are copied together when a matrix is transposed."""

_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def element_type_of(dtype: np.dtype[Any]) -> Attribute:
    """The element type that a numpy dtype holds. Raises `KeyError` for one that tensors do not have."""
    return ELEMENT_TYPES[_NAMES[dtype]]


def array_of(type: TensorType[Attribute], blob: Blob) -> Array:
    """The array of a constant, axes in logical order, without a copy. It must not be written to.

    Raises `MissingData` if the bytes are not there.
    """
    shape, order = type.get_shape(), dim_order_of(type)
    flat = np.frombuffer(blob.view(), numpy_dtype(type.element_type))
    stored = flat.reshape([shape[dim] for dim in order])
    return stored.transpose([order.index(dim) for dim in range(len(order))])


def bytes_of(array: Array, type: TensorType[Attribute]) -> memoryview:
    """The bytes of an array in the memory order of a tensor type, copied only where it does not lie so
    already.

    Raises `ValueError` if the array is not of the type's shape and element type.
    """
    if array.shape != type.get_shape() or array.dtype != numpy_dtype(type.element_type):
        raise ValueError(f"an array of shape {array.shape} and dtype {array.dtype} does not fit {type}")
    stored = _packed(array.transpose(dim_order_of(type)))
    return stored.reshape(-1).view(np.uint8).data


def _packed(array: Array) -> Array:
    """The array in row-major order, itself if it is so.

    numpy copies a transposed matrix row by row, and so touches a cache line per element; a panel of columns at a time
    takes a third to a tenth of that.
    """
    if array.ndim < 2 or array.flags.c_contiguous or abs(array.strides[-1]) == array.itemsize:
        return np.ascontiguousarray(array)
    packed = np.empty(array.shape, array.dtype)
    for start in range(0, array.shape[-1], _PANEL):
        panel = (..., slice(start, start + _PANEL))
        packed[panel] = array[panel]
    return packed
