"""Compute what is concatenated where the concatenation has it, so that nothing is copied.

```mlir
%a = executorch.alloc : tensor<1x16x8x8xf32>
executorch.kernel_call "aten::relu.out"(%x) outs(%a)
%c = executorch.alloc : tensor<1x32x8x8xf32>
executorch.kernel_call "aten::cat.out"([%a, %y], 1) outs(%c)
// becomes
%c = executorch.alloc : tensor<1x32x8x8xf32>
%a = executorch.view %c : tensor<1x16x8x8xf32>
%1 = executorch.view %c from 4096 : tensor<1x16x8x8xf32>
executorch.kernel_call "aten::relu.out"(%x) outs(%a)
executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%y, false, [0, 1, 2, 3]) outs(%1)
```

The parts of a concatenation lie one behind the other if all dimensions outside of it have size 1. A part is computed in
its place if

- it has memory of its own, all of which is concatenated, and once;
- all that writes it are kernels, in the block of the concatenation and before it;
- it is not needed afterwards, or nothing changes the concatenation;
- its place is a multiple of 16 bytes from the start, so that kernels find it as well aligned as other tensors.

The others are copied to their places. The concatenation is needed from the moment its first part is, which may take
more memory than it saves: parts that are computed early are copied if the program would need more at once otherwise.
Without `outputs`, what a method returns stays alone, so that the caller may give memory for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from et_ir.dialects.executorch import (
    AllocOp,
    Instruction,
    KernelCallOp,
    ListValue,
    MemoryRegisterOp,
    MoveOp,
    PlanOp,
    ViewOp,
)
from et_ir.dialects.executorch.layout import Tensor, dim_order, nbytes
from et_ir.dialects.executorch.operators import ET_VIEW
from et_ir.passes.part_writes import extent_of
from et_ir.passes.register_liveness import Interval, Liveness, root_of
from et_ir.passes.views import ALIGNMENT
from et_ir.passes.write_back import clone_call

__all__ = ["ConcatenateInPlacePass"]

CAT: Final = "aten::cat.out"


@dataclass(frozen=True)
class ConcatenateInPlacePass(ModulePass):
    """Compute what is concatenated in its place."""

    name = "concatenate-in-place"

    outputs: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for plan in op.body.block.ops:
            if isinstance(plan, PlanOp):
                for call in plan.instructions:
                    if isinstance(call, KernelCallOp) and call.key == CAT:
                        _Concatenation(plan, call, self.outputs).run()


@dataclass(frozen=True)
class _Part:
    """A register that is concatenated, and the byte at which the result has it."""

    register: SSAValue
    start: int


class _Concatenation:
    """One call of `cat`."""

    def __init__(self, plan: PlanOp, call: KernelCallOp, outputs: bool):
        self.plan = plan
        self.call = call
        self.outputs = outputs

    def run(self) -> None:
        parts = _parts(self.call)
        if parts is None or not isinstance(self.call.outs[0].owner, AllocOp):
            return
        self.whole = self.call.outs[0]
        self.liveness = Liveness(self.plan)
        self.time = self.liveness.times[self.call]
        self.users: dict[SSAValue, list[Instruction]] = {}
        self.redirected: set[SSAValue] = set()
        for op in self.liveness.instructions:
            for register in {root_of(register) for register in op.operands}:
                self.users.setdefault(register, []).append(op)
            if isinstance(op, MoveOp) or (isinstance(op, KernelCallOp) and op.key == ET_VIEW):
                self.redirected.update(root_of(register) for register in op.operands)
        self.returned = {root_of(register) for register in self.plan.return_op.outputs}
        needed = self.liveness.interval(self.whole)
        if needed is None or needed.first != self.time or not self._is_alone(self.whole):
            return
        roots = [root_of(part.register) for part in parts]
        in_place = [
            part
            for part, root in zip(parts, roots, strict=True)
            if roots.count(root) == 1 and self._can_be_part(part, root)
        ]
        chosen = self._least(in_place, needed)
        if chosen:
            self._place(parts, {part.register for part in chosen})

    # -- what may be part of the whole

    def _is_alone(self, root: SSAValue) -> bool:
        """Whether a register has memory that only instructions of the call's block know."""
        owner = root.owner
        return (
            isinstance(owner, AllocOp)
            and owner.is_static
            and "device" not in owner.properties
            and root not in self.redirected
            and (self.outputs or root not in self.returned)
            and all(
                op.parent_block() is self.call.parent_block() or op is self.plan.return_op
                for op in self.users.get(root, ())
            )
        )

    def _can_be_part(self, part: _Part, root: SSAValue) -> bool:
        _, extent = extent_of(part.register)
        if (
            part.start % ALIGNMENT
            or extent != (0, nbytes(cast(Tensor, root.type)))
            or not self._is_alone(root)
        ):
            return False
        writers = [op for op in self.users[root] if any(root_of(register) is root for register in op.writes)]
        if not all(isinstance(op, KernelCallOp) and self.liveness.times[op] < self.time for op in writers):
            return False
        needed = self.liveness.interval(root)
        return needed is not None and (needed.last == self.time or not self._is_changed())

    def _is_changed(self) -> bool:
        """Whether something writes the result of the call again."""
        return any(
            op is not self.call and any(root_of(register) is self.whole for register in op.writes)
            for op in self.users[self.whole]
        )

    # -- what it costs

    def _least(self, parts: list[_Part], whole: Interval) -> list[_Part]:
        """The parts of which the program needs the least memory at once if they are computed in place: the last ones
        that are computed, and as many as possible.
        """
        intervals: dict[SSAValue, Interval] = {}
        for part in parts:
            needed = self.liveness.interval(root_of(part.register))
            assert needed is not None
            intervals[part.register] = needed
        parts = sorted(parts, key=lambda part: -intervals[part.register].first)
        changes = [0] * (self.liveness.end + 2)

        def add(size: int, needed: Interval) -> None:
            changes[needed.first] += size
            changes[needed.last + 1] -= size

        for op in self.liveness.roots():
            needed = self.liveness.interval(op.result)
            if needed is not None and isinstance(op, MemoryRegisterOp):
                add(nbytes(cast(Tensor, op.result.type)), needed)
        size = nbytes(cast(Tensor, self.whole.type))
        least, count = max(accumulate(changes)), 0
        for index, part in enumerate(parts):
            needed = intervals[part.register]
            add(-nbytes(cast(Tensor, part.register.type)), needed)
            add(-size, whole)
            whole = Interval(min(whole.first, needed.first), max(whole.last, needed.last))
            add(size, whole)
            peak = max(accumulate(changes))
            if peak <= least:
                least, count = peak, index + 1
        return parts[:count]

    # -- the rewrite

    def _place(self, parts: list[_Part], chosen: set[SSAValue]) -> None:
        block = self.call.parent_block()
        assert block is not None
        declared = {op: place for place, op in enumerate(self.plan.registers)}
        whole = cast(Operation, self.whole.owner)
        owners = [cast(AllocOp, root_of(register).owner) for register in chosen]
        first = min((whole, *owners), key=lambda op: declared[cast(AllocOp, op)])
        if first is not whole:
            whole.detach()
            _block_of(first).insert_op_before(whole, first)
        for part in parts:
            if part.register in chosen:
                root = root_of(part.register)
                self._view(root.type, part.start, cast(Operation, root.owner), root)
            elif nbytes(cast(Tensor, part.register.type)):
                anchor = self.call if len(self.plan.blocks) == 1 else whole.next_op
                assert anchor is not None
                view = self._view(part.register.type, part.start, anchor)
                copy = clone_call(part.register, view)
                copy.location = self.call.location
                block.insert_op_before(copy, self.call)
        self.call.detach()
        self.call.erase()

    def _view(self, type: object, start: int, anchor: Operation, instead: SSAValue | None = None) -> SSAValue:
        """Declare a part of the result before an op, or instead of it."""
        view = ViewOp(self.whole, cast(Tensor, type), start=start)
        view.location = self.call.location if instead is None else anchor.location
        _block_of(anchor).insert_op_before(view, anchor)
        if instead is not None:
            view.result.name_hint = instead.name_hint
            instead.replace_all_uses_with(view.result)
            anchor.detach()
            anchor.erase()
        return view.result


def _block_of(op: Operation) -> Block:
    block = op.parent_block()
    assert block is not None
    return block


def _parts(call: KernelCallOp) -> list[_Part] | None:
    """What a call concatenates, `None` if that does not lie one behind the other in the result."""
    items, dim, *_ = (*call.arguments, 0)
    if not isinstance(items, ListValue) or not isinstance(dim, int) or len(call.outs) != 1:
        return None
    whole = cast(Tensor, call.outs[0].type)
    rank, order, shape = whole.get_num_dims(), dim_order(whole), whole.get_shape()
    if not rank:
        return None
    outside = order[: order.index(dim % rank)]
    if any(shape[outer] != 1 for outer in outside):
        return None
    parts: list[_Part] = []
    start = 0
    for item in items.items:
        if not isinstance(item, SSAValue):
            return None
        type = cast(Tensor, item.type)
        if type.element_type != whole.element_type or type.get_num_dims() != rank or dim_order(type) != order:
            return None
        if "dynamism" in cast(Operation, root_of(item).owner).properties:
            return None
        parts.append(_Part(item, start))
        start += nbytes(type)
    return parts if start == nbytes(whole) else None
