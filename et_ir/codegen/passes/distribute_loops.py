"""Distribution of parallel loops over threads.

All threads run the same function with a number of their own, and each takes an equal part of the iterations.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder, ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from et_ir.dialects.native import BarrierOp, PartOp
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["DistributeLoopsPass"]


@dataclass(frozen=True)
class DistributeLoopsPass(ModulePass):
    """Share parallel loops equally among threads.

    Every function gets two more arguments, the number of the thread and how many there are, and passes them on. A
    barrier follows each parallel loop, as what comes after it may read what other threads write.

    Before:

    ```mlir
    func.func @kernel(%x: memref<?xf32>) {
      scf.parallel (%i) = (%c0) to (%n) step (%c64) { ... }
    }
    ```

    After:

    ```mlir
    func.func @kernel(%x: memref<?xf32>, %thread: index, %threads: index) {
      %first = (tiles * thread) / threads * 64
      %last = min((tiles * (thread + 1)) / threads * 64, %n)
      scf.for %i = %first to %last step %c64 { ... }
      native.barrier
    }
    ```
    """

    name = "distribute-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                _add_arguments(function)
        rewrite(op, [_PassThreads(), _Distribute(), _Part()], recursive=False)


def _add_arguments(function: FuncOp) -> None:
    """Two arguments at the end: the number of the thread, and of threads."""
    block = function.body.block
    for name in ("thread", "threads"):
        block.insert_arg(IndexType(), len(block.args)).name_hint = name
    function.function_type = FunctionType.from_lists(
        [argument.type for argument in block.args], function.function_type.outputs.data
    )


def _thread_arguments(block: Block | None) -> tuple[SSAValue, SSAValue]:
    assert block is not None
    parent = block.parent_op()
    while not isinstance(parent, FuncOp):
        assert parent is not None
        parent = parent.parent_op()
    arguments = parent.body.block.args
    return arguments[-2], arguments[-1]


class _PassThreads(RewritePattern):
    """Calls pass on the number of the thread and of threads."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CallOp, rewriter: PatternRewriter) -> None:
        arguments = [*op.arguments, *_thread_arguments(op.parent)]
        rewriter.replace(op, CallOp(op.callee, arguments, op.result_types))


class _Distribute(RewritePattern):
    """A loop over this thread's iterations for a parallel loop of one dimension."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ParallelOp, rewriter: PatternRewriter) -> None:
        (start,), (end,), (step,) = op.lowerBound, op.upperBound, op.step
        thread, threads = _thread_arguments(op.parent)
        with ImplicitBuilder(Builder(InsertPoint.before(op))):
            one = arith.ConstantOp(IntegerAttr.from_index_int_value(1)).result
            span = arith.SubiOp(end, start).result
            padded = arith.AddiOp(span, arith.SubiOp(step, one).result).result
            tiles = arith.DivUIOp(padded, step).result
            first = arith.DivUIOp(arith.MuliOp(tiles, thread).result, threads).result
            after = arith.AddiOp(thread, one).result
            last = arith.DivUIOp(arith.MuliOp(tiles, after).result, threads).result
            lower = arith.AddiOp(start, arith.MuliOp(first, step).result).result
            reached = arith.AddiOp(start, arith.MuliOp(last, step).result).result
            upper = arith.MinSIOp(reached, end).result
        body = op.body.block
        reduce = body.last_op
        assert isinstance(reduce, scf.ReduceOp)
        rewriter.replace(reduce, scf.YieldOp())
        rewriter.replace(op, [scf.ForOp(lower, upper, step, [], op.detach_region(op.body)), BarrierOp()])


class _Part(RewritePattern):
    """The bounds of this thread's iterations; a thread beyond those that share them has none."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PartOp, rewriter: PatternRewriter) -> None:
        thread, threads = _thread_arguments(op.parent)
        with ImplicitBuilder(Builder(InsertPoint.before(op))):
            one = arith.ConstantOp(IntegerAttr.from_index_int_value(1)).result
            most = arith.ConstantOp(IntegerAttr.from_index_int_value(op.most.value.data)).result
            sharing = arith.MinSIOp(threads, most).result
            number = arith.MinSIOp(thread, sharing).result
            after = arith.MinSIOp(arith.AddiOp(thread, one).result, sharing).result
            first = arith.DivUIOp(arith.MuliOp(op.count, number).result, sharing).result
            last = arith.DivUIOp(arith.MuliOp(op.count, after).result, sharing).result
        rewriter.replace(op, [], [first, last, number])
