"""Poison mode: arena bytes that nobody may read hold patterns that show.

A lifetime bug (two live tensors planned into the same bytes, a read of what was never written) usually goes
unnoticed, because the bytes happen to hold something plausible. Here every arena starts filled with
:data:`FLOAT_POISON`, and when an instruction reads a register for the last time its bytes are filled again:
0xFF, which is NaN in every float format, for floats, and 0xA5, a huge negative number that no index
survives, for the others.

What is live is computed over bytes, not registers, so views and tensors that share memory on purpose are
seen as one: each arena is cut at the boundaries of all tensors in it, and a backward data-flow analysis
over the instruction list (Aho et al., "Compilers", 9.2.5) works on sets of these pieces. Bytes that are
read before they are written keep their contents between executions: mutable buffers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from et_schema.generated.program import ExecutionPlan, OptionalTensorList, Tensor, TensorList
from et_schema.scalar_type import ScalarType
from et_vm.instructions import Instruction, call_outputs
from et_vm.memory import MemoryManager
from et_vm.prims import COPY_INDEX, PRIMS, VIEW
from et_vm.values import Array
from et_vm.verify import tensor_bytes

FLOAT_POISON = 0xFF
OTHER_POISON = 0xA5

_FLOATS = frozenset(scalar_type for scalar_type in ScalarType if scalar_type.is_floating)


class Range(NamedTuple):
    """Bytes ``start`` to ``end`` of an arena, and the pattern they die with."""

    memory_id: int
    start: int
    end: int
    pattern: int


class Liveness:
    """Which arena bytes die at which instruction of a plan.

    ``dead_after[i]`` are the ranges that instruction ``i`` reads for the last time; ``state`` those that
    live from one execution to the next, ``written_state`` the part of them that the plan itself writes or
    names: its mutable buffers.
    """

    def __init__(self, plan: ExecutionPlan, instructions: Sequence[Instruction], rebound: set[int]) -> None:
        self._plan = plan
        self._rebound = rebound
        self._pieces: list[tuple[int, int, int]] = []
        self._own = self._cut()
        self._reach = self._aliases(instructions)
        reads, writes = self._accesses(instructions)
        live_after, state = self._solve(instructions, reads, writes)
        self.dead_after = [
            self._ranges(reads[at] & ~live_after[at], instructions[at].args)
            for at in range(len(instructions))
        ]
        written = 0
        for at, instruction in enumerate(instructions):
            written |= writes[at] | self._partial_writes(instruction)
        for index, value in enumerate(plan.values):
            table = value.val
            if isinstance(table, Tensor) and table.extra_tensor_info is not None:
                written |= self._own[index] if table.extra_tensor_info.fully_qualified_name else 0
        self.state = self._ranges(state, ())
        self.written_state = self._ranges(state & written, ())

    def _cut(self) -> list[int]:
        """Cut the arenas into pieces; returns for each register the set of its own pieces as bits."""
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

    def _aliases(self, instructions: Sequence[Instruction]) -> list[int]:
        """All pieces that a register may refer to, through moves and views as well."""
        reach = list(self._own)
        edges = [
            (instruction.args[0], instruction.args[-1])
            for instruction in instructions
            if instruction.opcode.mnemonic == "move" or instruction.name == VIEW
        ]
        changed = True
        while changed:
            changed = False
            for source, target in edges:
                if reach[source] & ~reach[target]:
                    reach[target] |= reach[source]
                    changed = True
        for index, value in enumerate(self._plan.values):
            if isinstance(value.val, (TensorList, OptionalTensorList)):
                for item in value.val.items:
                    reach[index] |= reach[item] if item >= 0 else 0
        return reach

    def _accesses(self, instructions: Sequence[Instruction]) -> tuple[list[int], list[int]]:
        """Pieces read, and pieces certainly overwritten, by each instruction."""
        reads: list[int] = []
        writes: list[int] = []
        for instruction in instructions:
            mnemonic = instruction.opcode.mnemonic
            read_registers = list(instruction.args)
            written = 0
            if mnemonic == "call" and instruction.name not in PRIMS:
                del read_registers[-1]
                in_place = instruction.name.partition(".")[0].endswith("_")
                for register in call_outputs(instruction, self._plan):
                    if register not in self._rebound:
                        written |= self._own[register]
                    if not in_place and register in read_registers:
                        read_registers.remove(register)
                if not in_place:
                    outputs = set(call_outputs(instruction, self._plan))
                    read_registers = [
                        register for register in read_registers if not self._lists_only(register, outputs)
                    ]
            elif mnemonic == "move" or instruction.name == VIEW:
                # Nothing is read yet: the target keeps the bytes alive.
                read_registers = []
            elif mnemonic == "call":
                read_registers = read_registers if instruction.name == COPY_INDEX else read_registers[:-1]
            read = 0
            for register in read_registers:
                read |= self._reach[register]
            reads.append(read)
            writes.append(written)
        return reads, writes

    def _lists_only(self, register: int, outputs: set[int]) -> bool:
        """Whether the register is a tensor list of outputs, and so not read."""
        table = self._plan.values[register].val
        return isinstance(table, TensorList) and bool(table.items) and outputs.issuperset(table.items)

    def _partial_writes(self, instruction: Instruction) -> int:
        if instruction.opcode.mnemonic == "delegate" or instruction.name == COPY_INDEX:
            pieces = 0
            for register in instruction.args:
                pieces |= self._reach[register]
            return pieces
        return 0

    def _solve(
        self, instructions: Sequence[Instruction], reads: list[int], writes: list[int]
    ) -> tuple[list[int], int]:
        """Pieces live after each instruction, and those live when an execution starts."""
        count = len(instructions)
        outputs = given = 0
        for register in self._plan.outputs:
            outputs |= self._reach[register]
        for register in self._plan.inputs:
            if register not in self._rebound:
                given |= self._own[register]
        before = [0] * (count + 1)
        after = [0] * count
        changed = True
        while changed:
            changed = False
            # What one execution leaves and the next one reads.
            at_end = outputs | before[0] & ~given
            if at_end != before[count]:
                before[count] = at_end
                changed = True
            for at in range(count - 1, -1, -1):
                live = before[at + 1]
                target = instructions[at].target
                if target >= 0:
                    live |= before[target]
                after[at] = live
                needed = reads[at] | live & ~writes[at]
                if needed != before[at]:
                    before[at] = needed
                    changed = True
        return after, before[0] & ~given

    def _ranges(self, pieces: int, registers: Sequence[int]) -> list[Range]:
        """The byte ranges of a set of pieces, neighbours joined; patterns by the registers that held them."""
        floats = 0
        for register in registers:
            table = self._plan.values[register].val
            if (isinstance(table, Tensor) and table.scalar_type in _FLOATS) or isinstance(
                table, (TensorList, OptionalTensorList)
            ):
                floats |= self._reach[register]
        ranges: list[Range] = []
        while pieces:
            lowest = pieces & -pieces
            pieces ^= lowest
            memory_id, start, end = self._pieces[lowest.bit_length() - 1]
            pattern = FLOAT_POISON if lowest & floats else OTHER_POISON
            if ranges and ranges[-1][0::2] == (memory_id, start) and ranges[-1].pattern == pattern:
                ranges[-1] = ranges[-1]._replace(end=end)
            else:
                ranges.append(Range(memory_id, start, end, pattern))
        return ranges


def poison_arenas(memory: MemoryManager, plans: Sequence[tuple[ExecutionPlan, Liveness]]) -> None:
    """Fill new arenas with poison, except the mutable buffers of ``plans``, which start as zeros.

    State that a plan reads and never writes is poisoned too, unless another method may be the one to write
    it.
    """
    memory.fill(FLOAT_POISON)
    for plan, _ in plans:
        for value in reversed(plan.values):
            table = value.val
            if (
                isinstance(table, Tensor)
                and table.allocation_info is not None
                and table.scalar_type not in _FLOATS
            ):
                allocation = table.allocation_info
                start = allocation.memory_offset_high << 32 | allocation.memory_offset_low
                bank = memory.bank(allocation.memory_id, 0)
                bank[start : start + tensor_bytes(table)].fill(OTHER_POISON)
    for _, liveness in plans:
        for memory_id, start, end, _ in liveness.written_state if len(plans) == 1 else liveness.state:
            memory.bank(memory_id, 0)[start:end].fill(0)


def bind_ranges(ranges: Sequence[Range], memory: MemoryManager) -> list[tuple[Array, int]]:
    """Views of ``ranges`` with the pattern for each."""
    return [
        (memory.bank(memory_id, 0)[start:end], pattern)
        for memory_id, start, end, pattern in ranges
        if end > start
    ]
