"""Scans without a kernel, by doubling: of n elements along a line in log2(n) steps, each over all elements.

`cumprod` is no scan here: it has a decomposition of its own.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.legalize.lines import Group, Lines, is_plain

__all__ = ["PATTERNS"]


class RunningExtreme(RewritePattern):
    """`cummax` and `cummin`: exact. Of equal elements the last is taken, and a NaN is above, or below, all others, the
    last one of several. 13 calls for a step.
    """

    roots = (edge.CummaxOp, edge.CumminOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        (value,), dim = op.operands, op.arg("dim")
        if not is_plain(value):
            return
        rank = tensor_type(value).get_num_dims()
        if not rank:
            zero = Lines(rewriter, 0).full((), 0, i64)
            rewriter.replace(op, [], [value, zero])
            return
        b = Lines(rewriter, dim % rank)
        compare = edge.GeTensorOp if isinstance(op, edge.CummaxOp) else edge.LeTensorOp

        def combine(before: Group, after: Group, step: int) -> Group:
            later = b(compare, after[0], before[0])
            nan = b.is_nan(after[0])
            if nan is not None:
                later = b(edge.LogicalOrOp, later, nan)
            return [b(edge.WhereSelfOp, later, *pair) for pair in zip(after, before, strict=True)]

        found = b.scanned([value, b.places(b.shape(value))], combine)
        rewriter.replace(op, [], list(found))


PATTERNS: Final = (RunningExtreme,)
