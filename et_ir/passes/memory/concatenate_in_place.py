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

from collections import Counter
from dataclasses import dataclass
from typing import Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.part_writes import extent_of
from et_ir.analysis.register_liveness import Interval, Liveness, root_of
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
from et_ir.dialects.schema.tensors import is_static, is_tensor
from et_ir.passes.memory.views import ALIGNMENT
from et_ir.passes.memory.write_back import clone_call
from et_ops.calls import ET_VIEW

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
                calls = [
                    call for call in plan.instructions if isinstance(call, KernelCallOp) and call.key == CAT
                ]
                memory = _Memory(plan) if calls else None
                for call in calls:
                    assert memory is not None
                    _Concatenation(memory, call, self.outputs).run()


@dataclass(frozen=True)
class _Part:
    """A register that is concatenated, and the byte at which the result has it."""

    register: SSAValue
    start: int


class _Memory:
    """What the registers of a plan have to do with memory; kept up to date while concatenations are placed, so that
    each costs no walk over the plan.
    """

    def __init__(self, plan: PlanOp):
        import numpy as np

        liveness = Liveness(plan)
        self.plan = plan
        self.times: dict[Operation, int] = {**liveness.times}
        self.places: dict[Operation, int] = {op: place for place, op in enumerate(plan.registers)}
        """Declarations in order."""
        self.users: dict[SSAValue, list[Instruction]] = {}
        """The instructions that name a register or views of it."""
        self.redirected: set[SSAValue] = set()
        """The registers that may come to refer to other memory, or others to theirs."""
        for op in liveness.instructions:
            for register in {root_of(register) for register in op.operands}:
                self.users.setdefault(register, []).append(op)
            if isinstance(op, MoveOp) or (isinstance(op, KernelCallOp) and op.key == ET_VIEW):
                self.redirected.update(root_of(register) for register in op.operands)
        self.returned = {root_of(register) for register in plan.return_op.outputs}
        self.needed: dict[SSAValue, Interval] = {}
        self.levels = np.zeros(liveness.end + 1, np.int64)
        """The bytes that are needed at each time."""
        for op in plan.registers:
            needed = None if isinstance(op, ViewOp) else liveness.interval(op.result)
            if needed is not None:
                self.needed[op.result] = needed
                if isinstance(op, MemoryRegisterOp):
                    self.add(_size(op.result), needed)

    def add(self, size: int, needed: Interval) -> None:
        """Count bytes that are needed for an interval, or are not if `size` is negative."""
        self.levels[needed.first : needed.last + 1] += size

    @property
    def peak(self) -> int:
        """The most bytes that are needed at once."""
        return int(self.levels.max())

    def forget(self, call: KernelCallOp) -> None:
        """A call is no more."""
        for register in {root_of(register) for register in call.operands}:
            self.users[register] = [op for op in self.users[register] if op is not call]

    def note_copy(self, copy: KernelCallOp, call: KernelCallOp) -> None:
        """A copy runs instead of a part of what a call did."""
        self.times[copy] = self.times[call]
        for register in {root_of(register) for register in copy.operands}:
            self.users.setdefault(register, []).append(copy)

    def merge(self, root: SSAValue, whole: SSAValue) -> None:
        """A register becomes a part of another, whose interval covers it already."""
        self.users[whole] += self.users.pop(root)
        self.needed.pop(root)
        if root in self.returned:
            self.returned.add(whole)


class _Concatenation:
    """One call of `cat`."""

    def __init__(self, memory: _Memory, call: KernelCallOp, outputs: bool):
        self.memory = memory
        self.plan = memory.plan
        self.call = call
        self.outputs = outputs

    def run(self) -> None:
        parts = _parts(self.call)
        if parts is None or not isinstance(self.call.outs[0].owner, AllocOp):
            return
        self.whole = self.call.outs[0]
        self.time = self.memory.times[self.call]
        needed = self.memory.needed.get(self.whole)
        if needed is None or needed.first != self.time or not self._is_alone(self.whole):
            return
        roots = [root_of(part.register) for part in parts]
        uses = Counter(roots)
        in_place = [
            part
            for part, root in zip(parts, roots, strict=True)
            if uses[root] == 1 and self._can_be_part(part, root)
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
            and root not in self.memory.redirected
            and (self.outputs or root not in self.memory.returned)
            and all(
                op.parent_block() is self.call.parent_block() or op is self.plan.return_op
                for op in self.memory.users.get(root, ())
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
        writers = [
            op for op in self.memory.users[root] if any(root_of(register) is root for register in op.writes)
        ]
        if not all(isinstance(op, KernelCallOp) and self.memory.times[op] < self.time for op in writers):
            return False
        needed = self.memory.needed.get(root)
        return needed is not None and (needed.last == self.time or not self._is_changed())

    def _is_changed(self) -> bool:
        """Whether something writes the result of the call again."""
        return any(
            op is not self.call and any(root_of(register) is self.whole for register in op.writes)
            for op in self.memory.users[self.whole]
        )

    # -- what it costs

    def _least(self, parts: list[_Part], whole: Interval) -> list[_Part]:
        """The parts of which the program needs the least memory at once if they are computed in place: the last ones
        that are computed, and as many as possible.
        """
        memory = self.memory
        intervals = {part.register: memory.needed[root_of(part.register)] for part in parts}
        parts = sorted(parts, key=lambda part: -intervals[part.register].first)
        size = _size(self.whole)
        # With each further part, what the whole takes the longer for it, and the part no more.
        wholes, least, count = [whole], memory.peak, 0
        for index, part in enumerate(parts):
            needed, whole = intervals[part.register], wholes[-1]
            wholes.append(Interval(min(whole.first, needed.first), max(whole.last, needed.last)))
            memory.add(-_size(part.register), needed)
            memory.add(-size, whole)
            memory.add(size, wholes[-1])
            peak = memory.peak
            if peak <= least:
                least, count = peak, index + 1
        for index in range(len(parts) - 1, count - 1, -1):
            needed = intervals[parts[index].register]
            memory.add(_size(parts[index].register), needed)
            memory.add(-size, wholes[index + 1])
            memory.add(size, wholes[index])
        memory.needed[self.whole] = wholes[count]
        return parts[:count]

    # -- the rewrite

    def _place(self, parts: list[_Part], chosen: set[SSAValue]) -> None:
        block = self.call.parent_block()
        assert block is not None
        memory = self.memory
        memory.forget(self.call)
        whole = cast(Operation, self.whole.owner)
        owners = [cast(AllocOp, root_of(register).owner) for register in chosen]
        first = min((whole, *owners), key=memory.places.__getitem__)
        if first is not whole:
            whole.detach()
            _block_of(first).insert_op_before(whole, first)
            memory.places[whole] = memory.places[first]
        for part in parts:
            if part.register in chosen:
                root = root_of(part.register)
                memory.merge(root, self.whole)
                self._view(root.type, part.start, cast(Operation, root.owner), root)
            elif nbytes(cast(Tensor, part.register.type)):
                anchor = self.call if len(self.plan.blocks) == 1 else whole.next_op
                assert anchor is not None
                view = self._view(part.register.type, part.start, anchor)
                copy = clone_call(part.register, view)
                copy.location = self.call.location
                block.insert_op_before(copy, self.call)
                memory.note_copy(copy, self.call)
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


def _size(register: SSAValue) -> int:
    """The bytes of a register; none of a number that a method is given."""
    type = register.type
    return nbytes(type) if is_tensor(type) and is_static(type) else 0


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
