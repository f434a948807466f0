"""When the memory of each register of a plan is needed.

Times are positions in the plan's text: 0 is before the first instruction, where inputs are set, instruction k
has time k + 1, and the return comes last. Live ranges are found by backward data flow over the blocks (Aho,
Lam, Sethi, Ullman, "Compilers", §9.2.5) and are given as the interval that covers them, so that a buffer that
is live around a loop is live in all of it.

Registers that share memory are one *root*: a view belongs to the register it views. A move, or a view at run
time, makes a root refer to the memory of another; which ones a root may refer to at each place is found by
forward data flow. A kernel writes the whole of its out arguments, and before that their content is not
needed; what is written in place is needed before as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

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
    StateOp,
    ViewOp,
)
from et_ir.dialects.executorch.operators import ET_VIEW

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

    def overlaps(self, other: Interval) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(slots=True)
class _Facts:
    """What an instruction does to roots, as bit sets; `moved` are those that refer to what `source` refers to
    afterwards.
    """

    uses: int = 0
    writes: int = 0
    kills: int = 0
    source: int = 0
    moved: int = 0


class Liveness:
    """Live ranges of a plan's registers."""

    def __init__(self, plan: PlanOp):
        self.plan = plan
        self.registers = plan.registers
        self.instructions = plan.instructions
        self.times: dict[Instruction, int] = {op: time + 1 for time, op in enumerate(self.instructions)}
        self.end = len(self.instructions)
        self._roots: list[SSAValue] = []
        self._bits: dict[SSAValue, int] = {}
        for op in self.registers:
            if not isinstance(op, ViewOp):
                self._bits[op.result] = 1 << len(self._roots)
                self._roots.append(op.result)
        for op in self.registers:
            if isinstance(op, ViewOp):
                self._bits[op.result] = self._bits[root_of(op.result)]
        self._facts = {op: self._facts_of(op) for op in self.instructions}
        self._bodies = [[op for op in block.ops if isinstance(op, INSTRUCTIONS)] for block in plan.blocks]
        self._needed = [0] * len(self._roots)
        """The times, as bit sets, at which the memory of each root is needed."""
        self._written = [0] * len(self._roots)
        """Those at which it is written."""
        targets = 0
        for facts in self._facts.values():
            targets |= facts.moved
        self._targets = list(_bits(targets))
        self.live_at_entry: list[SSAValue] = []
        """Registers whose content from before the plan is read."""
        self._flow()

    def _set(self, registers: Iterable[SSAValue]) -> int:
        found = 0
        for register in registers:
            found |= self._bits[register]
        return found

    def _facts_of(self, op: Instruction) -> _Facts:
        facts = _Facts(self._set(op.reads), self._set(op.writes))
        # What a static view writes is a part of its root, perhaps.
        facts.kills = self._set(r for r in _overwritten(op) if not isinstance(r.owner, ViewOp))
        if isinstance(op, MoveOp):
            facts.source, facts.moved = self._bits[op.source], self._bits[op.target]
        elif isinstance(op, KernelCallOp) and op.key == ET_VIEW and op.inputs:
            # A view at run time of what it is a static view of changes nothing.
            facts.source = self._bits[op.inputs[0]]
            facts.moved = self._set(r for r in op.returned if not isinstance(r.owner, ViewOp))
        return facts

    # -- flow

    def _flow(self) -> None:
        blocks = self.plan.blocks
        live_in: dict[Block, int] = dict.fromkeys(blocks, 0)
        changed = True
        while changed:
            changed = False
            for block, body in zip(reversed(blocks), reversed(self._bodies), strict=True):
                live = _live_out(block, live_in)
                for op in reversed(body):
                    facts = self._facts[op]
                    live = (live & ~facts.kills) | facts.uses
                if live != live_in[block]:
                    live_in[block] = live
                    changed = True
        referred = self._references()
        for block, body in zip(blocks, self._bodies, strict=True):
            self._cover(body, _live_out(block, live_in), referred)
        entry = live_in[blocks[0]]
        self._touch(entry, 0, {})
        for op in self.registers:
            bit = self._bits[op.result]
            if isinstance(op, InputOp | StateOp):
                self._need(bit, 0, self.end if isinstance(op, StateOp) else 0)
                self._written[bit.bit_length() - 1] |= 1
        self.live_at_entry.extend(register for register in self._roots if entry & self._bits[register])

    def _references(self) -> dict[Instruction, dict[int, int]]:
        """What each root that is moved to may refer to before each instruction; of the others nothing is
        said.
        """
        if not self._targets:
            return {}
        blocks = self.plan.blocks
        entry = {bit: bit for bit in self._targets}
        incoming: dict[Block, dict[int, int]] = {block: dict.fromkeys(self._targets, 0) for block in blocks}
        incoming[blocks[0]] = entry
        before: dict[Instruction, dict[int, int]] = {}
        changed = True
        while changed:
            changed = False
            for block, body in zip(blocks, self._bodies, strict=True):
                current = dict(incoming[block])
                for op in body:
                    before[op] = dict(current)
                    facts = self._facts[op]
                    if facts.moved:
                        current.update(dict.fromkeys(_bits(facts.moved), _refer(facts.source, current)))
                for successor in _successors(block):
                    target = incoming[successor]
                    for bit, refers in current.items():
                        if refers & ~target[bit]:
                            target[bit] |= refers
                            changed = True
        return before

    def _cover(self, body: list[Instruction], live: int, referred: dict[Instruction, dict[int, int]]) -> None:
        """Note when roots are needed in a block; `live` is what is live behind it."""
        if not body:
            return
        moving = 0
        for bit in self._targets:
            moving |= bit
        first, end = self.times[body[0]], self.times[body[-1]]
        since = dict.fromkeys(_bits(live & ~moving), end)
        for op in reversed(body):
            facts, time = self._facts[op], self.times[op]
            references = referred.get(op, {})
            before = (live & ~facts.kills) | facts.uses
            for bit in _bits((before & ~live) & ~moving):
                since[bit] = time
            for bit in _bits((live & ~before) & ~moving):
                self._need(bit, time, since.pop(bit))
            self._touch((facts.uses | facts.writes) & ~facts.moved, time, references)
            for bit in _bits(_refer(facts.writes & ~facts.moved, references)):
                self._written[bit.bit_length() - 1] |= 1 << time
            if moving:
                # What these refer to changes from one instruction to the next.
                self._touch(live & moving, time, _after(facts, references))
                self._touch(before & moving, time, references)
            live = before
        for bit, time in since.items():
            self._need(bit, first, time)

    def _touch(self, roots: int, time: int, references: dict[int, int]) -> None:
        for bit in _bits(_refer(roots, references) if references else roots):
            self._need(bit, time, time)

    def _need(self, bit: int, first: int, last: int) -> None:
        self._needed[bit.bit_length() - 1] |= (1 << (last + 1)) - (1 << first)

    # -- results

    def roots(self) -> Iterator[RegisterOp]:
        """The declarations that may have memory of their own, in order."""
        for op in self.registers:
            if not isinstance(op, ViewOp | ReferenceOp):
                yield op

    def interfere(self, one: SSAValue, other: SSAValue) -> bool:
        """Whether the memory of one register is written while that of the other is needed.

        Both may be needed at one place without that: where branches join, a register refers to the memory of
        one branch or of the other.
        """
        a, b = (self._bits[register].bit_length() - 1 for register in (one, other))
        return bool(self._written[a] & self._needed[b] or self._written[b] & self._needed[a])

    def is_gapless(self, register: SSAValue) -> bool:
        """Whether a register's memory is needed throughout its interval."""
        needed = self._needed[self._bits[register].bit_length() - 1]
        return needed & (needed + (needed & -needed)) == 0

    def interval(self, register: SSAValue) -> Interval | None:
        """The interval that covers all times at which a register's own memory is needed; `None` if it never
        is.
        """
        needed = self._needed[self._bits[register].bit_length() - 1]
        return Interval((needed & -needed).bit_length() - 1, needed.bit_length() - 1) if needed else None


def _bits(roots: int) -> Iterator[int]:
    while roots:
        lowest = roots & -roots
        yield lowest
        roots ^= lowest


def _refer(roots: int, references: dict[int, int]) -> int:
    """The memory that roots refer to."""
    found = 0
    for bit in _bits(roots):
        found |= references.get(bit, bit)
    return found


def _after(facts: _Facts, before: dict[int, int]) -> dict[int, int]:
    """What roots refer to behind an instruction."""
    if not facts.moved:
        return before
    return before | dict.fromkeys(_bits(facts.moved), _refer(facts.source, before))


def _successors(block: Block) -> Iterable[Block]:
    last = block.last_op
    return last.successors if isinstance(last, JumpOp | JumpFalseOp) else ()


def _live_out(block: Block, live_in: dict[Block, int]) -> int:
    live = 0
    for successor in _successors(block):
        live |= live_in[successor]
    return live


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
    read = set(op.inputs)
    return [register for register in written if register not in read]
