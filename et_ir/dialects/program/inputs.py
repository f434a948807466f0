"""Writes to what the caller of a method gave."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.schema.tensors import may_be_same_type

__all__ = ["OverwriteOp"]


class _WritesInput(MemoryEffect):
    """The op writes the caller's memory."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.WRITE, op.operands[0])}


@irdl_op_definition
class OverwriteOp(IRDLOperation):
    """Give an input of the method another value, which its caller sees when the method has ended.

    In the method the input goes on to mean what it held at first: the op says what is in the caller's memory in
    the end, not what the value is from here on.

    ```mlir
    program.overwrite %x, %1 : tensor<4xf32>
    ```

    Rule: `overwrite_c1` both have one type.

    Syntax: `%TARGET, %VALUE : TYPE [, TYPE]`.
    """

    name = "program.overwrite"
    target = operand_def(TensorType)
    """An input of the method."""
    value = operand_def(TensorType)
    """The content of the input's memory at the end of the method, of the same type."""
    traits = traits_def(_WritesInput())

    def __init__(self, target: SSAValue, value: SSAValue):
        super().__init__(operands=[target, value])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_attribute(self.target.type)
        if self.value.type != self.target.type:
            printer.print_string(", ")
            printer.print_attribute(self.value.type)
        if self.attributes:
            printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> OverwriteOp:
        target = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        other = parser.parse_type() if parser.parse_optional_punctuation(",") is not None else type
        op = cls(parser.resolve_operand(target, type), parser.resolve_operand(value, other))
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def verify_(self) -> None:
        if not may_be_same_type(self.target.type, self.value.type):
            raise VerifyException(
                f"[overwrite_c1] writes {self.value.type} into an input of type {self.target.type}"
            )
