"""Live ranges of the registers of a plan.

Times are positions in the plan's text: 0 is before the first instruction, where inputs are set, instruction k
has time k + 1, and the return comes last. Live ranges are found by backward data flow over the blocks (Aho,
Lam, Sethi, Ullman, "Compilers", §9.2.5). Each root has two: that of its content, from a write to the
last read, and that of its memory, which is also needed where it is written in vain, and by state throughout. The latter
is asked for as the interval that covers it, so that a buffer that is live around a loop is live in all of it.

Views belong to the register they view. A move, or a view at run time, binds a root to the memory of another; which ones
a root may refer to at each place is found by forward data flow. A kernel writes the whole of its out arguments, and
before that their content is not needed; what is written in place is needed before as well. Kernels that write parts of
a register, which nothing reads before they have, do together what a kernel does that writes the whole.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.ir import Block, SSAValue

from et_ir.analysis.aliasing import extent_of, root_of
from et_ir.dialects.executorch import (
    AllocOp,
    InputOp,
    Instruction,
    JumpFalseOp,
    JumpOp,
    PlanOp,
    ReferenceOp,
    RegisterOp,
    ReturnOp,
    StateOp,
    ViewOp,
    is_instruction,
    is_register,
)

__all__ = ["LiveInterval", "Liveness"]


class LiveInterval(NamedTuple):
    """Times from `first` to `last`, both included."""

    first: int
    last: int


@dataclass(slots=True)
class _Access:
    """The roots that an instruction accesses, by number, and the registers that it reads and writes itself.

    Those in `bound` refer to what `source` refers to behind it.
    """

    reads: frozenset[int]
    writes: frozenset[int]
    kills: frozenset[int]
    read: Sequence[SSAValue]
    written: Sequence[SSAValue]
    source: int = -1
    bound: frozenset[int] = frozenset()


References = dict[int, frozenset[int]]
"""The roots whose memory a root may refer to; one that is not there refers to its own."""
Range = tuple[int, int]
"""Bytes from and to."""


class Liveness:
    """Live ranges of a plan's registers as it is when they are computed. O(operands) for a plan without jumps."""

    def __init__(self, plan: PlanOp):
        self.plan = plan
        self.registers: list[RegisterOp] = []
        self._blocks = plan.blocks
        self._bodies: list[list[Instruction]] = []
        for block in self._blocks:
            body: list[Instruction] = []
            for op in block.ops:
                if is_instruction(op):
                    body.append(op)
                elif is_register(op):
                    self.registers.append(op)
            self._bodies.append(body)
        self.instructions = [op for body in self._bodies for op in body]
        self.times: dict[Instruction, int] = {op: time + 1 for time, op in enumerate(self.instructions)}
        self.end = len(self.instructions)
        self._roots: list[SSAValue] = []
        self._numbers: dict[SSAValue, int] = {}
        views: list[SSAValue] = []
        for op in self.registers:
            register = op.result
            if type(op) is ViewOp:
                views.append(register)
            else:
                self._numbers[register] = len(self._roots)
                self._roots.append(register)
        whole = dict(self._numbers)
        self._numbers |= {view: self._numbers[root_of(view)] for view in views}
        self._views = frozenset(views)
        self._accesses = [self._access(op, whole) for op in self.instructions]
        self._redirected = frozenset[int]().union(*(access.bound for access in self._accesses))
        self._kill_parts()
        count = len(self._roots)
        self._needed: list[list[LiveInterval]] = [[] for _ in range(count)]
        """When the memory of each root is needed: intervals with gaps between them, in order."""
        self._content: list[list[LiveInterval]] = [[] for _ in range(count)]
        """When what each root holds is needed, in order; an interval reaches from a write to the last read."""
        self._written: list[list[int]] = [[] for _ in range(count)]
        self._referred: list[References] = []
        self._given = [op for op in self.registers if type(op) is InputOp or type(op) is StateOp]
        """The registers that hold something before the plan runs."""
        self._kept = frozenset(
            self._numbers[op.result]
            for op in self._given
            if isinstance(op, StateOp) or op.aliased is not None
        )
        """The roots whose content is needed when the plan has ended."""
        self.live_at_entry: list[SSAValue] = []
        """Registers whose content from before the plan is read."""
        self._flow()

    def _access(self, op: Instruction, whole: dict[SSAValue, int]) -> _Access:
        """The accesses of an instruction; `whole` has the numbers of the registers that are no views."""
        numbers = self._numbers
        reads, writes = op.reads, op.writes
        access = _Access(
            frozenset([numbers[r] for r in reads]),
            frozenset([numbers[r] for r in writes]),
            # What a view shows is a part of its root, perhaps.
            frozenset([whole[r] for r in writes if r in whole and r not in reads]),
            reads,
            writes,
        )
        # A view at run time of what it is a static view of changes nothing.
        bound = frozenset([whole[register] for register in op.bound if register in whole])
        if bound and op.bound_to is not None:
            access.source, access.bound = numbers[op.bound_to], bound
        return access

    # -- memory that is written part by part

    def _kill_parts(self) -> None:
        """Let the first write of a part kill the whole, where the block has written each byte that it reads.

        A concatenation may be computed in its place: what was there before the first of its parts is needed no more
        than before a kernel that writes the whole register.
        """
        parts: dict[int, _Parts] = {}
        viewed = {self._numbers[view] for view in self._views} - self._redirected
        for access in self._accesses:
            if access.writes.isdisjoint(viewed):
                continue
            for register in access.written:
                root = self._numbers[register]
                if root in viewed and _has_bytes(register) and isinstance(self._roots[root].owner, AllocOp):
                    parts.setdefault(root, _Parts())
        for view in self._views if parts else ():
            if not _has_bytes(view):
                parts.pop(self._numbers[view], None)
        if not parts:
            return
        followed = set(parts)  # to find what is not there in a dict takes as long as the dict is
        for place, (op, access) in enumerate(zip(self.instructions, self._accesses, strict=True)):
            if access.reads.isdisjoint(followed) and access.writes.isdisjoint(followed):
                continue
            # What an instruction reads, it reads before it writes.
            for registers, writes in ((access.read, False), (access.written, True)):
                for register in registers:
                    root = self._numbers[register]
                    if root in parts and not parts[root].access(place, op, register, writes):
                        del parts[root]
        for root, written in parts.items():
            if written.first is not None:
                self._accesses[written.first].kills |= {root}

    # -- flow

    def _flow(self) -> None:
        live_in = self._live_in()
        referred = self._referred = self._references()
        start = 0
        for block, body in zip(self._blocks, self._bodies, strict=True):
            accesses = self._accesses[start : start + len(body)]
            if body:
                self._cover(start + 1, accesses, self._live_out(block, live_in), referred)
            start += len(body)
        self._content = [_merged(content, 0) for content in self._content]
        entry = live_in[self._blocks[0]]
        for root in entry:
            self._needed[root].append(LiveInterval(0, 0))
        for op in self._given:
            root = self._numbers[op.result]
            self._needed[root].append(LiveInterval(0, self.end if isinstance(op, StateOp) else 0))
            self._written[root].append(0)
        self._needed = [_merged(needed, 1) for needed in self._needed]
        self.live_at_entry.extend(self._roots[root] for root in sorted(entry))

    def _live_in(self) -> dict[Block, set[int]]:
        """The roots whose content is needed at the start of each block."""
        blocks = self._blocks
        live_in: dict[Block, set[int]] = {block: set() for block in blocks}
        changed = True
        while changed:
            changed = False
            start = self.end
            for block, body in zip(reversed(blocks), reversed(self._bodies), strict=True):
                live = self._live_out(block, live_in)
                for access in reversed(self._accesses[start - len(body) : start]):
                    live -= access.kills
                    live |= access.reads
                start -= len(body)
                if live != live_in[block]:
                    live_in[block] = live
                    # A block that nothing jumps back to is done.
                    changed = len(blocks) > 1
        return live_in

    def _live_out(self, block: Block, live_in: dict[Block, set[int]]) -> set[int]:
        live = set(self._kept) if isinstance(block.last_op, ReturnOp) else set[int]()
        for successor in _successors(block):
            live |= live_in[successor]
        return live

    def _references(self) -> list[References]:
        """Possible referents of each bound root before each instruction; nothing for a plan without any."""
        if not self._redirected:
            return []
        incoming: dict[Block, References] = {
            block: dict.fromkeys(self._redirected, frozenset()) for block in self._blocks
        }
        incoming[self._blocks[0]] = {root: frozenset({root}) for root in self._redirected}
        before: list[References] = [{} for _ in self.instructions]
        changed = True
        while changed:
            changed = False
            place = 0
            for block, body in zip(self._blocks, self._bodies, strict=True):
                current = incoming[block]
                for _ in body:
                    before[place] = current
                    current = _after(self._accesses[place], current)
                    place += 1
                for successor in _successors(block):
                    merged = {root: refers | incoming[successor][root] for root, refers in current.items()}
                    if merged != incoming[successor]:
                        incoming[successor] = merged
                        changed = True
        return before

    def _cover(self, first: int, accesses: list[_Access], live: set[int], referred: list[References]) -> None:
        """Note when roots are needed in a block; `first` is its first time, `live` are those that are behind it."""
        needed, content, redirected = self._needed, self._content, self._redirected
        bound = live & redirected
        last = first + len(accesses) - 1
        since = dict.fromkeys(live - redirected, last)
        for time, access in zip(range(last, first - 1, -1), reversed(accesses), strict=True):
            references = referred[time - 1] if referred else {}
            if bound:
                for root in _refer(bound, _after(access, references)):
                    needed[root].append(LiveInterval(time, time))
                    content[root].append(LiveInterval(time, time + 1))
            for root in access.kills:
                if root in since:
                    self._note(root, time, since.pop(root))
            for root in access.reads:
                if root not in redirected:
                    since.setdefault(root, time)
            if redirected:
                bound = (bound - access.kills) | (access.reads & redirected)
                for root in _refer(bound, references):
                    needed[root].append(LiveInterval(time, time))
            for root in _refer(access.writes - access.bound, references) if references else access.writes:
                needed[root].append(LiveInterval(time, time))
                self._written[root].append(time)
        for root, time in since.items():
            self._note(root, first, time)

    def _note(self, root: int, first: int, last: int) -> None:
        interval = LiveInterval(first, last)
        self._needed[root].append(interval)
        if first < last:
            self._content[root].append(interval)

    # -- results

    def roots(self) -> Iterator[RegisterOp]:
        """The declarations that may have memory of their own, in order."""
        for op in self.registers:
            if type(op) is not ViewOp and type(op) is not ReferenceOp:
                yield op

    def interval(self, register: SSAValue) -> LiveInterval | None:
        """The interval that covers all times at which a register's own memory is needed; `None` if it never
        is.
        """
        needed = self._needed[self._numbers[register]]
        return LiveInterval(needed[0].first, needed[-1].last) if needed else None

    def needed(self, register: SSAValue) -> Sequence[LiveInterval]:
        """The times at which a register's own memory is needed, in order."""
        return self._needed[self._numbers[register]]

    def is_redirected(self, register: SSAValue) -> bool:
        """Whether an instruction makes a register refer to other memory than its own."""
        return self._numbers[register] in self._redirected

    def is_referred_to(self, register: SSAValue, time: int) -> bool:
        """Whether the instruction at a time accesses a register's memory by way of another that may refer to it."""
        if not self._referred or not time:
            return False
        access, references = self._accesses[time - 1], self._referred[time - 1]
        others = (access.reads | (access.writes - access.bound)) & self._redirected
        return any(self._numbers[register] in references[other] for other in others)

    def writers(self, register: SSAValue) -> list[Instruction]:
        """The instructions that write the memory of a register, in order: also by way of others that refer to it. None
        for a register that was declared later.
        """
        number = self._numbers.get(register)
        times = [] if number is None else sorted(time for time in self._written[number] if time)
        return [self.instructions[time - 1] for time in times]

    def is_needed_after(self, register: SSAValue, time: int) -> bool:
        """Whether what a register's memory holds behind the instruction at a time is needed: it is read before it is
        written as a whole, or is state, or an aliased input, at the end. Of a register that is redirected nothing is
        known.
        """
        content = self._content[self._numbers[register]]
        at = bisect_right(content, time, key=lambda interval: interval.first) - 1
        return at >= 0 and content[at].last > time

    def content(self, register: SSAValue) -> Sequence[LiveInterval]:
        """The intervals for which `is_needed_after` is true of all times but the last, in order."""
        return self._content[self._numbers[register]]

    @property
    def has_references(self) -> bool:
        """Whether an instruction makes some register refer to the memory of another."""
        return bool(self._referred)

    def is_gapless(self, register: SSAValue) -> bool:
        """Whether a register's memory is needed throughout its interval."""
        return len(self._needed[self._numbers[register]]) <= 1

    def interfere(self, one: SSAValue, other: SSAValue) -> bool:
        """Whether the memory of one register is written while that of the other is needed.

        Both may be needed at one place without that: where branches join, a register refers to the memory of
        one branch or of the other.
        """
        a, b = self._numbers[one], self._numbers[other]
        return self._is_needed_when(self._written[a], b) or self._is_needed_when(self._written[b], a)

    def _is_needed_when(self, times: list[int], root: int) -> bool:
        return any(needed.first <= time <= needed.last for time in times for needed in self._needed[root])


