"""Compute operands of concatenations in place. Each is written where the concatenation has it, so nothing is copied.

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
- all that accesses it are instructions of the concatenation's block, and all that writes it are kernels;
- it does not interfere with the concatenation: it is not needed afterwards, or nothing changes the concatenation;
- its place is a multiple of 16 bytes from the start, so that kernels find it as well aligned as other tensors.

The others are copied to their places. The concatenation is needed from the moment its first part is, which may take
more memory than it saves: parts that are computed early are copied if the program would need more at once otherwise.
Without `outputs`, what a method returns stays alone, so that the caller may give memory for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.aliasing import extent_of, size_of, uses_of
from et_ir.analysis.byte_copies import CAT, ByteCopy, copies_of
from et_ir.analysis.liveness import LiveInterval
from et_ir.dialects.executorch import AllocOp, KernelCallOp, MemoryRegisterOp, PlanOp, ViewOp
from et_ir.passes.memory.coalescing import Coalescing, erase, insert_before
from et_ir.passes.memory.copies_to_views import ALIGNMENT
from et_ir.passes.memory.write_back import clone_call
from et_ir.passes.plans import plans_in_one_chain

__all__ = ["ConcatenateInPlacePass"]


@dataclass(frozen=True)
class ConcatenateInPlacePass(ModulePass):
    """Compute what is concatenated in its place."""

    name = "concatenate-in-place"

    outputs: bool = True
    """Whether operands of an output's concatenation are computed in place, too."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for plan in plans_in_one_chain(op, self):
            calls = [call for call in plan.instructions if isinstance(call, KernelCallOp) and call.key == CAT]
            memory = _Memory(plan) if calls else None
            for call in calls:
                assert memory is not None
                _Concatenation(memory, call, self.outputs).run()


class _Memory(Coalescing):
    """The memory that a plan needs, kept up to date while concatenations are placed."""

    def __init__(self, plan: PlanOp):
        import numpy as np

        super().__init__(plan, {})
        self.needed: dict[SSAValue, LiveInterval] = {}
        self.levels = np.zeros(self.liveness.end + 1, np.int64)
        """The bytes that are needed at each time."""
        for op in self.liveness.roots():
            needed = self.liveness.interval(op.result)
            if needed is not None:
                self.needed[op.result] = needed
                if isinstance(op, MemoryRegisterOp):
                    self.add(size_of(op.result), needed)

    def add(self, size: int, needed: LiveInterval) -> None:
        """Count bytes that are needed for an interval, or are not if `size` is negative."""
        self.levels[needed.first : needed.last + 1] += size

    @property
    def peak(self) -> int:
        """The most bytes that are needed at once."""
        return int(self.levels.max())


class _Concatenation:
    """One call of `cat`."""

    def __init__(self, memory: _Memory, call: KernelCallOp, outputs: bool):
        self.memory = memory
        self.plan = memory.plan
        self.call = call
        self.outputs = outputs

    def run(self) -> None:
        copies = copies_of(self.call)
        whole = self.call.outs[0] if copies else None
        needed = None if whole is None else self.memory.needed.get(whole)
        if whole is None or needed is None or needed.first != self.memory.times[self.call]:
            return
        if not self._is_local(whole):
            return
        uses = Counter(copy.source.root for copy in copies)
        in_place = [copy for copy in copies if uses[copy.source.root] == 1 and self._can_be_part(copy, whole)]
        chosen = self._least(in_place, whole, needed)
        if chosen:
            self._place(copies, chosen, whole)

    # -- what may be part of the whole

    def _is_local(self, root: SSAValue) -> bool:
        """Whether a register has memory that only instructions of the call's block know."""
        owner = root.owner
        return (
            isinstance(owner, AllocOp)
            and owner.is_static
            and (self.outputs or root not in self.memory.outputs)
            and all(
                use.operation.parent_block() is self.call.parent_block()
                or use.operation is self.plan.return_op
                for use in uses_of(root)
            )
        )

    def _can_be_part(self, copy: ByteCopy, whole: SSAValue) -> bool:
        root = copy.source.root
        return (
            not copy.target.first % ALIGNMENT
            and copy.source == extent_of(root)
            and self._is_local(root)
            and all(isinstance(write.op, KernelCallOp) for write in self.memory.writes(root))
            and self.memory.may_unite(root, whole, copy.target.first, replaced={self.call: [copy]})
        )

    # -- what it costs

    def _least(self, parts: list[ByteCopy], whole: SSAValue, needed: LiveInterval) -> list[ByteCopy]:
        """The parts of which the program needs the least memory at once if they are computed in place: the last ones
        that are computed, and as many as possible.
        """
        memory = self.memory
        intervals = {part: memory.needed[part.source.root] for part in parts}
        parts = sorted(parts, key=lambda part: -intervals[part].first)
        size = size_of(whole)
        # With each further part, what the whole takes the longer for it, and the part no more.
        wholes, least, count = [needed], memory.peak, 0
        for index, part in enumerate(parts):
            mine, last = intervals[part], wholes[-1]
            wholes.append(LiveInterval(min(last.first, mine.first), max(last.last, mine.last)))
            memory.add(-size_of(part.source.root), mine)
            memory.add(-size, last)
            memory.add(size, wholes[-1])
            peak = memory.peak
            if peak <= least:
                least, count = peak, index + 1
        for index in range(len(parts) - 1, count - 1, -1):
            memory.add(size_of(parts[index].source.root), intervals[parts[index]])
            memory.add(-size, wholes[index + 1])
            memory.add(size, wholes[index])
        memory.needed[whole] = wholes[count]
        return parts[:count]

    # -- the rewrite

    def _place(self, copies: Sequence[ByteCopy], chosen: list[ByteCopy], whole: SSAValue) -> None:
        memory = self.memory
        memory.forget(self.call)
        for copy, part in zip(copies, self.call.inputs, strict=True):
            if copy in chosen:
                memory.coalesce(copy.source.root, whole, copy.target.first)
            elif size_of(part):
                view = self.plan.declare(ViewOp(whole, part.type, start=copy.target.first), self.call)
                clone = clone_call(part, view, self.call.location)
                insert_before(clone, self.call)
                memory.note_write(whole, clone, memory.times[self.call])
        erase(self.call)
