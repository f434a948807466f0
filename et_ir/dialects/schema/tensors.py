"""Tensor types, as the type checker sees them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from typing_extensions import TypeIs
from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.schema.sizes import SizesAttr, encoding_of
from et_ops.sizes import Expression, Undecided

__all__ = [
    "Size",
    "has_equal_sizes",
    "is_as_precise",
    "is_static",
    "is_tensor",
    "layout_of",
    "may_be_equal",
    "may_be_same_type",
    "same_type",
    "sized_tensor",
    "sizes_of",
    "tensor_type",
    "with_sizes_of",
]

Size = int | Expression | None
"""A size of a tensor type: a number, an expression of symbols, or `None` where nothing is known."""


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
    return min(type.get_shape(), default=0) >= 0


# -- sizes known at run time only


_NO_LAYOUT: Final = NoneAttr()


@lru_cache(maxsize=16384)
def sizes_of(type: TensorType[Attribute]) -> tuple[Size, ...]:
    """The sizes of a tensor type, with the expressions of those known at run time only."""
    shape = type.get_shape()
    encoding = type.encoding
    if not isinstance(encoding, SizesAttr):
        return tuple(size if size >= 0 else None for size in shape)
    symbolic = iter(encoding.data.sizes)
    return tuple(size if size >= 0 else next(symbolic, None) for size in shape)


def layout_of(type: TensorType[Attribute]) -> Attribute:
    """The encoding of a tensor type without its sizes: its memory layout, or `NoneAttr`."""
    encoding = type.encoding
    return encoding.data.layout if isinstance(encoding, SizesAttr) else encoding


def sized_tensor(
    element: Attribute, sizes: Sequence[Size], layout: Attribute = _NO_LAYOUT
) -> TensorType[Attribute]:
    """The type of a tensor of such sizes, in a memory layout."""
    known = tuple(size.constant if isinstance(size, Expression) else size for size in sizes)
    dynamic = tuple(
        size if isinstance(size, Expression) else None
        for size, number in zip(sizes, known, strict=True)
        if number is None
    )
    shape = [DYNAMIC_INDEX if size is None else size for size in known]
    return TensorType(element, shape, encoding_of(dynamic, layout) if dynamic else layout)


def has_equal_sizes(a: Attribute, b: Attribute) -> bool:
    """Whether tensors of two types are known to have the same sizes: a `?` without an expression equals no other."""
    if not is_tensor(a) or not is_tensor(b):
        return False
    sizes = sizes_of(a)
    return None not in sizes and sizes == sizes_of(b)


def same_type(a: Attribute, b: Attribute) -> bool:
    """Whether two types are one, and values of them are known to have the same sizes.

    A `?` without an expression is any size, and so not known to equal another.
    """
    return a == b and (not is_tensor(a) or None not in sizes_of(a))


def may_be_same_type(a: Attribute, b: Attribute) -> bool:
    """Whether two types are one but for what they know of sizes that neither knows as a number.

    That is enough where something else says that the sizes are equal, such as the definition of an operator. A `?`
    without an expression may be any; two that have different ones may still be equal, which is not known.
    """
    if a == b:
        return True
    return (
        is_tensor(a)
        and is_tensor(b)
        and a.element_type == b.element_type
        and a.get_shape() == b.get_shape()
        and layout_of(a) == layout_of(b)
        and all(
            mine is None or theirs is None or mine == theirs
            for mine, theirs in zip(sizes_of(a), sizes_of(b), strict=True)
        )
    )


def is_as_precise(a: Attribute, b: Attribute) -> bool:
    """Whether a value of one type may take the place of another type's: it tells all sizes that the other tells."""
    if not is_tensor(a) or not is_tensor(b) or a.get_num_dims() != b.get_num_dims():
        return a == b
    sizes = [mine if theirs < 0 else theirs for mine, theirs in zip(sizes_of(a), b.get_shape(), strict=True)]
    return may_be_same_type(a, sized_tensor(b.element_type, sizes, layout_of(b)))


def may_be_equal(a: Size, b: Size) -> bool:
    """Whether two sizes can be equal in some run, as far as their expressions tell: not if they differ by a number."""
    if a is None or b is None or a == b:
        return True
    try:
        return not (Expression.of(a) - b).constant
    except Undecided:
        return True


def with_sizes_of(type: Attribute, known: Attribute) -> Attribute:
    """A type with the expressions that another type of the same value has for sizes that it does not know."""
    if (
        not is_tensor(type)
        or not is_tensor(known)
        or not isinstance(known.encoding, SizesAttr)
        or type.get_num_dims() != known.get_num_dims()
    ):
        return type
    sizes = [
        mine if mine is not None else theirs
        for mine, theirs in zip(sizes_of(type), sizes_of(known), strict=True)
    ]
    return sized_tensor(type.element_type, sizes, layout_of(type))
