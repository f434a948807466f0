"""Attributes and types of the `program` dialect."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from et_ir.data import Blob
from et_ir.dialects.schema.literals import ELEMENT_TYPES, element_type_name
from et_ir.printing import INLINE_ELEMENTS, ModulePrinter

if TYPE_CHECKING:
    import numpy as np

__all__ = ["DataAttr", "Elements", "StringType", "item_size"]

_SIZES: Final = {
    "i1": 1, "ui8": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8,
    "complex<f16>": 4, "complex<f32>": 8, "complex<f64>": 16,
}  # fmt: skip
_INTEGERS: Final = {"i1": "?", "ui8": "B", "i8": "b", "i16": "h", "i32": "i", "i64": "q"}
_FLOATS: Final = {"f16": ("e", "H"), "f32": ("f", "I"), "f64": ("d", "Q")}


def item_size(element_type: Attribute) -> int:
    """Bytes of one element in memory; a boolean takes one."""
    return _SIZES[element_type_name(element_type)]


@irdl_attr_definition
class StringType(ParametrizedAttribute, TypeAttribute):
    """The type of a Python string that is an input or output of a method."""

    name = "program.string"


@dataclass(frozen=True)
class Elements:
    """Elements of one type in memory order."""

    type: Attribute
    blob: Blob

    @property
    def count(self) -> int:
        return self.blob.nbytes // item_size(self.type)


@irdl_attr_definition
class DataAttr(Data[Elements]):
    """The bytes of a constant, in the memory order of its tensor type.

    `#program.data<f32, [1.0, 2.5]>` for up to 64 elements, else `#program.data<f32, 8192, "fc.weight", "<sha256>">`
    with element count, readable key, and the hash by which the weight store has it. Floats are printed with as many
    digits as tell them apart in their own type, and as bits in hexadecimal where no decimal gives them back.
    """

    name = "program.data"

    @staticmethod
    def of(element_type: Attribute, blob: Blob) -> DataAttr:
        return DataAttr(Elements(element_type, blob))

    @property
    def blob(self) -> Blob:
        return self.data.blob

    @property
    def element_type(self) -> Attribute:
        return self.data.type

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Elements:
        with parser.in_angle_brackets():
            position = parser.pos
            type = parser.parse_type()
            if type not in ELEMENT_TYPES.values():
                parser.raise_error(f"{type} is not a tensor element type", position, parser.pos)
            parser.parse_punctuation(",")
            if parser.parse_optional_punctuation("[") is not None:
                return Elements(type, _parse_inline(parser, element_type_name(type)))
            count = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            key = parser.parse_str_literal()
            parser.parse_punctuation(",")
            position = parser.pos
            sha256 = parser.parse_str_literal()
            if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
                parser.raise_error(
                    "expected a SHA-256 of 64 lower-case hexadecimal digits", position, parser.pos
                )
            return Elements(type, Blob.unresolved(key, count * item_size(type), sha256))

    def print_parameter(self, printer: Printer) -> None:
        name = element_type_name(self.data.type)
        blob = self.data.blob
        with printer.in_angle_brackets():
            printer.print_string(f"{name}, ")
            limit = printer.inline_elements if isinstance(printer, ModulePrinter) else INLINE_ELEMENTS
            if self.data.count <= limit and blob.is_resolved:
                printer.print_string("[" + ", ".join(_format_inline(bytes(blob.view()), name)) + "]")
            else:
                printer.print_string(f"{self.data.count}, ")
                printer.print_string_literal(blob.key)
                printer.print_string(f', "{blob.sha256}"')


def _format_inline(data: bytes, name: str) -> list[str]:
    if name in _INTEGERS:
        values = struct.unpack(f"<{len(data) // _SIZES[name]}{_INTEGERS[name]}", data)
        if name == "i1" and any(byte > 1 for byte in data):
            return [hex(byte) for byte in data]
        return [str(v).lower() for v in values]
    if name.startswith("complex"):
        part = name[len("complex<") : -1]
        return _format_inline(data, part)
    return [_format_float(data[i : i + _SIZES[name]], name) for i in range(0, len(data), _SIZES[name])]


def _format_float(raw: bytes, name: str) -> str:
    import numpy as np

    value = np.frombuffer(raw, _numpy_float(name))[0]
    text = str(value)
    if np.isfinite(value):
        if "e" not in text and "." not in text:
            text += ".0"
        elif "e" in text and "." not in text:
            text = text.replace("e", ".0e")
        if np.array([text]).astype(np.float64).astype(_numpy_float(name)).tobytes() == raw:
            return text
    return hex(int.from_bytes(raw, "little"))


def _numpy_float(name: str) -> np.dtype[Any]:
    import numpy as np

    if name == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype({"f16": "<f2", "f32": "<f4", "f64": "<f8"}[name])


def _parse_inline(parser: AttrParser, name: str) -> Blob:
    part = name[len("complex<") : -1] if name.startswith("complex") else name
    size = _SIZES[part]
    chunks: list[bytes] = []
    if parser.parse_optional_punctuation("]") is None:
        while True:
            chunks.append(_parse_element(parser, part, size))
            if parser.parse_optional_punctuation(",") is None:
                break
        parser.parse_punctuation("]")
    return Blob.of("", b"".join(chunks))


def _parse_element(parser: AttrParser, name: str, size: int) -> bytes:
    position = parser.pos
    if name == "i1":
        for text, byte in (("true", b"\1"), ("false", b"\0")):
            if parser.parse_optional_keyword(text):
                return byte
    negative = parser.parse_optional_punctuation("-") is not None
    text_start = parser.pos
    if negative and parser.lexer.input.content.startswith("-", text_start):
        parser.raise_error("expected a number after '-'")
    number = parser.parse_number(allow_boolean=False)
    text = parser.lexer.input.content[text_start : parser.pos].strip()
    if negative:
        number = -number
    try:
        if text.startswith("0x") and name not in _INTEGERS:
            return int(number).to_bytes(size, "little")
        if name in _INTEGERS:
            if not isinstance(number, int):
                parser.raise_error(f"expected an integer of type {name}", position, parser.pos)
            return number.to_bytes(size, "little", signed=name not in ("ui8", "i1"))
        import numpy as np

        sign = "-" if negative else ""
        return (
            np.array([sign + text.split()[0].rstrip(",]")])
            .astype(np.float64)
            .astype(_numpy_float(name))
            .tobytes()
        )
    except OverflowError:
        parser.raise_error(f"{number} does not fit {name}", position, parser.pos)
