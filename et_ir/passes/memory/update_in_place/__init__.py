"""Write updates of state, and of what nothing needs afterwards, in place: only the part that changes.

```mlir
%k = executorch.state @k : tensor<1x2x64x8xf32>
executorch.kernel_call "aten::index_put.out"(%k, [none, none, %at], %new, false) outs(%r)
executorch.kernel_call "aten::bmm.out"(%q, %r) outs(%o)
executorch.kernel_call "aten::copy_"(%k, %r, false) returns(%k)
// becomes
%k = executorch.state @k : tensor<1x2x64x8xf32>
executorch.kernel_call "aten::index_put_"(%k, [none, none, %at], %new, false) returns(%k)
executorch.kernel_call "aten::bmm.out"(%q, %k) outs(%o)
```

An update (`updates.py` has the operators) is written into the register that it updates if nothing needs
what that held: no instruction reads it before all of it is written again, and it does not hold state that has to
stay. The copy that stored the result then has nothing to do, and goes. So it does where a kernel can write its
result to where it is copied: `%r` and the register that it is copied to become one.

Two registers become one only if neither is written while what the other holds is needed, except by a copy of it.
(Chaitin, "Register allocation and spilling via graph coloring", 1982, calls this coalescing.) A part that is taken
out of state, updated and put back, as of a cache for all layers, is updated where it lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.register_liveness import Liveness, root_of
from et_ir.dialects.executorch import (
    INSTRUCTIONS,
    AllocOp,
    InputOp,
    Instruction,
    KernelCallOp,
    MoveOp,
    PlanOp,
    StateOp,
    ViewOp,
)
from et_ir.dialects.executorch.layout import Tensor, nbytes
from et_ir.dialects.executorch.operators import COPY, ET_VIEW
from et_ir.dialects.program import Globals
from et_ir.passes.memory.in_place import may_write_over
from et_ir.passes.memory.update_in_place.updates import UPDATES, Part, Update, update_of
from et_ir.passes.memory.update_in_place.writing import Emitter
from et_ir.passes.memory.write_back import CLONE, clone_call
from et_ir.targets.registry import DEFAULT, replaceable_everywhere
from et_ir.targets.rewriting import target_of
from et_schema.generated.program import TensorShapeDynamism

__all__ = ["UpdateInPlacePass"]


@dataclass(frozen=True)
class UpdateInPlacePass(ModulePass):
    """Write only the part of state that changes."""

    name = "update-in-place"

    target: str = DEFAULT
    """The runtime whose kernels there are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols, general = Globals(op), target_of(self).general_index_put
        for plan in list(op.body.block.ops):
            if isinstance(plan, PlanOp) and any(_matters(call) for call in plan.instructions):
                _Updates(plan, Emitter(plan, symbols, general_index_put=general)).run()


def _matters(op: Instruction) -> bool:
    return isinstance(op, KernelCallOp) and (op.key in UPDATES or _copied(op) is not None)


@dataclass
class _Write:
    """An instruction that writes a register, and its time."""

    op: Instruction
    time: int


