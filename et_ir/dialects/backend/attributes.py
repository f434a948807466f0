"""Attributes of the `backend` dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from et_ir.dialects.discardable import discardable

__all__ = ["DELEGATION_TAG", "FAILED_BACKENDS", "CompileSpecAttr"]

DELEGATION_TAG: Final = discardable("backend.delegation_tag", StringAttr)
"""The partition that an op belongs to, between the decision and the region that is made of it."""
FAILED_BACKENDS: Final = discardable("backend.failed", ArrayAttr)
"""The ids of the backends that failed to compile a partition of an op, while others are asked for it."""


@irdl_attr_definition
class CompileSpecAttr(ParametrizedAttribute):
    """A setting for a backend, as bytes under a key: it gets them when it compiles and when it loads.

    ```mlir
    #backend.compile_spec<"precision", "f16">
    ```
    """

    name = "backend.compile_spec"
    key: StringAttr
    value: BytesAttr

    @staticmethod
    def of(key: str, value: bytes) -> CompileSpecAttr:
        return CompileSpecAttr(StringAttr(key), BytesAttr(value))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            key = parser.parse_str_literal()
            parser.parse_punctuation(",")
            # The lexer takes bytes that are plain text for a string.
            text = parser.parse_optional_str_literal()
            value = parser.parse_bytes_literal() if text is None else text.encode()
        return (StringAttr(key), BytesAttr(value))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.key.data)
            printer.print_string(", ")
            printer.print_bytes_literal(self.value.data)
