"""FlatBuffers schemas declared as dataclasses.

The modules of tables (`et_schema.program` and its like) are the schemas; what reads and writes files derives
from them. A table reads like its declaration in the schema language:

    @table
    class Operator:
        name: str = ""
        args: list[Int32] = []

A field's annotation is its type on the wire and its default the value that a file leaves out. Fields have the slots
of the vtable in their order from 0, a union takes two. A union of tables (`KernelTypes: TypeAlias = Null | Int`)
numbers its members from 1. An enumeration is a byte, unless it is annotated with another integer.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum, IntEnum, auto
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeAlias,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

_Table = TypeVar("_Table")

Bytes: TypeAlias = bytes | bytearray | memoryview


class Scalar(NamedTuple):
    """A number on the wire: its name in the reader, its struct letter, and its bytes."""

    name: str
    code: str
    size: int

    @property
    def is_float(self) -> bool:
        return self.name.startswith("f")


class Aligned(NamedTuple):
    """The alignment of a vector of bytes, which readers do not copy."""

    alignment: int


class At(NamedTuple):
    """The slot of a field that does not follow the one before: those between are of deprecated fields."""

    slot: int


class Omit(Enum):
    """Leave an empty vector or string out of the file.

    Others are always written: ExecuTorch's runtime dereferences most of them without asking whether they are there.
    """

    EMPTY = auto()


_I8 = Scalar("i8", "b", 1)
U8 = Scalar("u8", "B", 1)
I16 = Scalar("i16", "h", 2)
U32 = Scalar("u32", "I", 4)
_BOOLEAN = Scalar("bool", "?", 1)

Int8 = Annotated[int, _I8]
Int16 = Annotated[int, I16]
Int32 = Annotated[int, Scalar("i32", "i", 4)]
Int64 = Annotated[int, Scalar("i64", "q", 8)]
UInt8 = Annotated[int, U8]
UInt16 = Annotated[int, Scalar("u16", "H", 2)]
UInt32 = Annotated[int, U32]
UInt64 = Annotated[int, Scalar("u64", "Q", 8)]
Float32 = Annotated[float, Scalar("f32", "f", 4)]
Float64 = Annotated[float, Scalar("f64", "d", 8)]

_Field = TypeVar("_Field")
OmitEmpty = Annotated[_Field, Omit.EMPTY]


@dataclass_transform()
def table(cls: type[_Table]) -> type[_Table]:
    """Declare a table: a dataclass with slots, in which a default of `[]` means a list of its own for each."""
    for name, default in list(vars(cls).items()):
        if isinstance(default, list):
            setattr(cls, name, field(default_factory=list[Any]))
    # Methods that dataclasses would compile for each of them, which takes most of the time that importing them does.
    cls.__eq__ = _equal
    cls.__repr__ = _represent
    cls.__hash__ = None  # pyright: ignore[reportAttributeAccessIssue] as tables change
    return dataclass(slots=True, eq=False, repr=False)(cls)


def _equal(self: Any, other: object) -> bool:
    if type(other) is not type(self):
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)


def _represent(self: Any) -> str:
    inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
    return f"{type(self).__qualname__}({inside})"


class Slot(NamedTuple):
    """An entry of a vtable. `code` is the struct letter of a number, or empty for an offset; `size` is in bytes."""

    number: int
    name: str
    code: str
    size: int


class Kind(Enum):
    """Wire type of a field."""

    SCALAR = auto()
    BOOL = auto()
    ENUM = auto()
    STRING = auto()
    STRINGS = auto()
    BYTES = auto()
    BLOB = auto()
    VECTOR = auto()
    TABLE = auto()
    TABLES = auto()
    UNION = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a table on the wire.

    `table` is the class that has it. `slot` is its place in the vtable; a union has its type there and its value
    in the next. `scalar` is what is stored in the table itself, or the element of a vector. `types` are the
    tables that it may hold, the members of a union in the order of their numbers, or the enumeration. `kind_name`
    is what the schema calls the type.
    """

    table: type
    name: str
    slot: int
    kind: Kind
    default: Any
    scalar: Scalar | None = None
    types: tuple[type, ...] = ()
    kind_name: str = ""
    omit_empty: bool = False
    alignment: int = 1

    @property
    def inline(self) -> bool:
        """Whether the field is stored in the table itself instead of behind an offset."""
        return self.kind in (Kind.SCALAR, Kind.BOOL, Kind.ENUM)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Its entries in the vtable."""
        value = Slot(self.slot, self.name, "", 4)
        if self.kind is Kind.UNION:
            return Slot(self.slot, f"{self.name}_type", "B", 1), value._replace(number=self.slot + 1)
        if self.inline and self.scalar is not None:
            return (value._replace(code=self.scalar.code, size=self.scalar.size),)
        return (value,)


@cache
def fields_of(cls: type) -> tuple[Field, ...]:
    """The fields of a table in the order of their slots. Raises `TypeError` for a type that no file can hold."""
    found: list[Field] = []
    names = vars(sys.modules[cls.__module__])
    slot = 0
    for item in fields(cls):
        annotation = cast(str, item.type)
        default = item.default if item.default_factory is MISSING else item.default_factory()
        declared = _field(cls, item.name, slot, annotation.removesuffix(" | None"), names, default)
        found.append(declared)
        slot = declared.slots[-1].number + 1
    return tuple(found)


def _field(cls: type, name: str, slot: int, annotation: str, names: dict[str, Any], default: Any) -> Field:
    """The field that `annotation`, an expression of a module with `names`, declares."""
    declared: Any = eval(annotation, names)
    kind, *marks = get_args(declared) if get_origin(declared) is Annotated else (declared,)
    scalar: Scalar | None = None
    options: dict[str, Any] = {}
    for mark in marks:
        match mark:
            case Scalar():
                scalar = mark
            case At():
                slot = mark.slot
            case Aligned():
                return Field(cls, name, slot, Kind.BLOB, default, alignment=mark.alignment)
            case _:
                options["omit_empty"] = mark is Omit.EMPTY

    def is_table(candidate: object) -> bool:
        return isinstance(candidate, type) and hasattr(candidate, "__dataclass_fields__")

    if get_origin(kind) is list:
        (element,) = get_args(kind)
        if is_table(element):
            return Field(cls, name, slot, Kind.TABLES, default, types=(element,), **options)
        if element is str:
            return Field(cls, name, slot, Kind.STRINGS, default, **options)
        scalar = _BOOLEAN if element is bool else next(iter(get_args(element)[1:]), None)
        if scalar is not None:
            return Field(cls, name, slot, Kind.VECTOR, default, scalar, **options)
    elif isinstance(kind, UnionType):
        members = tuple(member for member in get_args(kind) if member is not NoneType)
        if all(map(is_table, members)):
            return Field(cls, name, slot, Kind.UNION, default, types=members, kind_name=annotation)
    elif kind is str or kind is bytes:
        return Field(cls, name, slot, Kind.STRING if kind is str else Kind.BYTES, default, **options)
    elif kind is bool:
        return Field(cls, name, slot, Kind.BOOL, default, _BOOLEAN)
    elif is_table(kind):
        return Field(cls, name, slot, Kind.TABLE, default, types=(kind,))
    elif isinstance(kind, type) and issubclass(kind, IntEnum):
        return Field(
            cls, name, slot, Kind.ENUM, default, scalar or _I8, types=(kind,), kind_name=kind.__name__
        )
    elif scalar is not None:
        return Field(cls, name, slot, Kind.SCALAR, default, scalar)
    raise TypeError(f"{cls.__name__}.{name}: unsupported field type {annotation}")


def tables_below(root: type) -> list[type]:
    """The tables that a tree with this root is made of, without repetition, `root` first."""
    found = [root]
    for cls in found:
        for item in fields_of(cls):
            if item.kind is not Kind.ENUM:
                found += [child for child in item.types if child not in found]
    return found