class _Updates:
    """One plan. A register stands for all that have become one with it."""

    def __init__(self, plan: PlanOp, emitter: Emitter):
        self.plan = plan
        self.emitter = emitter
        self.liveness = Liveness(plan)
        self.writes: dict[SSAValue, list[_Write]] = {}
        self.merged: dict[SSAValue, list[SSAValue]] = {}
        """For a register those that have become one with it."""
        self.outputs = {root_of(register) for register in plan.return_op.outputs}
        self.fixed: set[SSAValue] = set()
        """Registers that refer to the memory of others, or others to theirs, from some instruction on."""
        self.position: dict[Operation, float] = {op: at for at, op in enumerate(plan.registers)}
        for op in plan.instructions:
            for register in op.writes:
                self.writes.setdefault(root_of(register), []).append(_Write(op, self.liveness.times[op]))
            if isinstance(op, MoveOp) or (isinstance(op, KernelCallOp) and op.key == ET_VIEW):
                self.fixed.update(root_of(register) for register in (*op.reads, *op.writes))

    def run(self) -> None:
        for op in self.plan.instructions:
            if not isinstance(op, KernelCallOp):
                continue
            if op.key in UPDATES:
                self._update(op)
            elif (copied := _copied(op)) is not None:
                self._copy(op, *copied)
        for op in self.plan.instructions:
            copied = _copied(op)
            if copied is not None and _place(copied[0]) == _place(copied[1]):
                _erase(op)

    # -- updates

    def _update(self, op: KernelCallOp) -> None:
        update = update_of(op)
        if update is None:
            return
        target, result = op.inputs[0], op.outs[0]
        root = root_of(target)
        if not self._is_free(result, op) or not self._can_be_written(root) or not _are_alike(target, result):
            return
        if result in self.outputs and isinstance(root.owner, InputOp):
            return
        if any(root_of(register) is root for register in op.inputs[1:]) and not self._is_put_back(op, update):
            return
        if self._conflict(result, root, but=[op]) or self._conflict(root, result):
            return
        if self._put_back(op, update):
            del self.writes[result]
        elif self.emitter.can(update, target):
            self.writes[result][0].op = self.emitter.emit(update, target, op)
        else:
            return
        self._merge(result, root, target)
        _erase(op, cast(Operation, result.owner))

    def _is_put_back(self, op: KernelCallOp, update: Update) -> bool:
        """Whether an update writes what an update of the same part has left there already."""
        if not isinstance(update, Part):
            return False
        return _place(update.source) == (root_of(op.inputs[0]), _start(op.inputs[0]) + update.first)

    def _put_back(self, op: KernelCallOp, update: Update) -> bool:
        """Update a part of a register that is taken out, updated and put back where it lies. Whether that is what an
        update, of the whole, is for.
        """
        if not isinstance(update, Part):
            return False
        if self._is_put_back(op, update):
            return True
        part, whole = update.source, root_of(op.inputs[0])
        inner = self._only_writer(part)
        if inner is None or inner.parent_block() is not op.parent_block() or part in self.outputs:
            return False
        change = update_of(inner)
        if change is None or not self._is_free(part, inner):
            return False
        taken = inner.inputs[0]
        place = (whole, _start(op.inputs[0]) + update.first)
        if not isinstance(taken.owner, ViewOp) or _place(taken) != place or not _are_alike(taken, part):
            return False
        if not self.emitter.can(change, taken) or any(root_of(r) is whole for r in inner.inputs[1:]):
            return False
        between = inner.next_op
        while between is not op:
            assert between is not None
            if isinstance(between, INSTRUCTIONS) and any(root_of(r) is whole for r in between.operands):
                return False
            between = between.next_op
        after = self.liveness.times.get(inner, -1)
        if any(
            self._is_needed_after(part, write.time)
            for write in self.writes.get(whole, [])
            if write.time > after and write.op is not op and not _copies(write.op, whole, op.outs[0])
        ):
            return False
        self.writes[part][0].op = self.emitter.emit(change, taken, inner)
        self._merge(part, whole, taken)
        _erase(inner, cast(Operation, part.owner))
        return True

    def _only_writer(self, register: SSAValue) -> KernelCallOp | None:
        writes = self.writes.get(register, [])
        op = writes[0].op if len(writes) == 1 else None
        return op if isinstance(op, KernelCallOp) and op.parent_block() is not None else None

    # -- copies

    def _copy(self, op: KernelCallOp, target: SSAValue, source: SSAValue) -> None:
        """Let what is copied be computed where it is copied to."""
        root, result = root_of(target), root_of(source)
        if root is result or not self._can_be_computed_in(root, result, target, source):
            return
        updates = self._updates_of(root, result)
        if self._conflict(result, root, but=[op for _, op, _ in updates]) or self._conflict(root, result):
            return
        self._declare_first(root, result)
        place = root
        if root.type != result.type:
            view = ViewOp(root, result.type)
            view.location = op.location
            _insert_before(view, cast(Operation, result.owner))
            place = view.result
        self._merge(result, root, place)
        _erase(cast(Operation, result.owner))
        for write, updating, update in updates:
            write.op = self.emitter.emit(update, updating.inputs[0], updating)
            _erase(updating)

    def _updates_of(self, root: SSAValue, result: SSAValue) -> list[tuple[_Write, KernelCallOp, Update]]:
        """The updates of a register among what writes another, as in the branches of a condition."""
        found: list[tuple[_Write, KernelCallOp, Update]] = []
        for write in self.writes.get(result, []):
            op = write.op
            update = update_of(op) if isinstance(op, KernelCallOp) else None
            if update is None or not isinstance(op, KernelCallOp):
                continue
            target = op.inputs[0]
            whole = root_of(target) is root and target.type == result.type == op.outs[0].type
            alone = not any(root_of(register) is root for register in op.inputs[1:])
            if whole and alone and self.emitter.can(update, target):
                found.append((write, op, update))
        return found

    def _can_be_computed_in(
        self, root: SSAValue, result: SSAValue, target: SSAValue, source: SSAValue
    ) -> bool:
        owner = result.owner
        if not isinstance(owner, AllocOp) or not owner.is_static or not self._can_be_written(root):
            return False
        if result in self.fixed or result in self.outputs or "device" in owner.properties:
            return False
        if not all(isinstance(write.op, KernelCallOp) for write in self.writes.get(result, [])):
            return False
        if any(isinstance(use.operation, ViewOp) and not use.operation.is_static for use in result.uses):
            return False
        whole = nbytes(cast(Tensor, root.type))
        sizes = {nbytes(cast(Tensor, register.type)) for register in (target, source, result)}
        return (
            _are_alike(target, source)
            and sizes == {whole}
            and "dynamism" not in cast(AllocOp, root.owner).properties
        )

    def _declare_first(self, root: SSAValue, result: SSAValue) -> None:
        """Declare a register before another that becomes one with it."""
        one, other = cast(Operation, root.owner), cast(Operation, result.owner)
        if self.position[one] > self.position[other]:
            one.detach()
            _insert_before(one, other)
            self.position[one] = self.position[other]

    # -- becoming one

    def _is_free(self, result: SSAValue, op: KernelCallOp) -> bool:
        """Whether the result of a call may be in other memory than its own."""
        owner = result.owner
        return (
            isinstance(owner, AllocOp)
            and owner.dynamism != TensorShapeDynamism.DYNAMIC_UNBOUND
            and "device" not in owner.properties
            and result not in self.fixed
            and self._only_writer(result) is op
        )

    def _can_be_written(self, root: SSAValue) -> bool:
        owner = root.owner
        if isinstance(owner, AllocOp):
            return owner.dynamism != TensorShapeDynamism.DYNAMIC_UNBOUND and root not in self.fixed
        return (
            isinstance(owner, StateOp) or (isinstance(owner, InputOp) and owner.aliased is not None)
        ) and (root not in self.fixed)

    def _is_needed_after(self, register: SSAValue, time: int) -> bool:
        return any(
            self.liveness.is_needed_after(one, time) for one in (register, *self.merged.get(register, ()))
        )

    def _conflict(self, one: SSAValue, other: SSAValue, but: Sequence[KernelCallOp] = ()) -> bool:
        """Whether something that writes one register does so while what another holds is needed, or needs it beside
        what it writes. `but` are the updates that make the other the one, of which only the former is asked.
        """
        for write in self.writes.get(one, []):
            op = write.op
            if _copies(op, one, other):
                continue
            if self._is_needed_after(other, write.time):
                return True
            if op in but:
                continue
            for register in op.operands:
                if root_of(register) is other and not _reads_before_it_writes(op, register):
                    return True
        return False

    def _merge(self, result: SSAValue, root: SSAValue, place: SSAValue) -> None:
        """Put `place`, a register in the memory of `root`, instead of `result`."""
        self.writes.setdefault(root, []).extend(self.writes.pop(result, ()))
        self.merged.setdefault(root, []).extend((result, *self.merged.pop(result, ())))
        if result in self.outputs and isinstance(root.owner, StateOp):
            self._return_copy(result, place)
        result.replace_all_uses_with(place)
        if result in self.outputs:
            self.outputs.add(root)

    def _return_copy(self, result: SSAValue, place: SSAValue) -> None:
        """Return a copy of state, so that the next execution does not change what the caller has."""
        end = self.plan.return_op
        copies: dict[SSAValue, SSAValue] = {}
        for index, value in enumerate(end.operands):
            if root_of(value) is not result:
                continue
            if value not in copies:
                alloc = AllocOp(value.type)
                alloc.location = end.location
                declared: Operation = end
                if len(self.plan.blocks) > 1:
                    assert self.plan.blocks[0].first_op is not None
                    declared = self.plan.blocks[0].first_op
                _insert_before(alloc, declared)
                call = clone_call(value, alloc.result)
                call.location = end.location
                _insert_before(call, end)
                copies[value] = alloc.result
            end.operands[index] = copies[value]


