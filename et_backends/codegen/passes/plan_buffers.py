"""Placement of the buffers between kernels in one arena.

The planner is that of whole programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, MemRefType, ModuleOp, i8
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from et_backends.codegen.elements import nbytes
from et_ir.planning import Buffer, plan_best
from et_ir.planning.plan import Plan

__all__ = ["ALIGNMENT", "Allocation", "PlanBuffersPass", "allocations", "place_allocations", "plan_buffers"]

ALIGNMENT: Final = 64
"""Of buffers, in bytes: that of a cache line, and of the widest vectors."""


@dataclass(frozen=True)
class PlanBuffersPass(ModulePass):
    """Place the buffers of a function in one arena.

    The function gets the arena as its last argument. A buffer lives from the first to the last call that
    is given it, or a view of it.

    Before:

    ```mlir
    func.func @forward(%x: memref<64xf32>, %y: memref<64xf32>) {
      %0 = memref.alloc() : memref<64xf32>
    ```

    After:

    ```mlir
    func.func @forward(%x: memref<64xf32>, %y: memref<64xf32>, %arena: memref<256xi8>) {
      %0 = memref.view %arena[%c0][] : memref<256xi8> to memref<64xf32>
    ```
    """

    name = "plan-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and any(
                isinstance(one, memref.AllocOp) for one in function.walk()
            ):
                plan_buffers(function)


def plan_buffers(function: FuncOp, alignment: int = ALIGNMENT) -> Plan:
    """Place the buffers of a function at multiples of `alignment` bytes; returns the plan of its arena."""
    found = allocations(function, alignment)
    plan = plan_best([one.buffer for one in found])
    place_allocations(function, found, [(0, offset) for offset in plan.layout.offsets], [plan.size])
    return plan


@dataclass(frozen=True)
class Allocation:
    """A buffer that a function allocates."""

    op: memref.AllocOp
    buffer: Buffer
    """Its bytes, and the numbers of the first and last call that use it."""
    uses: int
    """The calls that are given it."""


def allocations(function: FuncOp, alignment: int) -> list[Allocation]:
    """The buffers of a function, to be placed at multiples of `alignment` bytes."""
    block = function.body.block
    numbers: dict[Operation, int] = {op: number for number, op in enumerate(block.ops)}
    found: list[Allocation] = []
    for op in block.ops:
        if isinstance(op, memref.AllocOp):
            uses = _uses(op.memref, numbers) or [numbers[op]]
            buffer = Buffer(_nbytes(op.memref.type), min(uses), max(uses), alignment)
            found.append(Allocation(op, buffer, len(uses)))
    return found


def place_allocations(
    function: FuncOp,
    found: Sequence[Allocation],
    places: Sequence[tuple[int, int]],
    arenas: Sequence[int],
) -> None:
    """Replace allocations by views of arenas, `places` with the number of the arena and the offset in bytes.

    The arenas, whose sizes in bytes are given, become the function's last arguments.
    """
    block = function.body.block
    arguments = [block.insert_arg(MemRefType(i8, [size]), len(block.args)) for size in arenas]
    for argument in arguments:
        argument.name_hint = "arena"
    for one, (arena, offset) in zip(found, places, strict=True):
        op = one.op
        place = arith.ConstantOp(IntegerAttr.from_index_int_value(offset), IndexType())
        view = memref.ViewOp(arguments[arena], place, [], op.memref.type)
        view.result.name_hint = op.memref.name_hint
        block.insert_ops_before([place, view], op)
        op.memref.replace_all_uses_with(view.result)
        block.erase_op(op)
    function.function_type = FunctionType.from_lists(block.arg_types, function.function_type.outputs.data)


def _uses(value: SSAValue, numbers: dict[Operation, int]) -> list[int]:
    """The calls that a buffer is given to, as itself or as a view."""
    found: list[int] = []
    for use in value.uses:
        op = use.operation
        if isinstance(op, memref.ReinterpretCastOp | memref.CastOp):
            found += _uses(op.result if isinstance(op, memref.ReinterpretCastOp) else op.dest, numbers)
        else:
            found.append(numbers[op])
    return found


def _nbytes(type: MemRefType) -> int:
    count = nbytes(type.element_type)
    for size in type.get_shape():
        count *= size
    return count
