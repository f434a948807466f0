"""Types of values in loops, for the type checker: what a value of a kernel is known to be."""

from __future__ import annotations

from functools import cache
from math import copysign, inf, prod
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    MemRefType,
    VectorType,
    f32,
)
from xdsl.ir import Attribute, SSAValue

__all__ = ["float_splat", "integer_splat", "memref_type", "resized_splat", "vector_of", "vector_type"]


def vector_type(value: SSAValue) -> VectorType[Attribute]:
    """The type of a value that is a vector."""
    assert isinstance(value.type, VectorType)
    return cast("VectorType[Attribute]", value.type)


@cache
def vector_of(*shape: int, element: Attribute = f32) -> VectorType[Attribute]:
    """The type of a vector, of f32 unless told otherwise: made once, as each one that is made is verified."""
    return VectorType(element, shape)


def memref_type(value: SSAValue) -> MemRefType[Attribute]:
    """The type of a value that is a buffer."""
    assert isinstance(value.type, MemRefType)
    return cast("MemRefType[Attribute]", value.type)


def float_splat(type: VectorType[Attribute], number: float) -> DenseIntOrFPElementsAttr:
    """A constant vector of floats whose elements are all `number`, or infinite where that is too large for them."""
    floats = cast("VectorType[AnyFloat]", type)
    try:
        return DenseIntOrFPElementsAttr.from_list(floats, [number])
    except OverflowError:
        return DenseIntOrFPElementsAttr.from_list(floats, [copysign(inf, number)])


def integer_splat(type: VectorType[Attribute], number: int) -> DenseIntOrFPElementsAttr:
    """A constant vector of integers, or of bits, whose elements are all `number`."""
    return DenseIntOrFPElementsAttr.from_list(cast("VectorType[IntegerType]", type), [number])


def resized_splat(type: VectorType[Attribute], splat: DenseIntOrFPElementsAttr) -> DenseIntOrFPElementsAttr:
    """A constant vector of another size with the elements of a splat."""
    raw = splat.data.data
    element = raw[: len(raw) // len(splat)]
    return DenseIntOrFPElementsAttr(
        cast("VectorType[Any]", type), BytesAttr(element * prod(type.get_shape()))
    )
