"""Attributes of the `executorch` dialect: what a kernel's arguments, element types and arenas are made of."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

__all__ = [
    "DATA_FILE",
    "OPERAND",
    "ArenaDeviceAttr",
    "ElementType",
    "ListAttr",
    "ListKind",
    "OperandAttr",
]

DATA_FILE: Final = "executorch.data_file"
"""The attribute of a symbol that names the data file its bytes are written to."""


@irdl_attr_definition
class OperandAttr(ParametrizedAttribute):
    """Stands, among the arguments of a call, for the next of the op's operands."""

    name = "executorch.operand"


OPERAND: Final = OperandAttr()


class ListKind(StrEnum):
    """What the items of a list argument are; the file has one table for each."""

    INTS = "ints"
    FLOATS = "floats"
    BOOLS = "bools"
    TENSORS = "tensors"
    OPTIONAL_TENSORS = "optional"


_LIST_KINDS: Final = frozenset(ListKind)


@irdl_attr_definition
class ListAttr(ParametrizedAttribute):
    """A list among the arguments of a call. Items are literals or operands, `none` for a tensor that is
    absent.
    """

    name = "executorch.list"
    kind: StringAttr
    items: ArrayAttr[Attribute]

    @staticmethod
    def of(kind: ListKind, items: Sequence[Attribute]) -> ListAttr:
        return ListAttr(StringAttr(kind.value), ArrayAttr(items))

    @property
    def list_kind(self) -> ListKind:
        return ListKind(self.kind.data)

    def verify(self) -> None:
        if self.kind.data not in _LIST_KINDS:
            raise VerifyException(
                f"'{self.kind.data}' is not a list kind, expected one of {', '.join(ListKind)}"
            )


@irdl_attr_definition
class ElementType(ParametrizedAttribute, TypeAttribute):
    """An element type of tensors that MLIR's builtin types do not have, under torch's name.

    ```mlir
    tensor<4x!executorch.element<"qint8">>
    ```
    """

    name = "executorch.element"
    torch_name: StringAttr


@irdl_attr_definition
class ArenaDeviceAttr(ParametrizedAttribute):
    """The device that an arena lives on: `#executorch.arena_device<1, "cuda:0">`."""

    name = "executorch.arena_device"
    arena: IntAttr
    device: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            arena = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            device = parser.parse_str_literal()
        return (IntAttr(arena), StringAttr(device))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.arena.data}, ")
            printer.print_string_literal(self.device.data)
