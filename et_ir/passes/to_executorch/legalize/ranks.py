"""Legalization of rank-0 operands.

Where kernels look up the size of a dimension, a tensor without dimensions becomes one of one element.
"""

from __future__ import annotations

from typing import Any, Final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = ["PATTERNS"]


def viewed(value: SSAValue, shape: tuple[int, ...], rewriter: PatternRewriter) -> SSAValue:
    """A value in another shape of as many elements."""
    type = TensorType[Attribute](tensor_type(value).element_type, shape)
    return rewriter.insert(edge.ViewCopyOp.make(value, shape, result_types=[type])).results[0]


class DimensionOfNone(RewritePattern):
    """Reductions and scans over the only dimension that there is not."""

    roots = (EdgeOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        if not op.operator.facts.reduces:
            return
        value = op.operands[0]
        if tensor_type(value).get_num_dims() or not is_tensor(op.results[0].type):
            return
        if "dim" in op.schema().by_name and op.arg("dim") is None:
            return
        one = viewed(value, (1,), rewriter)
        kept = op.arg("keepdim") if "keepdim" in op.schema().by_name else True
        result = tensor_type(op.results[0])
        shape = [1] if kept else []
        arguments: dict[str, Any] = {arg.name: op.arg(arg.name) for arg in op.schema().args} | {
            op.schema().args[0].name: one
        }
        if arguments.get("dim") == ():
            arguments["dim"] = (0,)  # all, which kernels take for none
        changed = TensorType[Attribute](result.element_type, shape)
        made = rewriter.insert(type(op).make(**arguments, result_types=[changed])).results[0]
        rewriter.replace(op, [], [viewed(made, (), rewriter) if shape else made])


class WindowsOfNone(RewritePattern):
    """`unfold_copy` of a tensor without dimensions: the element, in windows of at most one."""

    roots = (edge.UnfoldCopyOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        value, result = op.operands[0], tensor_type(op.results[0])
        if tensor_type(value).get_num_dims() == 0 and result.get_shape() == (1,):
            rewriter.replace(op, [], [viewed(value, (1,), rewriter)])


PATTERNS: Final = (DimensionOfNone, WindowsOfNone)
