"""A pass in thirty lines: `x * 2` becomes `x + x`.

%1 = edge.mul.Scalar %x {other = 2} : T        ->        %1 = edge.add.Tensor %x, %x : T
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from et_ir.dialects.edge import ops as edge
from et_ir.rewriting import rewrite


class DoubleToAdd(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.MulScalarOp, rewriter: PatternRewriter) -> None:
        if op.other == 2 and op.result.type == op.self.type:
            rewriter.replace(op, edge.AddTensorOp.make(op.self, op.self))


@dataclass(frozen=True)
class DoubleToAddPass(ModulePass):
    """Replace doubling by an addition."""

    name = "double-to-add"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [DoubleToAdd()])
