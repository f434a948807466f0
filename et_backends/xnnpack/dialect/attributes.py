"""Value types of graphs, and table fields as attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from et_backends.xnnpack.format import graph as schema
from et_backends.xnnpack.format.graph import XNNDatatype
from et_schema.tables import Kind, fields_of

__all__ = ["ValueType", "attributes_of", "field_values", "integers"]


@irdl_attr_definition
class ValueType(ParametrizedAttribute, TypeAttribute):
    """A value: the type of its elements, its shape in the order of memory, and how it is quantized.

    ```mlir
    !xnnpack.value<fp32, [1, 16, 16, 3]>
    !xnnpack.value<qint8, [4, 8], {by = "PerTensorQuant", scale = 5.000000e-02 : f32, zero_point = 3 : i64}>
    ```

    Rules: `value_c1` the format has the type of elements; `value_c2` it has the parameters.
    """

    name = "xnnpack.value"
    datatype: StringAttr
    dims: ArrayAttr[IntAttr]
    quantization: DictionaryAttr

    @staticmethod
    def of(datatype: XNNDatatype, dims: Sequence[int], parameters: schema.XNNQuantParams | None) -> ValueType:
        """The type; see `et_backends.xnnpack.format.blob` for what there is."""
        found: dict[str, Attribute] = {}
        if parameters is not None:
            found = {"by": StringAttr(type(parameters).__name__), **attributes_of(parameters)}
        return ValueType(
            StringAttr(datatype.name), ArrayAttr(IntAttr(size) for size in dims), DictionaryAttr(found)
        )

    @property
    def quantized_by(self) -> schema.XNNQuantParams | None:
        """Quantization of the value."""
        found = dict(self.quantization.data)
        kind = found.pop("by", None)
        if not isinstance(kind, StringAttr):
            return None
        cls = getattr(schema, kind.data)
        return cls(**field_values(cls, found))

    def verify(self) -> None:
        if self.datatype.data not in XNNDatatype.__members__:
            raise VerifyException(f"[value_c1] the format does not support element type {self.datatype.data}")
        kind = self.quantization.data.get("by")
        kinds = [cls.__name__ for cls in schema.XNNQuantParams.__args__]
        if self.quantization.data and not (isinstance(kind, StringAttr) and kind.data in kinds):
            raise VerifyException(f"[value_c2] values are quantized by one of {', '.join(kinds)}, not {kind}")
        try:
            self.quantized_by  # noqa: B018 (raises)
        except ValueError as error:
            raise VerifyException(f"[value_c2] {error}") from None

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            datatype = parser.parse_identifier()
            parser.parse_punctuation(",")
            dims = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE,
                lambda: parser.parse_integer(allow_boolean=False, allow_negative=False),
            )
            found: Attribute = DictionaryAttr({})
            if parser.parse_optional_punctuation(",") is not None:
                found = parser.parse_attribute()
                if not isinstance(found, DictionaryAttr):
                    parser.raise_error("expected a dictionary")
        return StringAttr(datatype), ArrayAttr(IntAttr(size) for size in dims), found

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            sizes = ", ".join(str(size.data) for size in self.dims)
            printer.print_string(f"{self.datatype.data}, [{sizes}]")
            if self.quantization.data:
                printer.print_string(", ")
                printer.print_attribute(self.quantization)


def integers(attribute: Attribute) -> tuple[int, ...]:
    """The numbers of an array of integers. Raises VerifyException for anything else."""
    if not isinstance(attribute, DenseArrayBase):
        raise VerifyException(f"expected an array of integers, not {attribute}")
    array = cast("DenseArrayBase[IntegerType]", attribute)
    if array.elt_type != i64:
        raise VerifyException(f"expected an array of 64-bit integers, not {attribute}")
    return tuple(array.get_values())


def attributes_of(table: Any, leave: Sequence[str] = ()) -> dict[str, Attribute]:
    """The fields of a table that are not as when nothing is said, but those of `leave`, as attributes."""
    found: dict[str, Attribute] = {}
    nothing = type(table)()
    for field in fields_of(type(cast(object, table))):
        value = getattr(table, field.name)
        if field.name in leave or repr(value) == repr(getattr(nothing, field.name)):
            continue
        if isinstance(value, float):
            found[field.name] = FloatAttr(value, f32)
        elif isinstance(value, int):
            found[field.name] = IntegerAttr(value, i64)
        elif field.scalar is not None and field.scalar.is_float:
            found[field.name] = ArrayAttr(FloatAttr(number, f32) for number in value)
        else:
            found[field.name] = DenseArrayBase.from_list(i64, value)
    return found


def field_values(cls: type, attributes: dict[str, Attribute]) -> dict[str, Any]:
    """Inverse of `attributes_of`. Raises ValueError for an unknown field of the class, or one of the wrong type."""
    kinds = {
        field.name: (field.kind, field.scalar.is_float)
        for field in fields_of(cls)
        if field.scalar is not None
    }
    values: dict[str, Any] = {}
    for name, attribute in attributes.items():
        kind = kinds.get(name)
        if kind == (Kind.SCALAR, False) and isinstance(attribute, IntegerAttr):
            values[name] = cast("IntegerAttr", attribute).value.data
        elif kind == (Kind.SCALAR, True) and isinstance(attribute, FloatAttr):
            values[name] = cast("FloatAttr", attribute).value.data
        elif kind == (Kind.VECTOR, False) and isinstance(attribute, DenseArrayBase):
            values[name] = list(integers(cast("Attribute", attribute)))
        elif kind == (Kind.VECTOR, True) and isinstance(attribute, ArrayAttr):
            values[name] = [
                cast("FloatAttr", item).value.data for item in cast("ArrayAttr[Attribute]", attribute)
            ]
        else:
            raise ValueError(f"{cls.__name__} has no {name} that is {attribute}")
    return values
