"""A pass with a bug: it assumes that sums are non-negative, and removes the ReLU after them.

%1 = edge.relu %0 : T        ->        %0, if that is a square, or a sum
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from et_ir.dialects.edge import ops as edge
from et_ir.rewriting import rewrite


class DropRelu(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ReluOp, rewriter: PatternRewriter) -> None:
        value = op.self.owner
        is_square = isinstance(value, edge.MulTensorOp) and value.self is value.other
        if is_square or isinstance(value, edge.AddTensorOp):
            rewriter.replace(op, [], [op.self])


@dataclass(frozen=True)
class DropReluPass(ModulePass):
    """Remove ReLUs of non-negative values."""

    name = "drop-relu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [DropRelu()])
