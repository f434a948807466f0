"""Types and attributes of the `tosa` dialect, and their counterparts in files."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    bf16,
    f16,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from et_backends.tosa.format.graph import DType, NanPropagationMode, ResizeMode, RoundingMode
from et_backends.tosa.format.operators import ATTRIBUTES, DEFAULTS, Op, TosaType, numpy_name
from et_ir.dialects.program import DataAttr
from et_ir.dialects.schema.tensors import is_tensor
from et_schema.tables import Kind, fields_of

__all__ = [
    "ELEMENT_TYPES",
    "NanModeAttr",
    "ResizeModeAttr",
    "RoundingModeAttr",
    "ShapeType",
    "attribute_of",
    "constant_array",
    "dtype_of",
    "element_type_of",
    "shape_numbers",
    "table_of",
    "type_of",
]

ELEMENT_TYPES: Final[dict[DType, Attribute]] = {
    DType.BOOL: i1,
    DType.INT4: IntegerType(4),
    DType.INT8: IntegerType(8),
    DType.INT16: IntegerType(16),
    DType.INT32: i32,
    DType.INT48: IntegerType(48),
    DType.INT64: i64,
    DType.FP32: f32,
    DType.FP16: f16,
    DType.BF16: bf16,
}
"""The element types of tensors in the dialect, by their names in files."""
_DTYPES: Final = {type: dtype for dtype, type in ELEMENT_TYPES.items()}
_I32_ARRAYS: Final = frozenset({"perms"})


@irdl_attr_definition
class ShapeType(ParametrizedAttribute, TypeAttribute):
    """A list of sizes or positions that is known when a program is compiled: `!tosa.shape<4>`."""

    name = "tosa.shape"
    rank: IntAttr

    @staticmethod
    def of(rank: int) -> ShapeType:
        """The type of `rank` numbers."""
        return ShapeType(IntAttr(rank))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False)),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.rank.data))


class _Mode(ParametrizedAttribute):
    """A member of an enumeration by its name."""

    mode: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (StringAttr(parser.parse_identifier()),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.mode.data)


@irdl_attr_definition
class NanModeAttr(_Mode):
    """Propagation of NaN: `#tosa.nan_mode<PROPAGATE>` or `IGNORE`."""

    name = "tosa.nan_mode"


@irdl_attr_definition
class RoundingModeAttr(_Mode):
    """Rounding of a rescaling: `#tosa.rounding_mode<SINGLE_ROUND>`."""

    name = "tosa.rounding_mode"


@irdl_attr_definition
class ResizeModeAttr(_Mode):
    """Interpolation of a resize: `#tosa.resize_mode<BILINEAR>`."""

    name = "tosa.resize_mode"


_MODES: Final[dict[type[IntEnum], type[_Mode]]] = {
    NanPropagationMode: NanModeAttr,
    ResizeMode: ResizeModeAttr,
    RoundingMode: RoundingModeAttr,
}


def _mode_name(member: IntEnum) -> str:
    """The name of a member in the dialect, which is not always that in files."""
    is_nearest = isinstance(member, ResizeMode) and member is ResizeMode.NEAREST
    return "NEAREST_NEIGHBOR" if is_nearest else member.name


def dtype_of(element_type: Attribute) -> DType:
    """The name in files of an element type. Raises `ValueError` for one that TOSA does not have."""
    found = _DTYPES.get(element_type)
    if found is None:
        raise ValueError(f"TOSA has no element type {element_type}")
    return found


def element_type_of(dtype: DType) -> Attribute:
    """The element type of that name in files. Raises `ValueError` for one that the dialect does not have."""
    if dtype not in ELEMENT_TYPES:
        raise ValueError(f"element type {dtype.name} is not supported")
    return ELEMENT_TYPES[dtype]


def type_of(value: SSAValue) -> TosaType:
    """Shape and element type of a value, and the numbers of a constant shape.

    Raises `ValueError` for a value of another type.
    """
    type = value.type
    if isinstance(type, ShapeType):
        return TosaType((type.rank.data,), DType.SHAPE, shape_numbers(value))
    if not is_tensor(type) or not type.has_static_shape():
        raise ValueError(f"{type} is not a tensor of known sizes")
    return TosaType(tuple(type.get_shape()), dtype_of(type.element_type))


def shape_numbers(value: SSAValue) -> tuple[int, ...] | None:
    """The numbers of a constant shape; `None` for any other value."""
    owner = value.owner
    values = getattr(owner, "properties", {}).get("values") if getattr(owner, "name", "") else None
    if not isinstance(values, DenseIntOrFPElementsAttr) or not isinstance(value.type, ShapeType):
        return None
    return tuple(int(number) for number in values.get_values())


def constant_array(values: Attribute, type: TensorType[Attribute]) -> np.ndarray[Any, np.dtype[Any]]:
    """The elements of a constant, as the attribute `values` has them."""
    dtype = np.dtype(numpy_name(dtype_of(type.element_type)))
    shape = type.get_shape()
    if isinstance(values, DataAttr):
        return np.frombuffer(values.blob.view(), dtype).reshape(shape)
    assert isinstance(values, DenseIntOrFPElementsAttr)
    return np.array(values.get_values(), dtype).reshape(shape)


def table_of(op: Op, properties: dict[str, Attribute]) -> Any:
    """The attribute of an op as files have it. Raises `VerifyException` for what an op of this kind does not take."""
    kind = ATTRIBUTES[op]
    fields: dict[str, Any] = {}
    for item in fields_of(kind):
        given = properties.get(item.name)
        if given is None:
            if item.name not in DEFAULTS:
                raise VerifyException(f"[tosa_c1] the attribute {item.name} is missing")
            fields[item.name] = DEFAULTS[item.name]
            continue
        try:
            fields[item.name] = _field(item.kind, item.types, given)
        except (ValueError, KeyError, AttributeError, struct.error) as error:
            raise VerifyException(f"[tosa_c1] the attribute {item.name} cannot be {given}") from error
    return kind(**fields)


def _field(kind: Kind, types: tuple[type, ...], given: Attribute) -> Any:
    if kind is Kind.VECTOR and isinstance(given, DenseArrayBase):
        return [int(number) for number in cast("DenseArrayBase[IntegerType]", given).get_values()]
    if kind is Kind.BLOB and isinstance(given, IntegerAttr | FloatAttr):
        return _number_bytes(cast("IntegerAttr[Any] | FloatAttr[Any]", given))
    if kind is Kind.ENUM and types[0] is DType:
        return dtype_of(given)
    if kind is Kind.ENUM and isinstance(given, _Mode):
        members = cast("type[IntEnum]", types[0])
        return {_mode_name(one): one for one in members}[given.mode.data]
    if kind in (Kind.SCALAR, Kind.BOOL) and isinstance(given, IntegerAttr):
        number = cast("IntegerAttr[Any]", given).value.data
        return bool(number) if kind is Kind.BOOL else number
    raise ValueError(given)


def _number_bytes(given: IntegerAttr[Any] | FloatAttr[Any]) -> bytes:
    dtype = np.dtype(numpy_name(dtype_of(given.type)))
    return np.array(given.value.data).astype(dtype).tobytes()


def attribute_of(op: Op, name: str, value: Any, element_type: Attribute) -> Attribute:
    """A field of the attribute of an op as the dialect has it; `element_type` is that of the op's operand."""
    item = next(item for item in fields_of(ATTRIBUTES[op]) if item.name == name)
    if item.kind is Kind.VECTOR:
        return DenseArrayBase.from_list(i32 if name in _I32_ARRAYS else i64, [int(one) for one in value])
    if item.kind is Kind.BLOB:
        if not isinstance(value, int | float):
            value = np.frombuffer(bytes(value), numpy_name(dtype_of(element_type)))[0].item()
        if isinstance(element_type, IntegerType):
            return IntegerAttr(int(value), cast("IntegerType[Any, Any]", element_type))
        return FloatAttr(float(value), cast("AnyFloat", element_type))
    if item.kind is Kind.ENUM:
        enumeration = item.types[0]
        if enumeration is DType:
            return element_type_of(DType(value))
        member = cast("type[IntEnum]", enumeration)(value)
        return _MODES[type(member)](StringAttr(_mode_name(member)))
    if item.kind is Kind.BOOL:
        return IntegerAttr.from_bool(bool(value))
    return IntegerAttr(int(value), i32)


def index_elements(numbers: Sequence[int]) -> DenseIntOrFPElementsAttr:
    """The numbers of a constant shape."""
    type = TensorType(IndexType(), [len(numbers)])
    return DenseIntOrFPElementsAttr.from_list(type, list(numbers))
