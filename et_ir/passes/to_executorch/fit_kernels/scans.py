"""Scans without a kernel, by doubling: of n elements along a line in log2(n) steps, each over all elements.

`cumprod` is no scan here: it has a decomposition of its own.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.fit_kernels.lines import Group, Lines, is_plain

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


class RunningLogSum(RewritePattern):
    """`logcumsumexp`: each step adds two sums by max + log1p(exp(min - max)), rounded once; half precision in f32. 12
    calls for a step.
    """

    roots = (edge.LogcumsumexpOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        (value,), dim = op.operands, op.arg("dim")
        result = tensor_type(op.results[0])
        rank = result.get_num_dims()
        b = Lines(rewriter, dim % rank if rank else 0)
        if not is_plain(value) or not b.dtype(value).is_float or tensor_type(value) != result:
            return
        if not rank:
            rewriter.replace(op, [], [value])
            return
        wide = b.to(value, f32) if b.dtype(value).bits == 16 else value

        def combine(before: Group, after: Group, step: int) -> Group:
            high = b(edge.MaximumOp, before[0], after[0])
            less = b(edge.SubTensorOp, b(edge.MinimumOp, before[0], after[0]), high)
            total = b(edge.AddTensorOp, b(edge.Log1pOp, b(edge.ExpOp, less)), high)
            # Of two equal infinities the difference is NaN.
            return [b(edge.WhereSelfOp, b(edge.IsinfOp, high), high, total)]

        (found,) = b.scanned([wide], combine)
        rewriter.replace(op, [], [b.to(found, result.element_type)])


PATTERNS: Final = (RunningExtreme, RunningLogSum)
