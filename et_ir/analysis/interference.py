"""Interference of registers: which may be one memory.

Passes that let registers share memory ask `Interference` whether two may, and tell it when they have become one. Two
registers interfere if one is written while what the other holds is needed, except by a copy of it (Chaitin, "Register
allocation and spilling via graph coloring", 1982), or by a kernel that reads each element before it writes the one at
the same place. As in one-shot bufferization of MLIR, a register stands for its alias set: all that have become one with
it, each at its bytes. Liveness is computed once; becoming one changes where values lie, not when they are needed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.ir import Attribute, Operation, SSAValue

from et_ir.analysis.aliasing import Extent, extent_of, has_exact_size, root_of, size_of
from et_ir.analysis.byte_copies import ByteCopy, copies_of
from et_ir.analysis.liveness import Liveness
from et_ir.dialects.executorch import Instruction, KernelCallOp, PlanOp
from et_ir.dialects.executorch.arguments import ListValue
from et_ir.dialects.executorch.signatures import schema_of
from et_ops.conventions import ET_VIEW

__all__ = ["NOTHING", "Interference", "Write", "may_write_over"]


def may_write_over(op: KernelCallOp, argument: SSAValue, over: Mapping[str, frozenset[str]]) -> bool:
    """Whether a call may write its first result over an argument, wherever it is given that; `over` has the arguments
    that each kernel may (`Target.in_place`).
    """
    schema = schema_of(op.key) if op.key in over else None
    if schema is None or op.list_out is not None or not op.outs or argument.type != op.outs[0].type:
        return False
    for declared, given in zip(schema.args, op.arguments, strict=False):
        if given is argument and declared.name not in over[op.key]:
            return False
        if isinstance(given, ListValue) and argument in given.items:
            return False
    return has_exact_size(argument, op.outs[0])


@dataclass(slots=True)
class Write:
    """An instruction that writes a register, and its time."""

    op: Instruction
    time: int


@dataclass(frozen=True, slots=True)
class _Member:
    """A register that has become one with another, and its bytes there."""

    register: SSAValue
    first: int
    end: int


NOTHING: Final[Mapping[Operation, Sequence[ByteCopy]]] = {}
"""No calls that are replaced."""


class Interference:
    """The registers of a plan that may not be one memory.

    `over` says which arguments a kernel may write its first result over (`Target.in_place`). Registers are roots
    of alias sets throughout. The plan may change as `unite` and `Write.op` tell.
    """

    def __init__(self, plan: PlanOp, over: Mapping[str, frozenset[str]]):
        self.liveness = Liveness(plan)
        self.times: Mapping[Operation, int] = {**self.liveness.times}
        """The times of the instructions as the plan was."""
        self.outputs = {root_of(register) for register in plan.return_op.outputs}
        """The roots that the plan returns."""
        self.over = over
        self._members: dict[SSAValue, list[_Member]] = {}
        self._writes: dict[SSAValue, list[Write]] = {}
        self._viewed_at_run_time = {
            root_of(register)
            for op in self.liveness.instructions
            if isinstance(op, KernelCallOp) and op.key == ET_VIEW
            for register in (*op.reads, *op.writes)
        }

    def writes(self, root: SSAValue) -> list[Write]:
        """Writers of a register or of one coalesced with it."""
        found = self._writes.get(root)
        if found is None:
            found = [Write(op, self.times[op]) for op in self.liveness.writers(root)]
            self._writes[root] = found
        return found

    def is_bound(self, root: SSAValue) -> bool:
        """Whether a register may refer to other memory than its own, or is viewed in a shape known at run time only."""
        return self.liveness.is_redirected(root) or root in self._viewed_at_run_time

    def is_needed_after(self, root: SSAValue, time: int) -> bool:
        """Whether what a register holds behind the instruction at a time is needed."""
        return any(self.liveness.is_needed_after(m.register, time) for m in self._set_of(root))

    def may_unite(
        self,
        one: SSAValue,
        other: SSAValue,
        first: int = 0,
        *,
        in_place: Collection[Operation] = (),
        replaced: Mapping[Operation, Sequence[ByteCopy]] = NOTHING,
    ) -> bool:
        """Whether a register may be the bytes of another from `first` on.

        `in_place` are calls that will write what they change of `one` in the place of what they read of `other`.
        Of those that are `replaced` by parts, these copies of bytes between the two will have nothing to do, and no
        other part accesses both.
        """
        if one is other or _device(one) != _device(other) or self.is_bound(one) or self.is_bound(other):
            return False
        allowed = (in_place, replaced)
        return not self._overwrites(one, first, other, 0, *allowed) and not self._overwrites(
            other, 0, one, first, *allowed
        )

    def unite(self, one: SSAValue, other: SSAValue, first: int = 0) -> None:
        """Note that a register has become the bytes of another from `first` on."""
        self._set_of(other).extend(
            _Member(m.register, m.first + first, m.end + first) for m in self._set_of(one)
        )
        self.writes(other).extend(self.writes(one))
        self._members.pop(one)
        self._writes.pop(one)
        if one in self.outputs:
            self.outputs.add(other)

    def note_write(self, root: SSAValue, op: Instruction, time: int) -> None:
        """Note an instruction that writes a register, and reads what another did that runs at a time."""
        self.writes(root).append(Write(op, time))

    def forget(self, op: Instruction) -> None:
        """Note that an instruction goes."""
        for root in {root_of(register) for register in op.writes}:
            self._writes[root] = [write for write in self.writes(root) if write.op is not op]

    def _set_of(self, root: SSAValue) -> list[_Member]:
        found = self._members.get(root)
        if found is None:
            found = self._members[root] = [_Member(root, 0, size_of(root))]
        return found

    def _overwrites(
        self,
        writer: SSAValue,
        writer_first: int,
        holder: SSAValue,
        holder_first: int,
        in_place: Collection[Operation],
        replaced: Mapping[Operation, Sequence[ByteCopy]],
    ) -> bool:
        """Whether something that writes one register does so while what the other holds in the same bytes is needed,
        or needs it beside what it writes; each lies in their memory from its first byte on.
        """
        shift = writer_first - holder_first
        members = self._set_of(holder)
        for write in self.writes(writer):
            op = write.op
            needed = [m for m in members if self.liveness.is_needed_after(m.register, write.time)]
            accessed: list[SSAValue] = []
            if op not in in_place and op not in replaced:
                accessed = [register for register in op.operands if root_of(register) is holder]
            if any(self.liveness.is_referred_to(member.register, write.time) for member in members):
                return True
            if not needed and not accessed:
                continue
            copied = self._copied(op, writer, holder, shift, replaced)
            for extent in _written(op, writer):
                # In bytes of the register that holds what may be needed.
                first, end = extent.first + shift, extent.end + shift
                if any(
                    member.first < end
                    and first < member.end
                    and not _lies_in(max(first, member.first), min(end, member.end), copied)
                    for member in needed
                ):
                    return True
                written = Extent(writer, first, end)
                if any(self._reads_beside(op, register, written, copied) for register in accessed):
                    return True
        return False

    def _copied(
        self,
        op: Instruction,
        target: SSAValue,
        source: SSAValue,
        shift: int,
        replaced: Mapping[Operation, Sequence[ByteCopy]],
    ) -> list[Extent]:
        """The bytes of a register that an instruction copies to where they are already."""
        copies = replaced.get(op)
        if copies is None:
            copies = copies_of(op)
            # Of several copies all would have to go for one to; one that says its result's sizes cannot.
            if len(copies) != 1 or copies[0].resizes:
                return []
        return [
            copy.source
            for copy in copies
            if copy.target.root is target
            and copy.source.root is source
            and copy.source.first == copy.target.first + shift
        ]

    def _reads_beside(
        self, op: Instruction, register: SSAValue, written: Extent, copied: list[Extent]
    ) -> bool:
        """Whether an instruction that writes bytes of a register accesses some of them as anything but those."""
        extent = extent_of(register)
        if extent.first >= written.end or extent.end <= written.first:
            return False
        if _lies_in(max(extent.first, written.first), min(extent.end, written.end), copied):
            return False
        over = (
            isinstance(op, KernelCallOp)
            and (extent.first, extent.end) == (written.first, written.end)
            and [root_of(out) is written.root for out in op.outs].count(True) == 1
            and root_of(op.outs[0]) is written.root
            and register not in op.outs
            and may_write_over(op, register, self.over)
        )
        return not over


def _device(register: SSAValue) -> Attribute | None:
    return register.owner.properties.get("device") if isinstance(register.owner, Operation) else None


def _lies_in(first: int, end: int, extents: list[Extent]) -> bool:
    return any(extent.first <= first and end <= extent.end for extent in extents)


def _written(op: Instruction, root: SSAValue) -> list[Extent]:
    """The bytes of a register that an instruction writes; all where it does so by way of another."""
    found = [extent for register in op.writes if (extent := extent_of(register)).root is root]
    return found or [Extent(root, 0, size_of(root))]
