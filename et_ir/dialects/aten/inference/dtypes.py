"""Element types and PyTorch's rules for promoting them.

Source: "Type Promotion Semantics" of PyTorch's tensor attributes, and `c10::promoteTypes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Final

from xdsl.ir import Attribute

from et_ir.dialects.schema.literals import ELEMENT_TYPES

__all__ = [
    "BF16",
    "BOOL",
    "C32",
    "C64",
    "C128",
    "F16",
    "F32",
    "F64",
    "I8",
    "I16",
    "I32",
    "I64",
    "U8",
    "Category",
    "DType",
    "as_float",
    "dtype_of",
    "promote",
    "promote_categories",
    "real_of",
]


class Category(IntEnum):
    """Kinds of numbers, lower ones promoting to higher ones."""

    BOOL = 0
    INTEGER = 1
    FLOAT = 2
    COMPLEX = 3


@dataclass(frozen=True, eq=False)
class DType:
    """An element type. One instance of each: they compare by identity. `bits` of a complex type are one
    part's.
    """

    name: str
    category: Category
    bits: int
    attr: Attribute

    @property
    def is_float(self) -> bool:
        return self.category is Category.FLOAT

    @property
    def is_complex(self) -> bool:
        return self.category is Category.COMPLEX

    @property
    def is_integral(self) -> bool:
        """Whether this is an integer type or boolean."""
        return self.category <= Category.INTEGER

    def __repr__(self) -> str:
        return self.name


def _make(name: str, category: Category, bits: int) -> DType:
    return DType(name, category, bits, ELEMENT_TYPES[name])


BOOL: Final = _make("i1", Category.BOOL, 1)
U8: Final = _make("ui8", Category.INTEGER, 8)
I8: Final = _make("i8", Category.INTEGER, 8)
I16: Final = _make("i16", Category.INTEGER, 16)
I32: Final = _make("i32", Category.INTEGER, 32)
I64: Final = _make("i64", Category.INTEGER, 64)
F16: Final = _make("f16", Category.FLOAT, 16)
BF16: Final = _make("bf16", Category.FLOAT, 16)
F32: Final = _make("f32", Category.FLOAT, 32)
F64: Final = _make("f64", Category.FLOAT, 64)
C32: Final = _make("complex<f16>", Category.COMPLEX, 16)
C64: Final = _make("complex<f32>", Category.COMPLEX, 32)
C128: Final = _make("complex<f64>", Category.COMPLEX, 64)

_ALL: Final = (BOOL, U8, I8, I16, I32, I64, F16, BF16, F32, F64, C32, C64, C128)
_BY_ATTR: Final = {dtype.attr: dtype for dtype in _ALL}
_COMPLEX_OF: Final = {F16: C32, BF16: C64, F32: C64, F64: C128}
_REAL_OF: Final = {C32: F16, C64: F32, C128: F64}


def dtype_of(attr: Attribute) -> DType:
    """The element type of an attribute. Raises `ValueError` for one that tensors cannot have."""
    found = _BY_ATTR.get(attr)
    if found is None:
        raise ValueError(f"{attr} is no element type of tensors")
    return found


def real_of(dtype: DType) -> DType:
    """The type of the parts of a complex type; other types stay."""
    return _REAL_OF.get(dtype, dtype)


def as_float(dtype: DType) -> DType:
    """Integers and booleans become the default float, f32; other types stay."""
    return F32 if dtype.is_integral else dtype


@cache
def promote(a: DType, b: DType) -> DType:
    """The smallest type that both fit, as `torch.promote_types` has it."""
    if a is b:
        return a
    low, high = sorted((a, b), key=lambda d: (d.category, d.bits))
    if high.is_complex:
        if low.is_float:
            low = _COMPLEX_OF[low]
        elif low.is_integral:
            return high
        return max(low, high, key=lambda d: d.bits)
    if low.category is not high.category:
        return high
    if high.is_float:
        return F32 if low.bits == high.bits else high
    # Of the integers only u8 is unsigned: with a signed type of its size it needs the next larger one.
    return I16 if low.bits == high.bits else high


def _combine(higher: DType | None, lower: DType | None) -> DType | None:
    """A type of higher priority gives way to one of lower priority only if that is of a higher category."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_float and lower.is_complex:
        return _COMPLEX_OF[higher]
    if higher.category < Category.FLOAT and (higher is BOOL or lower.category >= Category.FLOAT):
        return promote(higher, lower)
    return higher


def promote_categories(
    dimensioned: Iterable[DType], zero_dim: Iterable[DType], numbers: Iterable[DType]
) -> DType | None:
    """The result type of operands in three classes of falling priority; `None` if there are none.

    `dimensioned` are types of tensors with at least one dimension, `zero_dim` of those without, `numbers` of
    Python numbers (i1, i64 or f64), of which floats count as the default float.
    """
    parts: list[DType | None] = []
    for types in (dimensioned, zero_dim, (F32 if n.is_float else n for n in numbers)):
        part: DType | None = None
        for dtype in types:
            part = dtype if part is None else promote(part, dtype)
        parts.append(part)
    return _combine(parts[0], _combine(parts[1], parts[2]))
