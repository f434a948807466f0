"""Calls of integer kernels on arrays, and the formula of requantization in Python's own arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import numpy as np

from et_schema.scalar_type import ScalarType
from et_vm.kernels.libraries import load_library
from et_vm.kernels.registry import PrepareContext, Scratch
from et_vm.values import Array, Tensor

_TYPES = {
    np.dtype(np.int8): ScalarType.CHAR,
    np.dtype(np.int32): ScalarType.INT,
    np.dtype(np.float32): ScalarType.FLOAT,
    np.dtype(np.float64): ScalarType.DOUBLE,
}


def register(array: Array, *, last: bool = False, constant: bool = False) -> Tensor:
    """A tensor with the elements of an array, with channels last in memory if `last`."""
    order = tuple(range(array.ndim))
    if last:
        order = (0, *range(2, array.ndim), 1)
    storage = np.frombuffer(bytearray(np.ascontiguousarray(array.transpose(order)).tobytes()), np.uint8)
    if constant:
        storage.flags.writeable = False
    return Tensor(_TYPES[array.dtype], array.shape, order, storage=storage, constant=constant)


def run(
    operator: str, *arguments: Any, shape: tuple[int, ...], last: bool = False, constant: bool = False
) -> Array:
    """The i8 result of a kernel of the library; arrays among the arguments are tensors."""

    def given(at: int, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        array = cast("Array", value)
        return register(array, last=last and array.ndim > 3, constant=constant and at > 0)

    out = register(np.full(shape, 85).astype(np.int8), last=last)
    prepare = load_library("portable").lookup(operator, ())
    assert prepare is not None
    function, parts = prepare(
        PrepareContext(operator, scratch=Scratch()), *(given(*pair) for pair in enumerate(arguments)), out
    )
    function(*parts)
    return np.array(out.array)


def rounded(real: float, zero_point: int, least: int, most: int) -> int:
    """A number in steps of the result, rounded half to even and clamped."""
    return min(max(round(Fraction(real)) + zero_point, least), most)


def integers(rng: np.random.Generator, *shape: int, least: int = -128) -> Array:
    """Random integers of 8 bits, among them the limits."""
    return rng.integers(least, 128, shape).astype(np.int8)
