"""Attributes of the `executorch` dialect: what a kernel's arguments, element types and arenas are made of."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.discardable import discardable

__all__ = [
    "ALIGNMENT",
    "BANK",
    "CALLER",
    "DATA_FILE",
    "DATA_FILES",
    "DIGESTS",
    "OPERAND",
    "SEGMENT_ALIGNMENT",
    "TENSOR_ALIGNMENT",
    "ArenaDeviceAttr",
    "ElementType",
    "ListAttr",
    "ListKind",
    "OperandAttr",
]

DATA_FILE: Final = discardable("executorch.data_file", StringAttr)
"""The data file that the bytes of a symbol are written to."""
DATA_FILES: Final = discardable("executorch.data_files", ArrayAttr)
"""Data files of a module that are written though nothing is in them."""
DIGESTS: Final = discardable("executorch.digests", DictionaryAttr)
"""The SHA-256 digests of external data that a module lacks, by name of the data."""
TENSOR_ALIGNMENT: Final = discardable("executorch.tensor_alignment", IntegerAttr)
"""The alignment of each constant in the file of a module, in bytes."""
SEGMENT_ALIGNMENT: Final = discardable("executorch.segment_alignment", IntegerAttr)
"""The alignment of each segment in the file of a module, in bytes."""
BANK: Final = discardable("executorch.bank", StringAttr)
"""The memory bank that a register has to be in."""
ALIGNMENT: Final = discardable("executorch.alignment", IntegerAttr)
"""The alignment of a register's offset in bytes: a power of two."""
CALLER: Final = discardable("executorch.caller", UnitAttr)
"""The caller gives the memory of an input or output."""


@irdl_attr_definition
class OperandAttr(ParametrizedAttribute):
    """Stands, among the arguments of a call, for the next of the op's operands."""

    name = "executorch.operand"


OPERAND: Final = OperandAttr()


class ListKind(StrEnum):
    """The item types of a list argument; the file has one table for each."""

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
