"""Methods without inputs that return numbers or strings."""

from __future__ import annotations

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from et_ir.dialects.program import LiteralOp
from et_ir.dialects.program.trees import IN_SPEC, OUT_SPEC, TreeAttr, expand_tree

__all__ = ["literal_method"]


def literal_method(name: str, *values: float | str, is_list: bool = False) -> FuncOp:
    """The method `name()` that returns its only value, or a list of values."""
    literals = [LiteralOp(value) for value in values]
    results = [literal.result for literal in literals]
    method = FuncOp(
        name,
        FunctionType.from_lists([], [result.type for result in results]),
        Region(Block([*literals, ReturnOp(*results)])),
    )
    tree = f"[{', '.join('*' for _ in values)}]" if is_list else "*"
    method.attributes |= {IN_SPEC: TreeAttr(expand_tree("((), {})")), OUT_SPEC: TreeAttr(expand_tree(tree))}
    return method