def _copied(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """The register that an instruction only copies to, and the one of the same type that it copies; `None` for what
    does anything else.
    """
    if not isinstance(op, KernelCallOp):
        return None
    if op.key == COPY:
        target, source = op.inputs
    elif op.key == CLONE and len(op.inputs) == len(op.outs) == 1:
        target, source = op.outs[0], op.inputs[0]
    else:
        return None
    return (target, source) if target.type == source.type else None


def _copies(op: Operation, target: SSAValue, source: SSAValue) -> bool:
    """Whether an instruction makes a register hold all that another does."""
    copied = _copied(op)
    return copied is not None and all(
        root_of(register) is root and nbytes(cast(Tensor, register.type)) == nbytes(cast(Tensor, root.type))
        for register, root in zip(copied, (target, source), strict=True)
    )


def _reads_before_it_writes(op: Operation, register: SSAValue) -> bool:
    """Whether a call reads each element of an argument before it writes the one at the same place of its result."""
    if not isinstance(op, KernelCallOp) or len(op.outs) != 1:
        return False
    root = root_of(register)
    return (
        may_write_over(op, register, replaceable_everywhere())
        and register.type == op.outs[0].type
        and nbytes(cast(Tensor, register.type)) == nbytes(cast(Tensor, root.type))
        and all(other is register for other in op.inputs if root_of(other) is root)
    )


def _are_alike(one: SSAValue, other: SSAValue) -> bool:
    """Whether registers have the same type, and sizes known as far."""
    return one.type == other.type and (
        cast(Operation, one.owner).properties.get("dynamism")
        == cast(Operation, other.owner).properties.get("dynamism")
    )


def _start(register: SSAValue) -> int:
    """The byte of its root's memory at which a register starts."""
    first = 0
    while isinstance(register.owner, ViewOp):
        first += register.owner.first_byte
        register = register.owner.base
    return first


def _place(register: SSAValue) -> tuple[SSAValue, int]:
    return root_of(register), _start(register)


def _insert_before(op: Operation, anchor: Operation) -> None:
    block = anchor.parent_block()
    assert block is not None
    block.insert_op_before(op, anchor)


def _erase(*ops: Operation) -> None:
    for op in ops:
        op.detach()
        op.erase()
