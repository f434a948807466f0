"""Methods without inputs that return a number or a string."""

from __future__ import annotations

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from et_ir.dialects.program import LiteralOp
from et_ir.dialects.program.trees import IN_SPEC, OUT_SPEC, TreeAttr, expand_tree

__all__ = ["literal_method"]


def literal_method(name: str, value: float | str) -> FuncOp:
    """The method `name()` that returns `value`."""
    literal = LiteralOp(value)
    results: list[Attribute] = [literal.result.type]
    method = FuncOp(
        name, FunctionType.from_lists([], results), Region(Block([literal, ReturnOp(literal.result)]))
    )
    method.attributes |= {IN_SPEC: TreeAttr(expand_tree("((), {})")), OUT_SPEC: TreeAttr(expand_tree("*"))}
    return method
