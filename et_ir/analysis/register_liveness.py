"""When the memory of each register of a plan is needed.

Times are positions in the plan's text: 0 is before the first instruction, where inputs are set, instruction k
has time k + 1, and the return comes last. Live ranges are found by backward data flow over the blocks (Aho,
Lam, Sethi, Ullman, "Compilers", §9.2.5) and are given as the interval that covers them, so that a buffer that
is live around a loop is live in all of it.

Registers that share memory are one *root*: a view belongs to the register it views. A move, or a view at run
time, makes a root refer to the memory of another; which ones a root may refer to at each place is found by
forward data flow. A kernel writes the whole of its out arguments, and before that their content is not
needed; what is written in place is needed before as well. Kernels that write parts of a register, which nothing reads
before they have, do together what a kernel does that writes the whole.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from xdsl.ir import Block, SSAValue

from et_ir.analysis.part_writes import first_parts
from et_ir.dialects.executorch import (
    INSTRUCTIONS,
    DelegateCallOp,
    InputOp,
    Instruction,
    JumpFalseOp,
    JumpOp,
    KernelCallOp,
    MoveOp,
    PlanOp,
    ReferenceOp,
    RegisterOp,
    ReturnOp,
    StateOp,
    ViewOp,
)
from et_ops.calls import ET_VIEW

__all__ = ["Interval", "Liveness", "root_of"]


def root_of(register: SSAValue) -> SSAValue:
    """The register whose memory a register has: its own, or for a view that of its base."""
    owner = register.owner
    while isinstance(owner, ViewOp):
        register = owner.base
        owner = register.owner
    return register


@dataclass(frozen=True, slots=True)
class Interval:
    """Times from `first` to `last`, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Facts:
    """What an instruction does to roots; those in `moved` refer to what `source` refers to afterwards."""

    uses: frozenset[int]
    writes: frozenset[int]
    kills: frozenset[int]
    source: int = -1
    moved: frozenset[int] = frozenset()


References = dict[int, frozenset[int]]
"""The roots whose memory a root may refer to; one that is not there refers to its own."""


