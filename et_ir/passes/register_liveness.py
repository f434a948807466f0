"""When the memory of each register of a plan is needed.

Times are positions in the plan's text: 0 is before the first instruction, where inputs are set, instruction k
has time k + 1, and the return comes last. Live ranges are found by backward data flow over the blocks (Aho,
Lam, Sethi, Ullman, "Compilers", §9.2.5) and are given as the interval that covers them, so that a buffer that
is live around a loop is live in all of it.

Registers that share memory are one *root*: a view belongs to the register it views. A register without memory
of its own, which a move or a view at run time makes refer to that of others, stands for all that it may refer
to. A kernel writes the whole of its out arguments, and before that their content is not needed; what is
written in place is needed before as well.
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
    """What an instruction does to roots, as bit sets."""

    uses: int = 0
    writes: int = 0
    kills: int = 0


class Liveness:
    """Live ranges of a plan's registers."""

    def __init__(self, plan: PlanOp):
        self.plan = plan
        self.registers = plan.registers
        self.instructions = plan.instructions
        self.times: dict[Instruction, int] = {op: time + 1 for time, op in enumerate(self.instructions)}
        self.end = len(self.instructions)
        self._numbers: dict[SSAValue, int] = {}
        self._roots: list[SSAValue] = []
        self._targets: dict[SSAValue, int] = {}
        self._resolve()
        self._first: list[int] = [self.end + 1] * len(self._roots)
        self._last: list[int] = [-1] * len(self._roots)
        self.live_at_entry: list[SSAValue] = []
        """Registers whose content from before the plan is read."""
        self._flow()

    # -- what registers refer to -----------------------------------------------------------------------

    def _bit(self, register: SSAValue) -> int:
        root = root_of(register)
        number = self._numbers.get(root)
        if number is None:
            number = self._numbers[root] = len(self._roots)
            self._roots.append(root)
        return 1 << number

    def _resolve(self) -> None:
        """Which roots the content of each register may lie in."""
        for op in self.registers:
            # A reference has no memory of its own, but it is written and read like the rest.
            self._targets[op.result] = self._bit(op.result)
        links = [(op.source, op.target) for op in self.instructions if isinstance(op, MoveOp)]
        for op in self.instructions:
            if isinstance(op, KernelCallOp) and op.key == ET_VIEW and op.inputs:
                links.extend((op.inputs[0], register) for register in op.returned)
        changed = True
        while changed:
            changed = False
            for source, target in links:
                merged = self._targets[target] | self._targets[source]
                if merged != self._targets[target]:
                    self._targets[target] = merged
                    changed = True
        # Views at run time refer to what their base does.
        for op in self.registers:
            if isinstance(op, ViewOp):
                self._targets[op.result] |= self._targets[root_of(op.result)]

    def _refers(self, registers: Iterable[SSAValue]) -> int:
        found = 0
        for register in registers:
            found |= self._targets[register]
        return found

    def _facts(self, op: Instruction) -> _Facts:
        facts = _Facts(self._refers(op.reads), self._refers(op.writes))
        for register in _overwritten(op):
            targets = self._targets[register]
            # Only a register that is sure to be what is written, and all of it, needs no content before.
            if targets == self._bit(register) and not isinstance(register.owner, ViewOp):
                facts.kills |= targets
        return facts

    # -- flow ------------------------------------------------------------------------------------------

    def _flow(self) -> None:
        blocks = self.plan.blocks
        facts = {op: self._facts(op) for op in self.instructions}
        bodies = {block: [op for op in block.ops if isinstance(op, INSTRUCTIONS)] for block in blocks}
        live_in: dict[Block, int] = dict.fromkeys(blocks, 0)
        changed = True
        while changed:
            changed = False
            for block in reversed(blocks):
                live = self._live_out(block, live_in)
                for op in reversed(bodies[block]):
                    fact = facts[op]
                    live = (live & ~fact.kills) | fact.uses
                if live != live_in[block]:
                    live_in[block] = live
                    changed = True
        for block in blocks:
            self._cover(bodies[block], facts, self._live_out(block, live_in))
        entry = live_in[blocks[0]]
        self._touch(entry, 0)
        for op in self.registers:
            if isinstance(op, InputOp):
                self._touch(self._bit(op.result), 0)
            elif isinstance(op, StateOp):
                self._touch(self._bit(op.result), 0)
                self._touch(self._bit(op.result), self.end)
        self.live_at_entry.extend(register for register in self._roots if entry & self._bit(register))

    def _live_out(self, block: Block, live_in: dict[Block, int]) -> int:
        last = block.last_op
        live = 0
        if isinstance(last, JumpOp | JumpFalseOp):
            for successor in last.successors:
                live |= live_in[successor]
        return live

    def _cover(self, body: list[Instruction], facts: dict[Instruction, _Facts], live: int) -> None:
        """Widen the intervals of what is live in a block; `live` is what is live behind it."""
        if not body:
            return
        self._touch(live, self.times[body[-1]])
        for op in reversed(body):
            fact, time = facts[op], self.times[op]
            before = (live & ~fact.kills) | fact.uses
            # What stays live needs no look here: it is seen where its range ends.
            self._touch((before ^ live) | fact.uses | fact.writes, time)
            live = before
        self._touch(live, self.times[body[0]])

    def _touch(self, roots: int, time: int) -> None:
        while roots:
            lowest = roots & -roots
            number = lowest.bit_length() - 1
            self._first[number] = min(self._first[number], time)
            self._last[number] = max(self._last[number], time)
            roots ^= lowest

    # -- results ---------------------------------------------------------------------------------------

    def roots(self) -> Iterator[RegisterOp]:
        """The declarations that are roots, in order."""
        for op in self.registers:
            if not isinstance(op, ViewOp | ReferenceOp):
                yield op

    def interval(self, register: SSAValue) -> Interval | None:
        """When a register's memory is needed; `None` if never."""
        number = self._numbers[root_of(register)]
        first, last = self._first[number], self._last[number]
        return None if last < 0 else Interval(first, last)


def _overwritten(op: Instruction) -> list[SSAValue]:
    """Registers whose whole content an instruction replaces without reading it."""
    match op:
        case KernelCallOp():
            written = [*op.outs, *op.returned]
        case DelegateCallOp():
            written = list(op.outs)
        case _:
            return []
    read = set(op.inputs)
    return [register for register in written if register not in read]
