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

A delegate updates state in place where its `backend.lowered` says of an output which input it updates: both
become the register of the state.

Two registers become one only if neither is written while what the other holds is needed, except by a copy of it.
(Chaitin, "Register allocation and spilling via graph coloring", 1982, calls this coalescing.) A part that is taken
out of state, updated and put back, as of a cache for all layers, is updated where it lies.

With `extra`, ExecuTorch's operator `llama::update_cache` writes neighboring places of a cache `[batch, places, groups,
size]`, given the first as a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.aliasing import Extent, extent_of, has_exact_size, root_of, size_of
from et_ir.analysis.byte_copies import CLONE, copies_of
from et_ir.analysis.interference import Write
from et_ir.dialects.backend import LoweredOp
from et_ir.dialects.executorch import (
    AllocOp,
    DelegateCallOp,
    InputOp,
    Instruction,
    KernelCallOp,
    StateOp,
    ViewOp,
    is_instruction,
)
from et_ir.dialects.program import Globals
from et_ir.passes.memory.coalescing import Coalescing, erase, insert_before
from et_ir.passes.memory.update_in_place.updates import UPDATES, Update, UpdatedBytes, update_of
from et_ir.passes.memory.update_in_place.writing import Emitter
from et_ir.passes.memory.write_back import clone_call
from et_ir.passes.plans import plans_in_one_chain
from et_ir.targets.lookup import DEFAULT
from et_ir.targets.rewriting import target_of
from et_ops.conventions import COPY, UPDATE_CACHE
from et_schema.program import TensorShapeDynamism

__all__ = ["UpdateInPlacePass"]

STORES: Final = frozenset({COPY, CLONE})
"""The kernels that copy what is computed to where it is kept."""


@dataclass(frozen=True)
class UpdateInPlacePass(ModulePass):
    """Write only the part of state that changes."""

    name = "update-in-place"

    target: str = DEFAULT
    """The runtime whose kernels there are."""
    extra: tuple[str, ...] = ()
    """Operators that the runtime has beside those of the target, of which `llama::update_cache.out` is used."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(self)
        symbols = Globals(op)
        lowered = {one.key: one for one in op.body.block.ops if isinstance(one, LoweredOp)}
        for plan in plans_in_one_chain(op, self):
            if any(_matters(call) for call in plan.instructions):
                memory = Coalescing(plan, target.in_place)
                emitter = Emitter(memory, symbols, target.general_index_put, UPDATE_CACHE in self.extra)
                _Updates(memory, emitter, lowered).run()


def _matters(op: Instruction) -> bool:
    return isinstance(op, KernelCallOp) and (op.key in UPDATES or op.key in STORES)


class _Updates:
    """One plan."""

    def __init__(self, memory: Coalescing, emitter: Emitter, lowered: Mapping[str, LoweredOp]):
        self.plan = memory.plan
        self.lowered = lowered
        self.emitter = emitter
        self.memory = memory

    def run(self) -> None:
        for op in self.plan.instructions:
            if isinstance(op, KernelCallOp):
                if op.key in UPDATES:
                    self._update(op)
                elif op.key in STORES:
                    self._copy(op)
        self.memory.finish()

    # -- updates

    def _update(self, op: KernelCallOp) -> None:
        """Let an update write into the register that it updates."""
        update = update_of(op)
        if update is None:
            return
        target, result = op.inputs[0], op.outs[0]
        place = extent_of(target)
        root = place.root
        if not self._is_written_by(result, op) or not _can_be_written(root) or not _are_alike(target, result):
            return
        if result in self.memory.outputs and isinstance(root.owner, InputOp):
            return
        if any(root_of(r) is root for r in op.inputs[1:]) and not _is_put_back(place, update):
            return
        if not self.memory.may_unite(result, root, place.first, in_place=[op]):
            return
        if self._put_back(op, place, update):
            self.memory.forget(op)
        elif self.emitter.can(update, target):
            (write,) = self.memory.writes(result)
            self.memory.substitute(write, self.emitter.emit(update, target, op))
        else:
            return
        self._coalesce(result, place, target)
        erase(op)

    def _put_back(self, op: KernelCallOp, place: Extent, update: Update) -> bool:
        """Update a part of a register that is taken out, updated and put back where it lies. Whether that is what an
        update, of the whole, is for.
        """
        if _is_put_back(place, update):
            return True
        if not isinstance(update, UpdatedBytes):
            return False
        part, whole = update.source, place.root
        inner = self._only_writer(part)
        if inner is None or inner.parent_block() is not op.parent_block() or part in self.memory.outputs:
            return False
        change = update_of(inner)
        if change is None or not self._is_written_by(part, inner):
            return False
        taken = inner.inputs[0]
        there = extent_of(taken)
        if not isinstance(taken.owner, ViewOp) or not _are_alike(taken, part):
            return False
        if (there.root, there.first) != (whole, place.first + update.first):
            return False
        if not self.emitter.can(change, taken) or any(root_of(r) is whole for r in inner.inputs[1:]):
            return False
        # What the whole holds in the part's place is needed by the update alone, which puts the part there.
        between = inner.next_op
        while between is not op:
            assert between is not None
            if is_instruction(between) and any(root_of(register) is whole for register in between.operands):
                return False
            between = between.next_op
        after = self.memory.writes(part)[0].time
        if any(
            self.memory.is_needed_after(part, write.time)
            for write in self.memory.writes(whole)
            if write.time > after and write.op is not op and not _copies(write.op, whole, op.outs[0])
        ):
            return False
        (write,) = self.memory.writes(part)
        self.memory.substitute(write, self.emitter.emit(change, taken, inner))
        self._coalesce(part, there, taken)
        erase(inner)
        return True

    def _is_written_by(self, result: SSAValue, op: KernelCallOp) -> bool:
        """Whether the result of a call may be in other memory than its own."""
        owner = result.owner
        return (
            isinstance(owner, AllocOp)
            and owner.dynamism != TensorShapeDynamism.DYNAMIC_UNBOUND
            and self._only_writer(result) is op
        )

    def _only_writer(self, register: SSAValue) -> KernelCallOp | None:
        writes = self.memory.writes(register) if isinstance(register.owner, AllocOp) else ()
        op = writes[0].op if len(writes) == 1 else None
        return op if isinstance(op, KernelCallOp) and op.parent_block() is not None else None

    # -- copies

    def _copy(self, op: KernelCallOp) -> None:
        """Let what is copied be computed where it is copied to."""
        for copy in copies_of(op):
            root, result = copy.target.root, copy.source.root
            whole = copy.target == extent_of(root) and copy.source == extent_of(result)
            if root is not result and whole and has_exact_size(*op.operands):
                self._compute_in(root, result)

    def _compute_in(self, root: SSAValue, result: SSAValue) -> None:
        alloc = result.owner
        if not isinstance(alloc, AllocOp) or result in self.memory.outputs:
            return
        if not has_exact_size(result, root) or not _can_be_written(root):
            return
        writers = [write.op for write in self.memory.writes(result)]
        delegates = [op for op in writers if self._is_updating(op, root, result)]
        if not all(isinstance(op, KernelCallOp) or op in delegates for op in writers):
            return
        updates = self._updates_of(root, result)
        if not self.memory.may_unite(result, root, in_place=[*(op for _, op, _ in updates), *delegates]):
            return
        self._coalesce(result, extent_of(root), root if root.type == result.type else None)
        for write, updating, update in updates:
            self.memory.substitute(write, self.emitter.emit(update, updating.inputs[0], updating))
            erase(updating)

    def _is_updating(self, op: Instruction, root: SSAValue, result: SSAValue) -> bool:
        """Whether an instruction calls a delegate that replaces elements of a register, which it is given once, and
        returns that as the result.

        No file tells which of its arguments a delegate writes. Of an input that is written the caller has to know.
        """
        if not isinstance(op, DelegateCallOp) or root.type != result.type or isinstance(root.owner, InputOp):
            return False
        places = [number for number, out in enumerate(op.outs) if root_of(out) is result]
        given = [number for number, value in enumerate(op.inputs) if root_of(value) is root]
        if (
            len(places) != 1
            or op.outs[places[0]] is not result
            or any(root_of(out) is root for out in op.outs)
        ):
            return False
        lowered = self.lowered.get(op.callee.string_value())
        updated = None if lowered is None else lowered.updated_inputs.get(places[0])
        return given == [updated] and op.inputs[given[0]] is root

    def _updates_of(self, root: SSAValue, result: SSAValue) -> list[tuple[Write, KernelCallOp, Update]]:
        """The updates of a register among what writes another, as in the branches of a condition."""
        found: list[tuple[Write, KernelCallOp, Update]] = []
        for write in self.memory.writes(result):
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

    # -- becoming one

    def _coalesce(self, result: SSAValue, place: Extent, shown: SSAValue | None) -> None:
        """Put the bytes of a register, which `shown` shows, instead of another."""
        if result in self.memory.outputs and isinstance(place.root.owner, StateOp):
            self._return_copy(result)
        self.memory.coalesce(result, place.root, place.first, shown)

    def _return_copy(self, result: SSAValue) -> None:
        """Return a copy of state, so that the next execution does not change what the caller has."""
        end = self.plan.return_op
        copies: dict[SSAValue, SSAValue] = {}
        for index, value in enumerate(end.operands):
            if root_of(value) is not result:
                continue
            if value not in copies:
                copies[value] = self.plan.declare(AllocOp(value.type), end)
                insert_before(clone_call(value, copies[value], end.location), end)
            end.operands[index] = copies[value]


def _copies(op: Instruction, target: SSAValue, source: SSAValue) -> bool:
    """Whether an instruction makes a register hold all that another does."""
    return any(
        (copy.target.root, copy.source.root) == (target, source)
        and copy.target.first == copy.source.first == 0
        and copy.target.end == size_of(target)
        for copy in copies_of(op)
    )


def _can_be_written(root: SSAValue) -> bool:
    owner = root.owner
    if isinstance(owner, AllocOp):
        return owner.dynamism != TensorShapeDynamism.DYNAMIC_UNBOUND
    return isinstance(owner, StateOp) or (isinstance(owner, InputOp) and owner.aliased is not None)


def _is_put_back(place: Extent, update: Update) -> bool:
    """Whether an update writes what an update of the same part has left there already."""
    if not isinstance(update, UpdatedBytes):
        return False
    source = extent_of(update.source)
    return (source.root, source.first) == (place.root, place.first + update.first)


def _are_alike(one: SSAValue, other: SSAValue) -> bool:
    """Whether registers have the same type, and sizes known as far."""
    return one.type == other.type and (
        cast(Operation, one.owner).properties.get("dynamism")
        == cast(Operation, other.owner).properties.get("dynamism")
    )
