"""ByteLiveness verification of arena bytes.

It finds what dies after which instruction, and what is written over too early.

When a register is read for the last time follows from a backward data-flow analysis over the instruction list
(Aho et al., "Compilers", 9.2.5), run twice. Over registers: one that is always written before it is read dies
with its own last use, even if its bytes are someone else's by then, so that a clash shows. A register that is
read without having been written is a view of what others wrote, or state: for these the analysis runs over
bytes, each arena cut at the boundaries of all tensors in it, and what they still need is spared. Bytes that are
read before they are written keep their contents between executions: mutable buffers.

A delegate call lists inputs, then outputs, and does not say how many of each: that is in the blob. Where its format
is not known, the registers at the end that nothing has used before are outputs or views. They count as read, which
spares their bytes, and no clash is derived from what was in them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from et_ops.conventions import is_in_place
from et_schema.delegate_blobs import outputs_of_blob, updates_of_blob
from et_schema.errors import Error, ExecutorchError
from et_schema.program import BackendDelegate, ExecutionPlan, OptionalTensorList, Tensor, TensorList
from et_schema.pte import PteFile
from et_vm.load.instructions import Instruction, call_outputs, changed_tensors
from et_vm.verify.plan import tensor_bytes

# Elements that the sets of an analysis may have, of each kind for all instructions: an eighth of that in bytes. A plan
# of 10,000 instructions and 30,000 values takes half of it.
MAX_STATE = 1 << 30
# Elements that it may go through.
MAX_WORK = 1 << 34


class Range(NamedTuple):
    """Bytes `start` to `end` of an arena, `floating` if they belong to a tensor of floats."""

    memory_id: int
    start: int
    end: int
    floating: bool


class Clash(NamedTuple):
    """Instruction `instruction` (-1: the caller) writes the register `written` over bytes that `needed` still
    needs.
    """

    instruction: int
    written: int
    needed: int


class DelegateWrites(NamedTuple):
    """The values that a delegate writes, of those of its calls: `outputs` at the end, or `None` where that is not
    known, of which `updates`, by number, hold the bytes of an input, and new ones in some places.
    """

    outputs: int | None = None
    updates: Set[int] = frozenset()


def delegate_writes(file: PteFile, delegate: BackendDelegate) -> DelegateWrites:
    """The values that a delegate of a file writes, as far as the format of its blob is known."""
    if delegate.processed is None or id(delegate.processed) in file.malformed:
        return DelegateWrites()
    blob = file.delegate_data(delegate.processed)
    named = file.named_data()
    updates = updates_of_blob(delegate.id, blob, named)
    return DelegateWrites(outputs_of_blob(delegate.id, blob, named), updates.keys())


class ByteLiveness:
    """Live ranges of arena bytes in a plan.

    `dead_after[i]` are the ranges that instruction `i` reads for the last time, `overwritten_by[i]` those that
    it writes without having been given them to read; `state` are those that live from one execution to the
    next, `written_state` the part of them that the plan itself writes or names: its mutable buffers.

    Sets of registers and sets of pieces (cut byte ranges) are integers with a bit for each. There is one for each
    instruction, so a plan in which both are many takes long: ExecutorchError(OutOfResources) when it would be too long.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        instructions: Sequence[Instruction],
        rebound: Set[int],
        delegates: Sequence[DelegateWrites] = (),
    ) -> None:
        """`delegates` says of each delegate of the plan what it writes; of others nothing is known."""
        self._plan = plan
        self._instructions = instructions
        self._rebound = rebound
        self._delegates = delegates
        self._pieces: list[tuple[int, int, int]] = []
        self._work_left = MAX_WORK
        self._own = self._cut()
        if len(instructions) * (len(plan.values) + len(self._pieces)) > MAX_STATE:
            raise self._too_much()
        self._floats = self._float_registers()
        self._sources = self._find_sources()
        outputs = inputs = 0
        for register in plan.outputs:
            outputs |= self._sources[register]
        for register in plan.inputs:
            if register not in rebound:
                inputs |= 1 << register
        reads, writes = self._accesses()
        live_registers, borrowed = self._solve(reads, writes, outputs, inputs)
        self._needed = [live & ~borrowed | read for live, read in zip(live_registers, reads, strict=True)]
        self._borrowed = [read & borrowed for read in reads]
        self._writes, self._inputs, self._outputs = writes, inputs, outputs
        byte_reads = [self._pieces_of(registers & borrowed) for registers in reads]
        byte_writes = [self._pieces_of(registers) for registers in writes]
        named = self._named_pieces()
        live_bytes, state = self._solve(
            byte_reads, byte_writes, self._pieces_of(outputs & borrowed) | named, self._pieces_of(inputs)
        )
        state |= named
        self._borrowed_bytes = [live | read for live, read in zip(live_bytes, byte_reads, strict=True)]
        """Memory needed by registers that are read without having been written, while each instruction runs."""
        self.overwritten_by = [
            self._ranges(self._pieces_of(written & ~read), written)
            for read, written in zip(reads, writes, strict=True)
        ]
        self.dead_after: list[list[Range]] = []
        for at, read in enumerate(reads):
            owners = self._pieces_of(live_registers[at] & ~borrowed)
            dying = self._pieces_of(read & ~live_registers[at] & ~borrowed) | byte_reads[at] & ~owners
            self.dead_after.append(self._ranges(dying & ~live_bytes[at] & ~byte_writes[at], read))
        written = named
        for at, instruction in enumerate(instructions):
            written |= byte_writes[at]
            in_place = instruction.prim is not None and instruction.prim.in_place
            if in_place or instruction.opcode.mnemonic == "delegate":
                written |= self._pieces_of(reads[at])
            elif instruction.opcode.mnemonic == "call":
                for register in changed_tensors(instruction):
                    written |= self._pieces_of(self._sources[register])
        self._state_pieces = state
        self.state = self._ranges(state, 0)
        self.written_state = self._ranges(state & written, 0)

    def _named_pieces(self) -> int:
        """Registers that the file names as state, whatever the plan does with them: other methods, and the caller, may
        read their contents.
        """
        named = 0
        for index, value in enumerate(self._plan.values):
            table = value.val
            if isinstance(table, Tensor) and table.extra_tensor_info is not None:
                named |= self._own[index] if table.extra_tensor_info.fully_qualified_name else 0
        return named

    def clashes(self) -> list[Clash]:
        """Results and inputs planned onto a tensor whose contents are still needed, or onto an operand of
        its own instruction.

        A register that is read without having been written is a view that was planned away, or state. A view has the
        bytes of what it is a view of; this is followed in methods without jumps only.
        """
        found = self._overlaps(-1, self._inputs, self._inputs)
        for at, (written, needed) in enumerate(zip(self._writes, self._needed, strict=True)):
            # What is written in place was needed, and its bytes are those of what it is a view of.
            found += self._overlaps(at, written & ~self._borrowed[at], needed | written)
        if all(instruction.target < 0 for instruction in self._instructions):
            found += self._foreign()
        return list(dict.fromkeys(found))

    def spans(self) -> dict[int, tuple[int, int]]:
        """For each tensor register that is used, the instructions from which and to which its bytes are needed.

        From -1: since the execution started. To the number of instructions: until its caller has read it, or into the
        next execution. With jumps, what lies between is a bound.
        """
        count = len(self._instructions)
        spans = {register: (-1, -1) for register in _members(self._inputs) if self._own[register]}
        for at, (needed, written) in enumerate(zip(self._needed, self._writes, strict=True)):
            for register in _members(needed | written | self._borrowed[at]):
                if self._own[register]:
                    spans[register] = (spans.get(register, (at, at))[0], at)
        for register in _members(self._outputs):
            if self._own[register]:
                spans[register] = (spans.get(register, (-1, -1))[0], count)
        for register, (_, last) in spans.items():
            if not self._own[register] & ~self._state_pieces:
                spans[register] = (-1, max(last, count))
        return spans

    def busiest(self, granule: int = 1) -> dict[int, tuple[int, int]]:
        """For each arena the most bytes that are needed at one time, and the first instruction that needs them; -1 if
        it is the caller who gives inputs, the number of instructions if it is the one who gets outputs.

        Bytes that registers share count once. Ends of tensors count up to the next multiple of `granule`, which all
        offsets are multiples of.
        """
        busiest: dict[int, tuple[int, int]] = {}
        count = len(self._instructions)
        usage = self.usage(granule)
        for moment in (*range(count), -1, count):
            for memory_id, nbytes in usage[moment + 1].items():
                if nbytes > busiest.get(memory_id, (0, 0))[0]:
                    busiest[memory_id] = nbytes, moment
        return busiest

    def usage(self, granule: int = 1) -> list[dict[int, int]]:
        """The bytes of each arena that are needed when inputs are given, by each instruction, and by outputs."""
        sizes = [
            -(-end // granule) * granule - -(-start // granule) * granule for _, start, end in self._pieces
        ]
        known: dict[tuple[int, int], dict[int, int]] = {}
        usage: list[dict[int, int]] = []
        needed = [
            (self._inputs, 0),
            *(
                (needed | written, borrowed)
                for needed, written, borrowed in zip(
                    self._needed, self._writes, self._borrowed_bytes, strict=True
                )
            ),
            (self._outputs, 0),
        ]
        for registers, pieces in needed:
            in_use = known.get((registers, pieces))
            if in_use is None:
                in_use = known[registers, pieces] = {}
                for piece in _members(self._pieces_of(registers) | pieces | self._state_pieces):
                    memory_id = self._pieces[piece][0]
                    in_use[memory_id] = in_use.get(memory_id, 0) + sizes[piece]
            usage.append(in_use)
        return usage

    def _foreign(self) -> list[Clash]:
        """Reads, by a register that others write, of bytes that tensors wrote last of which none has them all, and
        which do not make them up.
        """
        found: list[Clash] = []
        writers: dict[int, Clash] = {}
        extents: set[int] = set()
        fresh: set[int] = set()
        unsure: set[Clash] = set()
        state = 0
        for index, value in enumerate(self._plan.values):
            info = value.val.extra_tensor_info if isinstance(value.val, Tensor) else None
            if info is not None and info.fully_qualified_name and self._own[index]:
                state |= 1 << index
                extents.add(self._own[index])

        def last_writers(register: int) -> list[Clash]:
            pieces = _members(self._own[register])
            return list(dict.fromkeys(writers[piece] for piece in pieces if piece in writers))

        def read(registers: int) -> None:
            for register in _members(registers):
                own = self._own[register]
                if own in extents:
                    last = last_writers(register)
                    if self._makes_up(own, last):
                        continue
                    found.extend(
                        writer._replace(needed=register)
                        for writer in last
                        if writer not in unsure
                        # What covers more may be what the register is a view of a part of, unless it has been
                        # written itself before.
                        and (
                            self._own[writer.written] & own != own
                            or (register in fresh and self._own[writer.written] != own)
                        )
                    )

        for at, (borrowed, written) in enumerate(zip(self._borrowed, self._writes, strict=True)):
            possible = self._unsure[at]
            read(borrowed & ~possible)
            for register in _members(possible):
                extents.add(self._own[register])
                unsure.add(Clash(at, register, register))
                writers.update(
                    (piece, Clash(at, register, register)) for piece in _members(self._own[register])
                )
            for register in _members(written):
                if not borrowed >> register & 1:
                    extents.add(self._own[register])
                    fresh.add(register)
                elif not self._makes_up(self._own[register], last_writers(register)):
                    # What is written in place is part of what it has been a view of before.
                    continue
                writers.update(
                    (piece, Clash(at, register, register)) for piece in _members(self._own[register])
                )
        read(self._outputs & ~self._inputs | state)
        return found

    def _makes_up(self, whole: int, writers: Sequence[Clash]) -> bool:
        """Whether pieces are put together of the smaller extents, within them, that were last written there: those of a
        concatenation, written in place.
        """
        parts = [self._own[writer.written] for writer in writers]
        together = 0
        for part in parts:
            together |= part
        return together == whole and whole not in parts

    def _overlaps(self, at: int, written: int, needed: int) -> list[Clash]:
        """Clashes of a set of registers with others; pairs within both sets once."""
        return [
            Clash(at, one, other)
            for one in _members(written)
            if self._own[one]
            for other in _members(needed & ~(1 << one))
            if self._own[one] & self._own[other] and (one < other or not written >> other & 1)
        ]

    def _cut(self) -> list[int]:
        """Divide the arenas into segments; returns for each register the set of its segments as bits."""
        spans: list[tuple[int, int, int] | None] = []
        edges: dict[int, set[int]] = {}
        for value in self._plan.values:
            table = value.val
            span = None
            if isinstance(table, Tensor) and table.allocation_info is not None:
                allocation = table.allocation_info
                start = allocation.memory_offset_high << 32 | allocation.memory_offset_low
                span = (allocation.memory_id, start, start + tensor_bytes(table))
                edges.setdefault(allocation.memory_id, set()).update(span[1:])
            spans.append(span)
        first: dict[int, int] = {}
        cuts: dict[int, list[int]] = {}
        for memory_id, points in sorted(edges.items()):
            ordered = cuts[memory_id] = sorted(points)
            first[memory_id] = len(self._pieces)
            self._pieces += [(memory_id, start, end) for start, end in pairwise(ordered)]
        own: list[int] = []
        for span in spans:
            if span is None:
                own.append(0)
                continue
            memory_id, start, end = span
            base, points = first[memory_id], cuts[memory_id]
            low, high = base + bisect_left(points, start), base + bisect_left(points, end)
            own.append(((1 << high) - 1) ^ ((1 << low) - 1))
        return own

    def _float_registers(self) -> int:
        """The set of registers that are tensors of floats."""
        floats = 0
        for register, value in enumerate(self._plan.values):
            if isinstance(value.val, Tensor) and value.val.scalar_type.is_floating:
                floats |= 1 << register
        return floats

    def _find_sources(self) -> list[int]:
        """For each register the registers whose bytes a read of it may read, through moves, views and lists."""
        values = self._plan.values
        sources = [1 << index for index in range(len(values))]
        edges = [
            (instruction.args[0], instruction.args[-1])
            for instruction in self._instructions
            if instruction.opcode.mnemonic == "move" or instruction.is_view
        ]
        changed = True
        while changed:
            changed = False
            self._spend(len(edges) * len(values))
            for source, target in edges:
                if sources[source] & ~sources[target]:
                    sources[target] |= sources[source]
                    changed = True
        for index, value in enumerate(values):
            if isinstance(value.val, (TensorList, OptionalTensorList)):
                for item in value.val.items:
                    sources[index] |= sources[item] if item >= 0 else 0
        return sources

    def _pieces_of(self, registers: int) -> int:
        """All segments of a set of registers."""
        self._spend(registers.bit_count() * registers.bit_length())
        pieces = 0
        for register in _members(registers):
            pieces |= self._own[register]
        return pieces

    def _accesses(self) -> tuple[list[int], list[int]]:
        """Registers read, and registers whose bytes are certainly overwritten, by each instruction."""
        reads: list[int] = []
        writes: list[int] = []
        self._unsure: list[int] = []
        """Registers that each instruction reads or overwrites, which of both is not known."""
        used = set(self._plan.inputs)
        for instruction in self._instructions:
            read: list[int] = list(instruction.args)
            written = unsure = 0
            if instruction.opcode.mnemonic == "delegate":
                outputs, updates = self._delegate(instruction)
                if outputs is None:
                    for register in reversed(read):
                        if register in used or not self._own[register]:
                            break
                        unsure |= 1 << register
                else:
                    first = len(read) - outputs
                    for register in read[first:]:
                        if register not in self._rebound:
                            written |= 1 << register
                    read = [*read[:first], *(read[first + output] for output in sorted(updates))]
            elif instruction.opcode.mnemonic == "call" and instruction.prim is None:
                outputs = call_outputs(instruction, self._plan)
                for register in outputs:
                    if register not in self._rebound:
                        written |= 1 << register
                read = read[:-1]
                if not is_in_place(instruction.name):
                    # The schema lists each output once; a second mention is an input.
                    for register in outputs:
                        if register in read:
                            read.remove(register)
                    read = [register for register in read if not self._lists_only(register, set(outputs))]
            elif instruction.opcode.mnemonic == "move" or instruction.is_view:
                # Nothing is read yet: reads of the target count as reads of the source.
                read = []
            elif instruction.assigned is not None:
                read = read[:-1]
            bits = 0
            for register in read:
                bits |= self._sources[register]
            reads.append(bits)
            writes.append(written)
            self._unsure.append(unsure)
            used.update(_members(bits), instruction.args)
        return reads, writes

    def _delegate(self, instruction: Instruction) -> DelegateWrites:
        """What a call of a delegate writes: unknown where its blob does not fit the call."""
        number = instruction.callee
        known = self._delegates[number] if number < len(self._delegates) else DelegateWrites()
        if known.outputs is None or not max(known.updates, default=-1) < known.outputs <= len(
            instruction.args
        ):
            return DelegateWrites()
        return known

    def _lists_only(self, register: int, outputs: set[int]) -> bool:
        """Whether the register is a tensor list of outputs, and so not read."""
        table = self._plan.values[register].val
        return isinstance(table, TensorList) and bool(table.items) and outputs.issuperset(table.items)

    def _solve(self, reads: list[int], writes: list[int], outputs: int, inputs: int) -> tuple[list[int], int]:
        """Live registers after each instruction, and those live at the start apart from the inputs."""
        count = len(self._instructions)
        before = [0] * (count + 1)
        after = [0] * count
        changed = True
        while changed:
            changed = False
            self._spend(count * (len(self._plan.values) + len(self._pieces)))
            # What one execution leaves, the next one reads.
            at_end = outputs | before[0] & ~inputs
            if at_end != before[count]:
                before[count] = at_end
                changed = True
            for at in range(count - 1, -1, -1):
                live = before[at + 1]
                target = self._instructions[at].target
                if target >= 0:
                    live |= before[target]
                after[at] = live
                needed = reads[at] | live & ~writes[at]
                if needed != before[at]:
                    before[at] = needed
                    changed = True
        return after, before[0] & ~inputs

    def _spend(self, bits: int) -> None:
        """Count a step of the analysis that goes through sets of so many elements in all."""
        self._work_left -= bits
        if self._work_left < 0:
            raise self._too_much()

    def _too_much(self) -> ExecutorchError:
        return ExecutorchError(
            Error.OutOfResources,
            f"{len(self._plan.values)} values in {len(self._instructions)} instructions exceed the limit "
            "of the lifetime check",
        )

    def _ranges(self, pieces: int, users: int) -> list[Range]:
        """The byte ranges of a set of segments that `users` use, neighbors joined."""
        floats = self._pieces_of(users & self._floats)
        ranges: list[Range] = []
        for piece in _members(pieces):
            memory_id, start, end = self._pieces[piece]
            floating = bool(floats >> piece & 1)
            if ranges and ranges[-1][0::2] == (memory_id, start) and ranges[-1].floating == floating:
                ranges[-1] = ranges[-1]._replace(end=end)
            else:
                ranges.append(Range(memory_id, start, end, floating))
        return ranges


def _members(bits: int) -> Iterator[int]:
    """The indices of the bits that are set, in ascending order."""
    while bits:
        lowest = bits & -bits
        bits ^= lowest
        yield lowest.bit_length() - 1
