"""The order between the chains of a plan, and their memory accesses.

An instruction touches bytes of memory, and what is no memory but may not be touched by two at a time either: delegates,
as backends may share memory between theirs, the random generator, and what operators of unknown libraries hold. Two
touches conflict if they have bytes in common and one of them changes them. Chains whose touches conflict have to be
ordered.

What a move or a view at run time makes refer to the memory of another is taken for all that it may ever refer to.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from xdsl.ir import SSAValue

from et_ir.analysis.aliasing import extent_of, root_of, size_of
from et_ir.analysis.liveness import LiveInterval
from et_ir.dialects.executorch import (
    ChainOp,
    ConstantOp,
    DelegateCallOp,
    Instruction,
    KernelCallOp,
    MemoryRegisterOp,
    PlanOp,
    ReturnOp,
    StateOp,
    is_instruction,
)
from et_ops.library import hidden_state

__all__ = ["ChainTimes", "Chains", "Race", "Touch", "Touches", "order_of", "races"]

_DELEGATES: Final = "a delegate"


class Touch(NamedTuple):
    """Bytes of a resource that an instruction reads, or `writes`."""

    resource: object
    """An arena, by number; a register without a place in one; or the name of what is no memory."""
    first: int
    end: int
    writes: bool
    register: SSAValue | None = None
    """The register by which it does."""

    def conflicts(self, other: Touch) -> bool:
        """Whether the two may not happen at the same time."""
        return (
            self.resource == other.resource
            and (self.writes or other.writes)
            and self.first < other.end
            and other.first < self.end
        )


class Touches:
    """What the instructions of a plan touch. With `planned`, registers that have a place in an arena are bytes of that,
    else each is memory of its own.
    """

    def __init__(self, plan: PlanOp, *, planned: bool):
        self._planned = planned
        self._classes: dict[SSAValue, list[SSAValue]] = {}
        """The storages that registers which are bound may refer to, by each of them."""
        for op in plan.instructions:
            source = op.bound_to
            if source is not None:
                for register in op.bound:
                    self._join(root_of(register), root_of(source))

    def _join(self, one: SSAValue, other: SSAValue) -> None:
        members = self._classes.setdefault(one, [one])
        others = self._classes.setdefault(other, [other])
        if members is not others:
            members += others
            for register in others:
                self._classes[register] = members

    def of(self, op: Instruction) -> Iterator[Touch]:
        """What an instruction touches."""
        for registers, writes in ((op.reads, False), (op.writes, True)):
            for register in registers:
                yield from self._memory(register, writes)
        shared = _DELEGATES if isinstance(op, DelegateCallOp) else None
        if isinstance(op, KernelCallOp):
            shared = hidden_state(op.key)
        if shared is not None:
            yield Touch(shared, 0, 1, True)

    def _memory(self, register: SSAValue, writes: bool) -> Iterator[Touch]:
        root, first, end = extent_of(register)
        members = self._classes.get(root)
        if members is None:
            yield self._storage(root, first, end, writes, register)
            return
        for member in members:
            yield self._storage(member, 0, size_of(member), writes, register)
        # Which of them it refers to is a fact that an instruction may change, too.
        yield Touch(root, 0, 1, writes, register)

    def _storage(self, root: SSAValue, first: int, end: int, writes: bool, register: SSAValue) -> Touch:
        owner = root.owner
        if first == end:
            return Touch(root, 0, 1, writes, register)
        if self._planned and isinstance(owner, MemoryRegisterOp) and owner.place is not None:
            arena, offset = owner.place
            return Touch(arena, offset + first, offset + end, writes, register)
        if isinstance(owner, StateOp | ConstantOp):
            return Touch(f"@{owner.key}", first, end, writes, register)
        return Touch(root, first, end, writes, register)


class Chains:
    """The chains of a plan in the order of the text, and which of them end before others begin."""

    def __init__(self, plan: PlanOp):
        self.plan = plan
        self.ops: list[ChainOp] = []
        self.instructions: list[list[Instruction]] = []
        """By chain; the return belongs to none."""
        self._starts: list[int] = []
        time = 0
        for block in plan.blocks:
            for op in block.ops:
                if type(op) is ChainOp:
                    self.ops.append(op)
                    self.instructions.append([])
                    self._starts.append(time + 1)
                elif is_instruction(op):
                    time += 1
                    if not isinstance(op, ReturnOp) and self.instructions:
                        self.instructions[-1].append(op)
        self.end = time
        """The time of the return, as `Liveness` has times."""
        self.waits: list[tuple[int, ...]] = order_of([(op.inputs, op.outs) for op in self.ops])
        """The chains that each waits for itself."""
        self.before: list[int] = []
        """The chains that have ended when each begins, as a set of bits."""
        for waits in self.waits:
            before = 0
            for one in waits:
                before |= self.before[one] | 1 << one
            self.before.append(before)

    @property
    def concurrent(self) -> bool:
        """Whether some chains may run at the same time."""
        return any(self.before[at] != (1 << at) - 1 for at in range(len(self.ops)))

    def ordered(self, one: int, other: int) -> bool:
        """Whether one of two chains ends before the other begins."""
        return one == other or bool(self.before[max(one, other)] >> min(one, other) & 1)

    def at(self, time: int) -> int:
        """The chain of the instruction at a time: -1 for the time before all of them."""
        return bisect_right(self._starts, time) - 1

    def times(self, chain: int) -> tuple[int, int]:
        """The first and the last time of a chain."""
        following = self._starts[chain + 1] if chain + 1 < len(self._starts) else self.end
        return self._starts[chain], following - 1


class Race(NamedTuple):
    """Two instructions of chains that may run at the same time, which touch the same bytes."""

    one: Instruction
    other: Instruction
    first: Touch
    second: Touch


def races(chains: Chains, touches: Touches) -> Iterator[Race]:
    """Races of a plan: of each pair of chains and each resource the first, in the order of the text."""
    by_resource: dict[object, list[tuple[Touch, int, Instruction]]] = {}
    for number, body in enumerate(chains.instructions):
        for op in body:
            for touch in touches.of(op):
                by_resource.setdefault(touch.resource, []).append((touch, number, op))
    found: dict[tuple[object, int, int], Race] = {}
    for resource, entries in by_resource.items():
        if not any(touch.writes for touch, _, _ in entries):
            continue
        # In the order of their first bytes, so that those that have bytes in common are near each other.
        by_place = sorted(entries, key=lambda entry: (entry[0].first, entry[0].end))
        for position, (touch, number, op) in enumerate(by_place):
            for other, behind, user in by_place[position + 1 :]:
                if other.first >= touch.end:
                    break
                key = resource, min(number, behind), max(number, behind)
                if key not in found and not chains.ordered(number, behind) and touch.conflicts(other):
                    race = Race(op, user, touch, other)
                    found[key] = race if number < behind else Race(user, op, other, touch)
    places = {op: place for place, op in enumerate(op for body in chains.instructions for op in body)}
    pairs: dict[tuple[Instruction, Instruction], Race] = {}
    for race in found.values():
        pairs.setdefault((race.one, race.other), race)
    yield from sorted(pairs.values(), key=lambda race: (places[race.other], places[race.one]))


class ChainTimes:
    """When registers are needed, by chains. The caller, who gives inputs and reads outputs, counts as a chain before
    all others and one behind them: the numbers of the chains are shifted by one.
    """

    def __init__(self, chains: Chains):
        self._chains = chains
        count = len(chains.ops)
        self.before = [0, *(before << 1 | 1 for before in chains.before), (1 << count + 1) - 1]
        """The chains that have ended when each begins, as a set of bits."""

    def times(self, needed: Sequence[LiveInterval]) -> dict[int, tuple[int, int]]:
        """By chain, the first and the last time at which a register is needed, of the intervals of all times."""
        found: dict[int, tuple[int, int]] = {}
        for first, last in needed:
            for number in range(self._number(first), self._number(last) + 1):
                start, end = self._range(number)
                if end < start:
                    continue  # an empty chain
                start, end = max(start, first), min(end, last)
                known = found.get(number, (start, end))
                found[number] = min(known[0], start), max(known[1], end)
        return found

    def last(self, needed: Sequence[LiveInterval]) -> int:
        """The last time at which a register is needed in any order of the chains that is allowed, if what it may not
        share memory with before is taken to last as long as that says.
        """
        numbers = self.times(needed)
        last = needed[-1].last
        for other in range(len(self.before) - 2, 0, -1):
            start, end = self._range(other)
            if end < start:
                continue
            if end <= last:
                break
            if any(number < other and not self.before[other] >> number & 1 for number in numbers):
                return end
        return last

    def _number(self, time: int) -> int:
        return len(self.before) - 1 if time >= self._chains.end else self._chains.at(time) + 1

    def _range(self, number: int) -> tuple[int, int]:
        if number == 0:
            return 0, 0
        if number == len(self.before) - 1:
            return self._chains.end, self._chains.end
        return self._chains.times(number - 1)


def order_of(chains: Sequence[tuple[Sequence[SSAValue], Sequence[SSAValue]]]) -> list[tuple[int, ...]]:
    """The chains that each chain waits for, of inputs and outs of chains in their order: those before it that have an
    input of it among their outs, or the one before it where no chain has any of either.
    """
    if not any(inputs or outs for inputs, outs in chains):
        return [(at - 1,) if at else () for at in range(len(chains))]
    made: dict[SSAValue, list[int]] = {}
    found: list[tuple[int, ...]] = []
    for at, (inputs, outs) in enumerate(chains):
        found.append(tuple(sorted({one for register in inputs for one in made.get(register, ())})))
        for register in dict.fromkeys(outs):
            made.setdefault(register, []).append(at)
    return found
