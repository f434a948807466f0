"""Tensor types, as the type checker sees them."""

from __future__ import annotations

from typing_extensions import TypeIs
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

__all__ = ["is_static", "is_tensor", "tensor_type"]


def is_tensor(type: Attribute) -> TypeIs[TensorType[Attribute]]:
    """Whether a type is that of a tensor with a rank."""
    return isinstance(type, TensorType)


def tensor_type(value: SSAValue) -> TensorType[Attribute]:
    """The type of a tensor value. Raises `TypeError` for other values."""
    type = value.type
    if not is_tensor(type):
        raise TypeError(f"expected a tensor, got a value of type {type}")
    return type


def is_static(type: TensorType[Attribute]) -> bool:
    """Whether all sizes of a tensor type are known."""
    return all(size >= 0 for size in type.get_shape())
