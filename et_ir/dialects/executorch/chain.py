"""Chains: parts of a plan that may run at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from et_ir.dialects.executorch.arguments import parse_register

__all__ = ["ChainOp"]


@irdl_op_definition
class ChainOp(IRDLOperation):
    """Begin a chain: the instructions from here to the next chain, or to the end of the plan.

    A chain waits for the chains before it that have one of its `inputs` among their `outs`, and for nothing else:
    chains that do not wait for each other, directly or by way of others, may run at the same time. In the order of the
    text they compute the same, which is how a runtime runs them that does not know better. Where no chain of a plan
    has inputs or outs, each waits for the one before it.

    ```mlir
    executorch.plan @forward {arenas = array<i64: 64>} {
      %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
      %a = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
      %b = executorch.alloc {memory_id = 1, offset = 32} : tensor<4xf32>
      %r = executorch.alloc {memory_id = 1, offset = 48} : tensor<4xf32>
      executorch.chain() outs(%a)
      executorch.kernel_call "aten::relu.out"(%x) outs(%a)
      executorch.chain() outs(%b)
      executorch.kernel_call "aten::neg.out"(%x) outs(%b)
      executorch.chain(%a, %b) outs(%r)
      executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%r)
      executorch.return %r
    }
    ```

    It is no instruction: the file has it as a table around the instructions of the chain.

    Syntax: `(%R, …) [outs(%R, …)]`.
    """

    name = "executorch.chain"
    inputs = var_operand_def(AnyAttr())
    """Registers of which the chain waits for the chains that have them among their `outs`."""
    outs = var_operand_def(AnyAttr())
    """Registers that are ready when the chain has ended."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, inputs: Sequence[SSAValue] = (), outs: Sequence[SSAValue] = ()):
        super().__init__(operands=[inputs, outs])

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_list(self.inputs, printer.print_ssa_value)
        printer.print_string(")")
        if self.outs:
            printer.print_string(" outs(")
            printer.print_list(self.outs, printer.print_ssa_value)
            printer.print_string(")")
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_register(parser))
        outs: Sequence[SSAValue] = ()
        if parser.parse_optional_keyword("outs"):
            outs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_register(parser))
        op = cls(inputs, outs)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op
