"""Distribution of parallel loops over threads.

All threads run the same function with a number of their own, and each takes an equal part of the iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.traits import SymbolTable, is_side_effect_free

from et_backends.codegen.dialect import SERIAL, BarrierOp, PartOp
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["DistributeLoopsPass"]


@dataclass(frozen=True)
class DistributeLoopsPass(ModulePass):
    """Share parallel loops equally among threads.

    Every function gets two more arguments, the number of the thread and how many there are, and passes them on. A
    barrier follows each parallel loop, as what comes after it may read what other threads write.

    Calls with the attribute `native.serial` have less work than a barrier takes: the first thread makes those that
    follow one another as the only one, where barriers do nothing, and the others wait for it once.

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

    Before:

    ```mlir
    func.call @one(%x) {native.serial} : (memref<8xf32>) -> ()
    func.call @other(%x) {native.serial} : (memref<8xf32>) -> ()
    ```

    After:

    ```mlir
    scf.if %is_first {
      func.call @one(%x, %c0, %c1) : (memref<8xf32>, index, index) -> ()
      func.call @other(%x, %c0, %c1) : (memref<8xf32>, index, index) -> ()
    }
    native.barrier
    ```
    """

    name = "distribute-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                _add_arguments(function)
        rewrite(op, [_PassThreads(), _Distribute(), _Part()], recursive=False)
        for block in [inner for function in op.body.block.ops for inner in _blocks_of_calls(function)]:
            _group_serial_calls(block)


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
        made = CallOp(op.callee, [*op.arguments, *_thread_arguments(op.parent)], op.result_types)
        made.attributes = dict(op.attributes)
        rewriter.replace(op, made)


class _Indices:
    """Arithmetic of indices before the op that is rewritten.

    xDSL's implicit builders replace a method of all ops while they are used, in every thread.
    """

    def __init__(self, rewriter: PatternRewriter):
        self._rewriter = rewriter

    def constant(self, value: int) -> SSAValue:
        return self._rewriter.insert(arith.ConstantOp(IntegerAttr.from_index_int_value(value))).result

    def __call__(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """The result of an op with two operands."""
        return self._rewriter.insert(kind.create(operands=[a, b], result_types=[a.type])).results[0]


class _Distribute(RewritePattern):
    """A loop over this thread's iterations for a parallel loop of one dimension."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ParallelOp, rewriter: PatternRewriter) -> None:
        (start,), (end,), (step,) = op.lowerBound, op.upperBound, op.step
        thread, threads = _thread_arguments(op.parent)
        made = _Indices(rewriter)
        one = made.constant(1)
        span = made(arith.SubiOp, end, start)
        padded = made(arith.AddiOp, span, made(arith.SubiOp, step, one))
        tiles = made(arith.DivUIOp, padded, step)
        first = made(arith.DivUIOp, made(arith.MuliOp, tiles, thread), threads)
        after = made(arith.AddiOp, thread, one)
        last = made(arith.DivUIOp, made(arith.MuliOp, tiles, after), threads)
        lower = made(arith.AddiOp, start, made(arith.MuliOp, first, step))
        reached = made(arith.AddiOp, start, made(arith.MuliOp, last, step))
        upper = made(arith.MinSIOp, reached, end)
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
        made = _Indices(rewriter)
        one = made.constant(1)
        sharing, number, after = threads, thread, made(arith.AddiOp, thread, one)
        if op.most is not None:
            sharing = made(arith.MinSIOp, threads, made.constant(op.most.value.data))
            number = made(arith.MinSIOp, thread, sharing)
            after = made(arith.MinSIOp, after, sharing)
        first = made(arith.DivUIOp, made(arith.MuliOp, op.count, number), sharing)
        last = made(arith.DivUIOp, made(arith.MuliOp, op.count, after), sharing)
        rewriter.replace(op, [], [first, last, number])


def _blocks_of_calls(function: Operation) -> list[Block]:
    """The blocks of a function with serial calls: its own, and those of loops in it."""
    calls = [op for op in function.walk() if isinstance(op, CallOp) and SERIAL in op.attributes]
    return list(dict.fromkeys(call.parent for call in calls if call.parent is not None))


def _group_serial_calls(block: Block) -> None:
    """Put serial calls that follow one another in a branch of the first thread, with a barrier behind it.

    What is between them computes sizes, and has no effects. Before the first op of a loop's body is the last one of the
    turn before.
    """
    calls: list[CallOp] = []
    before: Operation | None = None
    if not isinstance(block.parent_op(), FuncOp):
        before = next((op for op in reversed(list(block.ops)) if isinstance(op, CallOp | BarrierOp)), None)
    for op in list(block.ops):
        if isinstance(op, CallOp) and SERIAL in op.attributes:
            calls.append(op)
        elif not is_side_effect_free(op):
            if calls:
                _make_serial(calls, before, is_last=isinstance(op, ReturnOp))
                calls = []
            before = op


def _make_serial(calls: Sequence[CallOp], before: Operation | None, *, is_last: bool) -> None:
    """`before` is the last op with effects that comes before the calls; behind them the function ends if `is_last`."""
    block = calls[0].parent
    assert block is not None
    thread, _ = _thread_arguments(block)
    zero, one = (arith.ConstantOp(IntegerAttr.from_index_int_value(number)) for number in (0, 1))
    is_first = arith.CmpiOp(thread, zero.result, "eq")
    body = Block()
    made: list[Operation] = [zero, one, is_first, scf.IfOp(is_first.result, [], Region(body))]
    if before is not None and not _is_barrier(before):
        # Other threads may still read what the calls write.
        made.insert(0, BarrierOp())
    if not is_last:
        # Whoever calls the function waits for all threads.
        made.append(BarrierOp())
    block.insert_ops_after(made, calls[-1])
    for call in calls:
        call.detach()
        del call.attributes[SERIAL]
        call.operands = [*call.operands[:-2], zero.result, one.result]
        body.add_op(call)
    body.add_op(scf.YieldOp())


def _is_barrier(op: Operation) -> bool:
    """Whether no thread is past an op before all have reached its end."""
    if not isinstance(op, CallOp):
        return isinstance(op, BarrierOp)
    function = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(function, FuncOp) or function.is_declaration:
        return False
    end = function.body.block.last_op
    return end is not None and end.prev_op is not None and _is_barrier(end.prev_op)
