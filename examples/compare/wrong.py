"""A pass with a bug: it takes every `relu` for one of a value that is not negative."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from et_ir.dialects.edge import ops as edge
from et_ir.rewriting import rewrite


class RemoveRelu(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ReluOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, [], [op.self])


@dataclass(frozen=True)
class RemoveReluPass(ModulePass):
    """Remove `relu` of values that are not negative."""

    name = "remove-relu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [RemoveRelu()])
