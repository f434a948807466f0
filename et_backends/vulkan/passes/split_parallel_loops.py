"""Splitting of kernels by parallel loop, as invocations synchronize only between dispatches."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from et_ir.diagnostics import PassReport, diagnose

__all__ = ["SplitParallelLoopsPass"]


@dataclass(frozen=True)
class SplitParallelLoopsPass(ModulePass):
    """Split kernels so that each has one parallel loop.

    Index arithmetic before the loops is duplicated in each function.

    Before:

    ```mlir
    func.func private @kernel(%x: memref<?xf32>) {
      scf.parallel (%i) = (%c0) to (%n) step (%c1) { ... }
      scf.parallel (%j) = (%c0) to (%m) step (%c1) { ... }
    }
    func.call @kernel(%a)
    ```

    After:

    ```mlir
    func.func private @kernel_part_0(%x: memref<?xf32>) {
      scf.parallel (%i) = (%c0) to (%n) step (%c1) { ... }
    }
    func.func private @kernel_part_1(%x: memref<?xf32>) {
      scf.parallel (%j) = (%c0) to (%m) step (%c1) { ... }
    }
    func.call @kernel_part_0(%a)
    func.call @kernel_part_1(%a)
    ```
    """

    name = "split-parallel-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        parts: dict[str, list[str]] = {}
        for function in list(op.body.block.ops):
            if not isinstance(function, FuncOp) or function.sym_visibility is None or function.is_declaration:
                continue
            loops = [one for one in function.body.block.ops if isinstance(one, scf.ParallelOp)]
            _check(function)
            if len(loops) == 1:
                continue
            name = function.sym_name.data
            parts[name] = [f"{name}_part_{number}" for number in range(len(loops))]
            for number, made in enumerate(parts[name]):
                op.body.block.insert_op_before(_part(function, made, number), function)
            op.body.block.erase_op(function)
        for call in [one for one in op.walk() if isinstance(one, CallOp)]:
            for name in parts.get(call.callee.string_value(), ()):
                assert call.parent is not None
                made = CallOp(name, list(call.arguments), [])
                made.attributes.update(call.attributes)
                call.parent.insert_op_before(made, call)
            if call.callee.string_value() in parts:
                call.detach()
                call.erase()


def _check(function: FuncOp) -> None:
    """Beside parallel loops there is nothing that has effects."""
    for op in function.body.block.ops:
        if isinstance(op, scf.ParallelOp | ReturnOp) or not op.regions:
            continue
        raise PassReport(
            "kernels cannot be split",
            [diagnose(op, f"'{op.name}' is outside of a parallel loop", "make it an iteration of one")],
        )


def _part(function: FuncOp, name: str, number: int) -> FuncOp:
    """A function with one of the loops, and the code outside the loops."""
    old = function.body.block
    new = Block(arg_types=old.arg_types)
    values: dict[SSAValue, SSAValue] = dict(zip(old.args, new.args, strict=True))
    for before, after in zip(old.args, new.args, strict=True):
        after.name_hint = before.name_hint
    loops = 0
    for op in old.ops:
        if isinstance(op, scf.ParallelOp):
            loops += 1
            if loops - 1 != number:
                continue
        new.add_op(op.clone(values))
    _remove_unused(new)
    return FuncOp(name, function.function_type, Region(new), visibility=StringAttr("private"))


def _remove_unused(block: Block) -> None:
    """Remove index arithmetic that only another loop reads."""
    op: Operation | None = block.last_op
    while op is not None:
        before = op.prev_op
        if op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
        op = before