class Liveness:
    """Live ranges of a plan's registers. O(operands) for a plan without jumps."""

    def __init__(self, plan: PlanOp):
        self.plan = plan
        self.registers = plan.registers
        self.instructions = plan.instructions
        self.times: dict[Instruction, int] = {op: time + 1 for time, op in enumerate(self.instructions)}
        self.end = len(self.instructions)
        self._roots: list[SSAValue] = []
        self._numbers: dict[SSAValue, int] = {}
        for op in self.registers:
            if not isinstance(op, ViewOp):
                self._numbers[op.result] = len(self._roots)
                self._roots.append(op.result)
        for op in self.registers:
            if isinstance(op, ViewOp):
                self._numbers[op.result] = self._numbers[root_of(op.result)]
        self._facts = {op: self._facts_of(op) for op in self.instructions}
        targets = frozenset[int]().union(*(facts.moved for facts in self._facts.values()))
        redirected = [self._roots[root] for root in targets]
        for op, parts in first_parts(self.registers, self.instructions, redirected).items():
            self._facts[op] = replace(self._facts[op], kills=self._facts[op].kills | self._set(parts))
        self._bodies = [[op for op in block.ops if isinstance(op, INSTRUCTIONS)] for block in plan.blocks]
        self._needed: list[list[Interval]] = [[] for _ in self._roots]
        """When the memory of each root is needed: intervals with gaps between them, in order."""
        self._content: list[list[Interval]] = [[] for _ in self._roots]
        """When what each root holds is needed, in order; of each an interval reaches from a write to the last read."""
        self._written: list[list[int]] = [[] for _ in self._roots]
        self._kept = frozenset(
            self._numbers[op.result]
            for op in self.registers
            if isinstance(op, StateOp) or (isinstance(op, InputOp) and op.aliased is not None)
        )
        """The roots whose content is needed when the plan has ended."""
        self._targets = targets
        self.live_at_entry: list[SSAValue] = []
        """Registers whose content from before the plan is read."""
        self._flow()

    def _set(self, registers: Iterable[SSAValue]) -> frozenset[int]:
        return frozenset(self._numbers[register] for register in registers)

    def _facts_of(self, op: Instruction) -> _Facts:
        # What a static view writes is a part of its root, perhaps.
        kills = self._set(r for r in _overwritten(op) if not isinstance(r.owner, ViewOp))
        facts = (self._set(op.reads), self._set(op.writes), kills)
        if isinstance(op, MoveOp):
            return _Facts(*facts, self._numbers[op.source], frozenset({self._numbers[op.target]}))
        if isinstance(op, KernelCallOp) and op.key == ET_VIEW and op.inputs:
            # A view at run time of what it is a static view of changes nothing.
            moved = self._set(r for r in op.returned if not isinstance(r.owner, ViewOp))
            return _Facts(*facts, self._numbers[op.inputs[0]], moved)
        return _Facts(*facts)

    # -- flow

    def _flow(self) -> None:
        blocks = self.plan.blocks
        live_in = self._live_in(blocks)
        referred = self._references(blocks)
        for block, body in zip(blocks, self._bodies, strict=True):
            self._cover(body, self._live_out(block, live_in), referred)
        for content, needed in zip(self._content, self._needed, strict=True):
            lasting = (interval for interval in needed if interval.first < interval.last)
            content.extend(sorted(lasting, key=lambda interval: interval.first))
        entry = live_in[blocks[0]]
        for root in entry:
            self._need(root, 0, 0)
        for op in self.registers:
            if isinstance(op, InputOp | StateOp):
                root = self._numbers[op.result]
                self._need(root, 0, self.end if isinstance(op, StateOp) else 0)
                self._written[root].append(0)
        for intervals in self._needed:
            intervals[:] = _merged(intervals)
        self.live_at_entry.extend(self._roots[root] for root in sorted(entry))

    def _live_in(self, blocks: list[Block]) -> dict[Block, set[int]]:
        """The roots whose content is needed at the start of each block."""
        live_in: dict[Block, set[int]] = {block: set() for block in blocks}
        changed = True
        while changed:
            changed = False
            for block, body in zip(reversed(blocks), reversed(self._bodies), strict=True):
                live = self._live_out(block, live_in)
                for op in reversed(body):
                    facts = self._facts[op]
                    live -= facts.kills
                    live |= facts.uses
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

    def _references(self, blocks: list[Block]) -> dict[Instruction, References]:
        """What each root that is moved to may refer to before each instruction."""
        if not self._targets:
            return {}
        incoming: dict[Block, References] = {
            block: dict.fromkeys(self._targets, frozenset()) for block in blocks
        }
        incoming[blocks[0]] = {root: frozenset({root}) for root in self._targets}
        before: dict[Instruction, References] = {}
        changed = True
        while changed:
            changed = False
            for block, body in zip(blocks, self._bodies, strict=True):
                current = incoming[block]
                for op in body:
                    before[op] = current
                    current = _after(self._facts[op], current)
                for successor in _successors(block):
                    merged = {root: refers | incoming[successor][root] for root, refers in current.items()}
                    if merged != incoming[successor]:
                        incoming[successor] = merged
                        changed = True
        return before

    def _cover(
        self, body: list[Instruction], live: set[int], referred: dict[Instruction, References]
    ) -> None:
        """Note when roots are needed in a block; `live` are those that are behind it."""
        if not body:
            return
        moving = live & self._targets
        since = dict.fromkeys(live - self._targets, self.times[body[-1]])
        for op in reversed(body):
            facts, time = self._facts[op], self.times[op]
            references = referred.get(op, {})
            for root in _refer(moving, _after(facts, references)):
                self._need(root, time, time)
            for root in facts.kills & since.keys():
                self._need(root, time, since.pop(root))
            for root in facts.uses - self._targets:
                since.setdefault(root, time)
            moving = (moving - facts.kills) | (facts.uses & self._targets)
            for root in _refer(moving, references):
                self._need(root, time, time)
            for root in _refer(facts.writes - facts.moved, references):
                self._need(root, time, time)
                self._written[root].append(time)
        first = self.times[body[0]]
        for root, time in since.items():
            self._need(root, first, time)

    def _need(self, root: int, first: int, last: int) -> None:
        self._needed[root].append(Interval(first, last))

    # -- results

    def roots(self) -> Iterator[RegisterOp]:
        """The declarations that may have memory of their own, in order."""
        for op in self.registers:
            if not isinstance(op, ViewOp | ReferenceOp):
                yield op

    def interval(self, register: SSAValue) -> Interval | None:
        """The interval that covers all times at which a register's own memory is needed; `None` if it never
        is.
        """
        needed = self._needed[self._numbers[register]]
        return Interval(needed[0].first, needed[-1].last) if needed else None

    def is_needed_after(self, register: SSAValue, time: int) -> bool:
        """Whether what a register holds after the instruction at a time is needed: it is read before it is written
        as a whole, or is state, or an aliased input, at the end. Not to be asked for registers that moves, or views
        at run time, have to do with.
        """
        content = self._content[self._numbers[register]]
        at = bisect_right(content, time, key=lambda interval: interval.first) - 1
        return at >= 0 and content[at].last > time

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


def _merged(intervals: list[Interval]) -> list[Interval]:
    """The same times in as few intervals as there are gaps between, and one."""
    merged: list[Interval] = []
    for interval in sorted(intervals, key=lambda interval: (interval.first, interval.last)):
        if merged and interval.first <= merged[-1].last + 1:
            merged[-1] = Interval(merged[-1].first, max(merged[-1].last, interval.last))
        else:
            merged.append(interval)
    return merged


def _refer(roots: Iterable[int], references: References) -> set[int]:
    """The roots whose memory others refer to."""
    found: set[int] = set()
    for root in roots:
        found |= references.get(root, {root})
    return found


def _after(facts: _Facts, before: References) -> References:
    """What roots refer to behind an instruction."""
    if not facts.moved:
        return before
    return before | dict.fromkeys(facts.moved, frozenset(_refer((facts.source,), before)))


def _successors(block: Block) -> Iterable[Block]:
    last = block.last_op
    return last.successors if isinstance(last, JumpOp | JumpFalseOp) else ()


def _overwritten(op: Instruction) -> list[SSAValue]:
    """Registers whose whole content an instruction replaces without reading it."""
    match op:
        case KernelCallOp():
            written = [*op.outs, *op.returned]
        case DelegateCallOp():
            written = list(op.outs)
        case MoveOp():
            return [op.target]
        case _:
            return []
    read = set(op.reads)
    return [register for register in written if register not in read]
