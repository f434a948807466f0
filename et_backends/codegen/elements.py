"""Element types of tensors: in buffers, in registers, and conversion between them.

A bool is a byte in memory, 0 or 1, and a bit in a register. Integers without a sign are bytes in both; what operates on
them converts them first.
"""

from __future__ import annotations

from typing import Final, cast

from xdsl.dialects.builtin import AnyFloat, IntegerType, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import tensor_type

__all__ = [
    "ELEMENTS",
    "MOVED",
    "element_of",
    "in_memory",
    "in_registers",
    "is_float",
    "is_integer",
    "nbytes",
    "promoted",
    "width_of",
]

i8: Final = IntegerType(8)
i16: Final = IntegerType(16)

ELEMENTS: Final[tuple[Attribute, ...]] = (i1, ui8, i8, i16, i32, i64, f32)
"""Element types that there are kernels for; of two operands the later one is the type that they are computed in."""

MOVED: Final[tuple[Attribute, ...]] = (*ELEMENTS, f64)
"""Element types that are moved, converted and computed with by basic arithmetic, where a target has them all."""


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor."""
    return tensor_type(value).element_type


def in_memory(element: Attribute) -> Attribute:
    """The type of an element of a buffer."""
    return i8 if element in (i1, ui8) else element


def in_registers(element: Attribute) -> Attribute:
    """The type of an element of a vector."""
    return i8 if element == ui8 else element


def nbytes(element: Attribute) -> int:
    """The bytes of an element of a buffer."""
    return width_of(in_memory(element)) // 8


def width_of(element: Attribute) -> int:
    """The bits of an element."""
    assert isinstance(element, IntegerType | AnyFloat)
    return cast("IntegerType | AnyFloat", element).bitwidth


def is_float(element: Attribute) -> bool:
    return isinstance(element, AnyFloat)


def is_integer(element: Attribute) -> bool:
    """Whether elements are whole numbers, and no bools."""
    return isinstance(element, IntegerType) and element != i1


def promoted(elements: list[Attribute]) -> Attribute:
    """The type in which operands are computed."""
    if ui8 in elements and i8 in elements:
        elements = [*elements, i16]
    return max(elements, key=MOVED.index)
