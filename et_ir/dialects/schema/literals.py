"""Python literals of operator schemas as xDSL attributes, and back.

| schema type        | attribute                              |
|--------------------|----------------------------------------|
| int, SymInt        | `IntegerAttr` of i64                   |
| float              | `FloatAttr` of f64                     |
| bool               | `IntegerAttr` of i1                    |
| Scalar             | one of the three above                 |
| str                | `StringAttr`                           |
| ScalarType         | the element type itself (`f32`, `i64`) |
| Layout, Device, MemoryFormat | `StringAttr` of torch's name |
| lists of int, bool | `DenseArrayBase`                       |
| lists of float, Scalar | `ArrayAttr`: xDSL does not read back what it prints for dense floats |
| absent             | no property                            |

A value that is known at run time only is `DYNAMIC` in its property; the value is an operand (see `op.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    ComplexType,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute

from et_ir.dialects.schema.storage import storage_of
from et_ops.dtypes import DType
from et_ops.schema import DYNAMIC, Arg, ArgType

__all__ = [
    "BOOL_LIST",
    "DYNAMIC",
    "DYNAMIC_ATTR",
    "ELEMENT_TYPES",
    "PRESENT",
    "SEGMENTS",
    "Value",
    "attribute_of",
    "element_type_name",
    "fits",
    "is_element_type",
    "literal_of",
    "present",
    "segment_sizes",
]

SEGMENTS: Final = "operandSegmentSizes"
"""The property with the number of operands per tensor argument, as every IRDL op with variadic operands has
it.
"""
PRESENT: Final = "_present"
BOOL_LIST: Final = ArgType("bool", is_list=True)


def present(arg: Arg) -> str:
    """The name of the property that says which items of a list of optional tensors are there."""
    return arg.name + PRESENT


Scalar = int | float | bool
Value = Scalar | str | Attribute | DType | Sequence[Scalar] | None

ui8 = IntegerType(8, Signedness.UNSIGNED)
ELEMENT_TYPES: Final[dict[str, Attribute]] = {
    "ui8": ui8,
    "i8": IntegerType(8),
    "i16": IntegerType(16),
    "i32": IntegerType(32),
    "i64": i64,
    "f16": Float16Type(),
    "bf16": BFloat16Type(),
    "f32": Float32Type(),
    "f64": f64,
    "i1": i1,
    "complex<f16>": ComplexType(Float16Type()),
    "complex<f32>": ComplexType(Float32Type()),
    "complex<f64>": ComplexType(f64),
}
"""Element types of tensors by the name they print as."""

_NAMES: Final = {type: name for name, type in ELEMENT_TYPES.items()}

DYNAMIC_ATTR: Final = IntegerAttr(DYNAMIC, i64)
_TRUE: Final = IntegerAttr(1, i1)
_FALSE: Final = IntegerAttr(0, i1)


@lru_cache(maxsize=4096)
def _int(value: int) -> IntegerAttr[IntegerType]:
    """Interned: a graph of thousands of ops holds a few dozen distinct literals."""
    return IntegerAttr(value, i64)


@lru_cache(maxsize=4096)
def _ints(values: tuple[Any, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, [int(v) for v in values])


@lru_cache(maxsize=4096)
def segment_sizes(sizes: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    """The property that says how many operands each tensor argument has."""
    return DenseArrayBase.from_list(i32, sizes)


@lru_cache(maxsize=4096)
def _items(attr: DenseArrayBase[IntegerType]) -> tuple[Scalar, ...]:
    values = tuple(attr.get_values())
    return tuple(bool(v) for v in values) if attr.elt_type == i1 else values


def element_type_name(type: Attribute) -> str:
    """The name of a tensor element type, such as `f32`. Raises `KeyError` for a type tensors cannot have."""
    return _NAMES[storage_of(type)]


def is_element_type(type: Attribute) -> bool:
    """Whether tensors can have elements of a type."""
    return storage_of(type) in _NAMES


def _scalar(value: Scalar) -> Attribute:
    if value is True or value is False:
        return _TRUE if value else _FALSE
    if isinstance(value, int):
        return _int(value)
    return FloatAttr(value, f64)


def attribute_of(value: Value, type: ArgType) -> Attribute:
    """The attribute for a Python literal of a schema type.

    Raises `TypeError` if the literal is not of that type; `None` is handled by the caller (no property).
    """
    if isinstance(value, Attribute):
        if fits(value, type):
            return value
        raise TypeError(f"expected a literal of schema type {type}, got {value}")
    if type.is_list:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise TypeError(f"expected a list for schema type {type}, got {value!r}")
        items = tuple(value)
        match type.base:
            case "int" | "SymInt" if all(isinstance(v, int) for v in items):
                return _ints(items)
            case "float" if not any(isinstance(v, str) for v in items):
                return ArrayAttr([FloatAttr(float(v), f64) for v in items])
            case "bool" if all(isinstance(v, bool) for v in items):
                return DenseArrayBase.from_list(i1, [int(v) for v in items])
            case "Scalar" if not any(isinstance(v, str) for v in items):
                return ArrayAttr([_scalar(v) for v in items])
            case _:
                raise TypeError(f"expected a literal of schema type {type}, got {value!r}")
    match type.base, value:
        case "bool", bool():
            return _scalar(value)
        case (("int" | "SymInt"), int()):
            return _scalar(int(value))
        case "float", int() | float():
            return FloatAttr(float(value), f64)
        case "Scalar", int() | float():
            return _scalar(value)
        case (("str" | "Layout" | "Device" | "MemoryFormat"), str()):
            return StringAttr(value)
        case "ScalarType", str() if value in ELEMENT_TYPES:
            return ELEMENT_TYPES[value]
        case "ScalarType", DType():
            return ELEMENT_TYPES[value.name]
        case _:
            raise TypeError(f"expected a literal of schema type {type}, got {value!r}")


_KINDS: Final[dict[str, tuple[Attribute, ...]]] = {
    "int": (i64,),
    "SymInt": (i64,),
    "float": (f64,),
    "SymFloat": (f64,),
    "bool": (i1,),
    "SymBool": (i1,),
    "Scalar": (i64, f64, i1),
}
"""The types of the attributes of numbers by schema type."""


def fits(attr: Attribute, type: ArgType) -> bool:
    """Whether an attribute is the literal of a schema type, of exactly the kind that `attribute_of` makes."""
    kinds = _KINDS.get(type.base)
    if kinds is None:
        return attr in _NAMES if type.base == "ScalarType" else isinstance(attr, StringAttr)
    match attr:
        case IntegerAttr() | FloatAttr():
            return not type.is_list and attr.type in kinds
        case DenseArrayBase():
            return type.is_list and attr.elt_type in kinds and type.base not in ("float", "Scalar")
        case ArrayAttr():
            element = ArgType(type.base)
            return (
                type.is_list
                and type.base in ("float", "Scalar")
                and all(fits(item, element) for item in attr)
            )
        case _:
            return False


def literal_of(attr: Attribute) -> Value:
    """The Python literal of an attribute made by `attribute_of`; lists are tuples, element types stay
    attributes.
    """
    match attr:
        case IntegerAttr():
            integer = cast("IntegerAttr[IntegerType]", attr)
            return bool(integer.value.data) if integer.type == i1 else integer.value.data
        case FloatAttr():
            return attr.value.data
        case StringAttr():
            return attr.data
        case DenseArrayBase():
            return _items(cast("DenseArrayBase[IntegerType]", attr))
        case ArrayAttr():
            return tuple(cast(Scalar, literal_of(item)) for item in attr)
        case _:
            return attr
