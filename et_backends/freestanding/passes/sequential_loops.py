"""Sequential execution of parallel loops, for machines without threads."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_backends.codegen.dialect import BarrierOp, PartOp
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["SequentialLoopsPass"]


@dataclass(frozen=True)
class SequentialLoopsPass(ModulePass):
    """Run parallel loops one iteration after the other.

    The only thread has all of a loop that threads share. There is nobody to wait for.

    Before:

    ```mlir
    scf.parallel (%i) = (%c0) to (%n) step (%c64) { ... }
    %first, %last, %number = native.part %n most 8
    native.barrier
    ```

    After:

    ```mlir
    scf.for %i = %c0 to %n step %c64 { ... }
    ```
    """

    name = "sequential-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_Sequential(), _Whole(), _NoBarrier()], recursive=False)


class _Sequential(RewritePattern):
    """A loop for a parallel loop of one dimension."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ParallelOp, rewriter: PatternRewriter) -> None:
        (start,), (end,), (step,) = op.lowerBound, op.upperBound, op.step
        reduce = op.body.block.last_op
        assert isinstance(reduce, scf.ReduceOp)
        rewriter.replace(reduce, scf.YieldOp())
        rewriter.replace(op, scf.ForOp(start, end, step, [], op.detach_region(op.body)))


class _Whole(RewritePattern):
    """The whole of a loop as the part of the only thread, whose number is 0."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PartOp, rewriter: PatternRewriter) -> None:
        zero = arith.ConstantOp(IntegerAttr.from_index_int_value(0))
        rewriter.replace(op, [zero], [zero.result, op.count, zero.result])


class _NoBarrier(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BarrierOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, [], [])
