"""Interference of registers: which may be one memory.

Passes that let registers share memory ask `Interference` whether two may, and tell it when they have become one. Two
registers interfere if one is written while what the other holds is needed, except by a copy of it (Chaitin, "Register
allocation and spilling via graph coloring", 1982), or by a kernel that reads each element before it writes the one at
the same place. As in one-shot bufferization of MLIR, a register stands for its alias set: all that have become one with
it, each at its bytes. Liveness is computed once; becoming one changes where values lie, not when they are needed.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.ir import Attribute, Operation, SSAValue

from et_ir.analysis.aliasing import Extent, extent_of, has_exact_size, root_of, size_of
from et_ir.analysis.byte_copies import ByteCopy, copies_of
from et_ir.analysis.liveness import Liveness
from et_ir.analysis.segment_tree import SegmentTree
from et_ir.dialects.executorch import Instruction, KernelCallOp, PlanOp, ViewOp
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


class _Set:
    """An alias set: its registers, and those of them whose content is needed at a time."""

    def __init__(self, end: int, members: Sequence[_Member] = ()) -> None:
        self.members: list[_Member] = list(members)
        self._end = end
        self._content: SegmentTree[_Member] | None = None

    def add(self, liveness: Liveness, members: Sequence[_Member]) -> None:
        self.members += members
        if self._content is not None:
            self._index(liveness, members)

    def needed_after(self, liveness: Liveness, time: int) -> Iterable[_Member]:
        """Those whose content behind the instruction at a time is needed."""
        if len(self.members) <= _FEW:
            return [member for member in self.members if liveness.is_needed_after(member.register, time)]
        if self._content is None:
            self._content = SegmentTree(self._end + 1)
            self._index(liveness, self.members)
        return self._content.at(time)

    def _index(self, liveness: Liveness, members: Sequence[_Member]) -> None:
        assert self._content is not None
        for member in members:
            for interval in liveness.content(member.register):
                self._content.add(member, interval.first, interval.last)


_FEW: Final = 8
"""Registers of a set, up to which looking at each is faster than an index."""

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
        self._sets: dict[SSAValue, _Set] = {}
        self._writes: dict[SSAValue, list[Write]] = {}
        self._substituted: dict[Operation, int] = {}
        """The times of the instructions that write instead of others."""
        self._viewed_at_run_time = {
            root_of(register)
            for op in self.liveness.instructions
            if isinstance(op, KernelCallOp) and op.key == ET_VIEW
            for register in (*op.reads, *op.writes)
        }

    def writes(self, root: SSAValue) -> Sequence[Write]:
        """Writers of a register or of one coalesced with it, in order."""
        return self._writes_of(root)

    def _writes_of(self, root: SSAValue) -> list[Write]:
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
        return any(True for _ in self._set_of(root).needed_after(self.liveness, time))

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
        members = self._set_of(one).members
        if first:
            members = [_Member(m.register, m.first + first, m.end + first) for m in members]
        self._set_of(other).add(self.liveness, members)
        writes = self._writes_of(other)
        for write in self._writes_of(one):
            insort(writes, write, key=_time)
        self._sets.pop(one)
        self._writes.pop(one)
        if one in self.outputs:
            self.outputs.add(other)

    def note_write(self, root: SSAValue, op: Instruction, time: int) -> None:
        """Note an instruction that writes a register, and reads what another did that runs at a time."""
        insort(self._writes_of(root), Write(op, time), key=_time)
        self._substituted[op] = time

    def substitute(self, write: Write, op: Instruction) -> None:
        """Note that another instruction writes."""
        write.op = op
        self._substituted[op] = write.time

    def forget(self, op: Instruction) -> None:
        """Note that an instruction goes."""
        for root in {root_of(register) for register in op.writes}:
            self._writes[root] = [write for write in self.writes(root) if write.op is not op]

    def _set_of(self, root: SSAValue) -> _Set:
        found = self._sets.get(root)
        if found is None:
            found = self._sets[root] = _Set(self.liveness.end, [_Member(root, 0, size_of(root))])
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
        held = self._set_of(holder)
        for write in self._writes_near(writer, holder):
            op = write.op
            needed = list(held.needed_after(self.liveness, write.time))
            accessed: list[SSAValue] = []
            if op not in in_place and op not in replaced:
                accessed = _accessed(op, holder)
            if self.liveness.has_references and any(
                self.liveness.is_referred_to(member.register, write.time) for member in held.members
            ):
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

    def _writes_near(self, writer: SSAValue, holder: SSAValue) -> Iterable[Write]:
        """The writes of a register while what another holds is needed, and those by instructions that access the other;
        where these are not fewer, all of them.
        """
        writes, members = self._writes_of(writer), self._set_of(holder).members
        if len(writes) <= max(_FEW, len(members)) or self.liveness.has_references:
            return writes
        spans = [
            (one.first, one.last) for member in members for one in self.liveness.content(member.register)
        ]
        for op, _ in _users(holder):
            time = self._substituted.get(op, self.times.get(op))
            if time is not None:
                spans.append((time, time + 1))
        return _between(writes, sorted(spans))

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


def _time(write: Write) -> int:
    return write.time


def _between(writes: Sequence[Write], spans: Sequence[tuple[int, int]]) -> Iterator[Write]:
    """Those of writes in order that are in one of the spans, which are sorted: from a time to before another."""
    at = 0
    for first, end in spans:
        at = max(at, bisect_left(writes, first, key=_time))
        while at < len(writes) and writes[at].time < end:
            yield writes[at]
            at += 1


def _users(register: SSAValue) -> Iterator[tuple[Operation, SSAValue]]:
    """The instructions that access a register, and by what: itself or a view of it."""
    for use in register.uses:
        if isinstance(use.operation, ViewOp):
            yield from _users(use.operation.result)
        else:
            yield use.operation, register


def _accessed(op: Instruction, root: SSAValue) -> list[SSAValue]:
    """The operands of an instruction that are a register or a view of it."""
    if len(op.operands) <= _FEW:
        return [register for register in op.operands if root_of(register) is root]
    # A split or a concatenation of many has more operands than what it splits has users.
    return [register for user, register in _users(root) if user is op]


def _device(register: SSAValue) -> Attribute | None:
    return register.owner.properties.get("device") if isinstance(register.owner, Operation) else None


def _lies_in(first: int, end: int, extents: list[Extent]) -> bool:
    return any(extent.first <= first and end <= extent.end for extent in extents)


def _written(op: Instruction, root: SSAValue) -> list[Extent]:
    """The bytes of a register that an instruction writes; all where it does so by way of another."""
    found = [extent for register in op.writes if (extent := extent_of(register)).root is root]
    return found or [Extent(root, 0, size_of(root))]