class _Parts:
    """The bytes of a register that have been written."""

    def __init__(self) -> None:
        self.ranges: list[Range] = []
        self.first: int | None = None
        """The instruction that writes the first part."""
        self.block: Block | None = None

    def access(self, place: int, op: Instruction, register: SSAValue, writes: bool) -> bool:
        """Note an access. Whether it is one to what the block has written."""
        if self.block is None:
            self.block = op.parent
        if op.parent is not self.block:
            return False
        extent = extent_of(register)
        if writes:
            if self.first is None:
                self.first = place
            self.ranges = _joined([*self.ranges, (extent.first, extent.end)])
            return True
        return any(first <= extent.first and extent.end <= end for first, end in self.ranges)


def _has_bytes(register: SSAValue) -> bool:
    """Whether a view shows the bytes that its type says."""
    owner = register.owner
    return type(owner) is ViewOp and owner.is_static


def _joined(ranges: list[Range]) -> list[Range]:
    joined: list[Range] = []
    for first, end in sorted(ranges):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((first, end))
    return joined


def _merged(intervals: list[LiveInterval], gap: int) -> list[LiveInterval]:
    """The same times in order, in as few intervals as there are that lie more than `gap` apart."""
    if len(intervals) < 2:
        return intervals
    merged: list[LiveInterval] = []
    for interval in sorted(intervals):
        if merged and interval.first <= merged[-1].last + gap:
            if interval.last > merged[-1].last:
                merged[-1] = LiveInterval(merged[-1].first, interval.last)
        else:
            merged.append(interval)
    return merged


def _refer(roots: Iterable[int], references: References) -> set[int]:
    """The roots whose memory others refer to."""
    found: set[int] = set()
    for root in roots:
        found |= references.get(root, {root})
    return found


def _after(access: _Access, before: References) -> References:
    """Aliases of roots after an instruction."""
    if not access.bound:
        return before
    return before | dict.fromkeys(access.bound, frozenset(_refer((access.source,), before)))


def _successors(block: Block) -> Iterable[Block]:
    last = block.last_op
    return last.successors if isinstance(last, JumpOp | JumpFalseOp) else ()
