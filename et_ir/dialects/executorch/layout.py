"""Tensor types of registers as the file describes tensors: element type, sizes, dim order, bytes.

A register's type holds static sizes: upper bounds where the tensor is dynamic. Its encoding is the memory
layout, absent for the contiguous one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from math import prod
from typing import Final, TypeAlias

from xdsl.dialects.builtin import IntegerType, NoneAttr, Signedness, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.edge.attributes import DimOrderAttr, contiguous, dim_order_of
from et_ir.dialects.executorch.attributes import ElementType
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_schema.program import MAX_RANK, DeviceType
from et_schema.scalar_type import ScalarType
from et_schema.whole_numbers import MAX_WHOLE_NUMBER, shortened

__all__ = [
    "Tensor",
    "device",
    "dim_order",
    "element_type",
    "excess_of",
    "is_contiguous",
    "nbytes",
    "scalar_type",
    "tensor_type",
]

Tensor: TypeAlias = TensorType[Attribute]

_MAX_SIZE: Final = 2**31 - 1
"""The largest number of the type that files have for sizes."""
_ELEMENTS: Final[dict[ScalarType, Attribute]] = {
    ScalarType.from_mlir(name): type for name, type in ELEMENT_TYPES.items()
} | {
    ScalarType.UINT16: IntegerType(16, Signedness.UNSIGNED),
    ScalarType.UINT32: IntegerType(32, Signedness.UNSIGNED),
    ScalarType.UINT64: IntegerType(64, Signedness.UNSIGNED),
}
_SCALARS: Final[dict[Attribute, ScalarType]] = {type: scalar for scalar, type in _ELEMENTS.items()}


def element_type(scalar: ScalarType) -> Attribute:
    """The element type for a scalar type; every scalar type has one."""
    found = _ELEMENTS.get(scalar)
    return ElementType(StringAttr(scalar.torch_name)) if found is None else found


@cache
def scalar_type(element: Attribute) -> ScalarType:
    """The scalar type of an element type. Raises `VerifyException` for a type that tensors in a file cannot
    have.
    """
    if isinstance(element, ElementType):
        for scalar in ScalarType:
            if scalar.torch_name == element.torch_name.data:
                return scalar
    elif element in _SCALARS:
        return _SCALARS[element]
    raise VerifyException(f"{element} is not a tensor element type of the file format")


@lru_cache(maxsize=4096)
def _tensor_type(scalar: ScalarType, sizes: tuple[int, ...], order: tuple[int, ...]) -> Tensor:
    encoding = NoneAttr() if order == contiguous(len(sizes)) else DimOrderAttr.of(order)
    return TensorType(element_type(scalar), sizes, encoding)


def tensor_type(scalar: ScalarType, sizes: Sequence[int], order: Sequence[int] | None = None) -> Tensor:
    """The type of a tensor register; `order` is the dim order, outermost first, contiguous if not given."""
    return _tensor_type(scalar, tuple(sizes), contiguous(len(sizes)) if order is None else tuple(order))


def dim_order(type: Tensor) -> tuple[int, ...]:
    """Axes from outermost to innermost in memory. Raises `VerifyException` for an encoding that is no dim
    order.
    """
    if not isinstance(type.encoding, (NoneAttr, DimOrderAttr)):
        raise VerifyException(f"the encoding of {type} is not a dim order")
    return dim_order_of(type)


def is_contiguous(type: Tensor) -> bool:
    """Whether elements lie in the order of their indices."""
    return isinstance(type.encoding, NoneAttr)


def device(text: str) -> tuple[DeviceType, int]:
    """Type and index of a device such as `cuda:0`. Raises `VerifyException` for one that files do not know."""
    name, _, index = text.partition(":")
    if name.upper() not in DeviceType.__members__ or not (index or "0").isdecimal():
        known = ", ".join(kind.name.lower() for kind in DeviceType)
        raise VerifyException(
            f"'{text}' is not a device: expected one of {known} and an index, for example cuda:0"
        )
    return DeviceType[name.upper()], int(index or 0)


def nbytes(type: Tensor) -> int:
    """Bytes of a tensor of static sizes. Raises `VerifyException` if its element type is none of a file's."""
    size = scalar_type(type.element_type).itemsize
    for dim in type.shape.data:
        size *= dim.data
    return size


def excess_of(type: Tensor) -> tuple[str, str] | None:
    """What a tensor of static sizes has more of than a file can describe, and the most; `None` if a file can."""
    rank, largest = type.get_num_dims(), max(type.get_shape(), default=0)
    if rank > MAX_RANK:
        return f"{rank} dimensions", str(MAX_RANK)
    if largest > _MAX_SIZE:
        return f"a size of {shortened(str(largest))}", f"{_MAX_SIZE}"
    if prod(type.get_shape()) > MAX_WHOLE_NUMBER:
        return f"{shortened(str(prod(type.get_shape())))} elements", str(MAX_WHOLE_NUMBER)
    return None
