"""Value ranges of data-dependent numbers."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

__all__ = ["RangeOp"]


@irdl_op_definition
class RangeOp(IRDLOperation):
    """Range of a run-time number: not below `from`, not above `to`.

    A statement that `torch.export` has taken from the program. Memory for tensors of that size is planned by it.

    ```mlir
    program.range %n from 0 to 6
    ```

    Rule: `range_c1` there are a least or a largest number, and some number between them.

    Syntax: `%NUMBER [from N] [to N]`.
    """

    name = "program.range"
    number = operand_def(i64)
    """The number."""
    least_attr = opt_prop_def(IntegerAttr.constr(i64), prop_name="from")
    """The least that it can be."""
    most_attr = opt_prop_def(IntegerAttr.constr(i64), prop_name="to")
    """The largest that it can be."""

    def __init__(self, number: SSAValue, least: int | None, most: int | None):
        properties: dict[str, Attribute] = {}
        for name, bound in (("from", least), ("to", most)):
            if bound is not None:
                properties[name] = IntegerAttr(bound, i64)
        super().__init__(operands=[number], properties=properties)

    @property
    def least(self) -> int | None:
        """The least number; `None` if that is not known."""
        return None if self.least_attr is None else self.least_attr.value.data

    @property
    def most(self) -> int | None:
        """The largest number; `None` if that is not known."""
        return None if self.most_attr is None else self.most_attr.value.data

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.number)
        for word, bound in (("from", self.least), ("to", self.most)):
            if bound is not None:
                printer.print_string(f" {word} {bound}")
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> RangeOp:
        number = parser.resolve_operand(parser.parse_unresolved_operand(), i64)
        bounds: list[int | None] = []
        for word in ("from", "to"):
            given = parser.parse_optional_keyword(word) is not None
            bounds.append(parser.parse_integer() if given else None)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(number, *bounds)
        op.attributes.update({} if attributes is None else attributes.data)
        return op

    def verify_(self) -> None:
        least, most = self.least, self.most
        if least is None and most is None:
            raise VerifyException("[range_c1] has neither a lower nor an upper bound")
        if least is not None and most is not None and least > most:
            raise VerifyException(f"[range_c1] the range {least} to {most} is empty")
