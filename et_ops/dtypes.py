"""Element types of tensors, and PyTorch's rules for promoting them.

Source: "Type Promotion Semantics" of PyTorch's tensor attributes
(https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc), and `c10::promoteTypes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from math import isfinite
from typing import Final

__all__ = [
    "BF16",
    "BOOL",
    "BY_NAME",
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
    "can_cast",
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
    """An element type. One instance of each: they compare by identity.

    `name` is that of MLIR's builtin type, unsigned integers marked: `f32`, `ui8`, `i1`. `bits` of a complex type are
    one part's.
    """

    name: str
    category: Category
    bits: int

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

    @property
    def is_unsigned(self) -> bool:
        """Whether this is an integer type without negative numbers."""
        return self.name.startswith("ui")

    @property
    def torch_name(self) -> str:
        """Its name in torch, for messages: `float32`, `uint8`, `bfloat16`."""
        match self.category:
            case Category.BOOL:
                return "bool"
            case Category.INTEGER:
                return f"{'u' if self.is_unsigned else ''}int{self.bits}"
            case Category.COMPLEX:
                return f"complex{2 * self.bits}"
            case Category.FLOAT:
                brain, eight = (
                    "b" if self is BF16 else "",
                    f"_{self.name[2:].lower()}" if self.bits == 8 else "",
                )
                return f"{brain}float{self.bits}{eight}"

    def wrapped(self, number: int) -> int:
        """An integer as one of this integer type, by its low bits."""
        low = number % (1 << self.bits)
        return low - (1 << self.bits) if not self.is_unsigned and low >> (self.bits - 1) else low

    def saturated(self, number: int) -> int:
        """The integer of this integer type that is nearest to another."""
        most = (1 << (self.bits - (not self.is_unsigned))) - 1
        return min(max(number, 0 if self.is_unsigned else -most - 1), most)

    def holds(self, number: float) -> bool:
        """Whether a real number converts to this type without overflow, as PyTorch checks it: infinities and NaN are
        numbers of every float type, and a negative integer wraps into an unsigned type that holds its magnitude.
        """
        if self.category is Category.INTEGER:
            most = (1 << (self.bits - (not self.is_unsigned))) - 1
            least = (
                -most
                if self.is_unsigned and isinstance(number, int)
                else 0
                if self.is_unsigned
                else -most - 1
            )
            return isfinite(number) and least <= number <= most
        largest = _LARGEST.get(self.name)
        return largest is None or not isfinite(number) or abs(number) <= largest

    def __repr__(self) -> str:
        return self.name


_LARGEST: Final = {"f16": 65504.0, "bf16": (2 - 2.0**-7) * 2.0**127, "f32": (2 - 2.0**-23) * 2.0**127}
"""The largest finite numbers of the float types that a Python float may exceed."""

BOOL: Final = DType("i1", Category.BOOL, 1)
U8: Final = DType("ui8", Category.INTEGER, 8)
I8: Final = DType("i8", Category.INTEGER, 8)
I16: Final = DType("i16", Category.INTEGER, 16)
I32: Final = DType("i32", Category.INTEGER, 32)
I64: Final = DType("i64", Category.INTEGER, 64)
F16: Final = DType("f16", Category.FLOAT, 16)
BF16: Final = DType("bf16", Category.FLOAT, 16)
F32: Final = DType("f32", Category.FLOAT, 32)
F64: Final = DType("f64", Category.FLOAT, 64)
C32: Final = DType("complex<f16>", Category.COMPLEX, 16)
C64: Final = DType("complex<f32>", Category.COMPLEX, 32)
C128: Final = DType("complex<f64>", Category.COMPLEX, 64)

_COMPUTED: Final = (BOOL, U8, I8, I16, I32, I64, F16, BF16, F32, F64, C64, C128)
"""The types that results are stored in."""
_OTHERS: Final = (
    C32,
    *(DType(f"ui{bits}", Category.INTEGER, bits) for bits in (16, 32, 64)),
    *(DType(f"f8{form}", Category.FLOAT, 8) for form in ("E5M2", "E4M3FN", "E5M2FNUZ", "E4M3FNUZ")),
)
BY_NAME: Final = {dtype.name: dtype for dtype in (*_COMPUTED, *_OTHERS)}
"""Every element type by name."""

_SIGNED: Final = (I8, I16, I32, I64)
_COMPLEX_OF: Final = {F16: C32, BF16: C64, F32: C64, F64: C128}
_REAL_OF: Final = {C32: F16, C64: F32, C128: F64}


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
    if high.is_complex and not low.is_integral:
        return _COMPLEX_OF[promote(real_of(low), real_of(high))]
    if low.category is not high.category:
        return high
    if high.is_float:
        return F32 if low.bits == high.bits else high
    if low.is_unsigned == high.is_unsigned or (not high.is_unsigned and high.bits > low.bits):
        return high
    # A signed type that holds what an unsigned one does is larger, as far as there is one.
    return next((signed for signed in _SIGNED if signed.bits > high.bits), I64)


def _combine(higher: DType | None, lower: DType | None) -> DType | None:
    """A type of higher priority gives way to one of lower priority only if that is of a higher category."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.category >= lower.category:
        return higher
    if higher.is_float:
        return _COMPLEX_OF.get(higher, lower)
    return promote(higher, lower)


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


def can_cast(source: DType, target: DType) -> bool:
    """Whether torch stores a result of type `source` into an out tensor of type `target` (`torch.can_cast`).

    The target is one of the types that kernels compute in: no float of 8 bits, no wide unsigned integer.
    """
    if source is target:
        return True
    if target not in _COMPUTED:
        return False
    if source.category > Category.INTEGER and target.category < source.category:
        return False
    return target is not BOOL or source is BOOL
