"""Type compatibility up to static shape information.

A value may stand where a type is declared if the two types differ in what they know of sizes alone.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute

from et_ir.dialects.schema.tensors import is_tensor, layout_of, sized_tensor, sizes_of

__all__ = ["fits", "slice_type"]


def fits(given: Attribute, declared: Attribute) -> bool:
    """Whether a value of one type may stand where another is declared.

    Numbers have the same type; tensors the same element type, rank and layout, and sizes that do not contradict each
    other: a size that one type does not know can be that of the other.
    """
    if given == declared:
        return True
    if not is_tensor(given) or not is_tensor(declared):
        return False
    if given.element_type != declared.element_type or layout_of(given) != layout_of(declared):
        return False
    sizes, wanted = given.get_shape(), declared.get_shape()
    return len(sizes) == len(wanted) and all(
        a == b or DYNAMIC_INDEX in (a, b) for a, b in zip(sizes, wanted, strict=True)
    )


def slice_type(type: TensorType[Attribute]) -> TensorType[Attribute]:
    """The type of one slice of a tensor along its first dimension. Slices are contiguous."""
    return sized_tensor(type.element_type, sizes_of(type)[1:])
