"""Dataflow between the instructions of a method.

Bytes are read from the last instruction before that writes them, through whichever register; where loops jump back,
from the one listed before.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.load.instructions import Instruction

__all__ = ["JUMP", "Edge", "Operands", "edges", "operands"]

JUMP = -1
"""Placeholder for the register in the edge of a jump."""


class Operands(NamedTuple):
    """Registers that an instruction reads and writes, each once, lists by their items; literals are left out."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]


class Edge(NamedTuple):
    """A register from its writer to a reader. Nodes are instructions, then inputs, then outputs, in this order."""

    source: int
    target: int
    register: int


def operands(plan: ExecutionPlan, instructions: Sequence[Instruction]) -> list[Operands]:
    """The operands of each instruction. A delegate does not say which of its arguments it writes: here those are
    that nothing before it has written.
    """
    from et_vm.load.instructions import call_inputs, written_registers

    computed = {one.assigned for one in instructions if one.assigned is not None}
    known = set(plan.inputs)
    found: list[Operands] = []
    for one in instructions:
        match one.opcode.mnemonic:
            case "call":
                reads, writes = call_inputs(one, plan), written_registers(one, plan)
                if one.assigned is not None:
                    reads = tuple(register for register in one.args if register != one.assigned)
            case "delegate":
                reads = tuple(at for at in one.args if at in known or not _planned(plan, at))
                writes = tuple(at for at in one.args if at not in reads)
            case "move":
                reads, writes = one.args[:1], one.args[1:]
            case _:
                reads, writes = one.args, ()
        found.append(Operands(_unique(_flat(plan, reads, computed)), _unique(_flat(plan, writes, computed))))
        known.update(found[-1].writes)
    return found


def _planned(plan: ExecutionPlan, register: int) -> bool:
    from et_vm.load.instructions import is_constant

    return not is_constant(plan.values[register].val)


def _flat(plan: ExecutionPlan, registers: Sequence[int], computed: Set[int]) -> Iterator[int]:
    from et_schema.program import IntList, OptionalTensorList, Tensor, TensorList

    for register in registers:
        table = plan.values[register].val
        if isinstance(table, Tensor) or register in computed:
            yield register
        elif isinstance(table, TensorList | OptionalTensorList | IntList):
            for item in table.items:
                if item >= 0 and (item in computed or isinstance(plan.values[item].val, Tensor)):
                    yield item


def _unique(registers: Iterator[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(registers))


def edges(
    plan: ExecutionPlan, instructions: Sequence[Instruction], operated: Sequence[Operands]
) -> list[Edge]:
    """From writers to readers, and from jumps to their targets."""
    count = len(instructions)
    memory = _Memory(plan)
    for at, register in enumerate(plan.inputs):
        memory.write(register, count + at)
    found: list[Edge] = []
    for at, (reads, writes) in enumerate(operated):
        found += [Edge(writer, at, register) for register in reads for writer in memory.writers(register)]
        for register in writes:
            memory.write(register, at)
        if 0 <= instructions[at].target < count:
            found.append(Edge(at, instructions[at].target, JUMP))
    base = count + len(plan.inputs)
    found += [
        Edge(writer, base + at, register)
        for at, register in enumerate(plan.outputs)
        for writer in memory.writers(register)
    ]
    return list(dict.fromkeys(found))


class _Memory:
    """The last writers of bytes of arenas, and of registers elsewhere: tensors may share bytes, as views do."""

    def __init__(self, plan: ExecutionPlan) -> None:
        self._plan = plan
        self._registers: dict[int, int] = {}
        # For each arena, where ranges start and who has written them; each ends where the next one starts.
        self._starts: dict[int, list[int]] = {}
        self._writers: dict[int, list[int]] = {}

    def _range(self, register: int) -> tuple[int, int, int] | None:
        from et_schema.program import Tensor
        from et_vm.verify.tensors import tensor_bytes

        table = self._plan.values[register].val
        if not isinstance(table, Tensor) or table.allocation_info is None:
            return None
        allocation = table.allocation_info
        start = allocation.memory_offset_high << 32 | allocation.memory_offset_low
        nbytes = tensor_bytes(table)
        return (allocation.memory_id, start, start + nbytes) if nbytes else None

    def writers(self, register: int) -> list[int]:
        """The writers of the bytes that a register holds, without repetition."""
        place = self._range(register)
        if place is None:
            return [self._registers[register]] if register in self._registers else []
        arena, start, end = place
        starts, writers = self._starts.get(arena, []), self._writers.get(arena, [])
        first, last = max(bisect_right(starts, start) - 1, 0), bisect_left(starts, end)
        return [writer for writer in dict.fromkeys(writers[first:last]) if writer >= 0]

    def write(self, register: int, writer: int) -> None:
        """Record that all of a register is written."""
        place = self._range(register)
        if place is None:
            self._registers[register] = writer
            return
        arena, start, end = place
        starts, writers = self._starts.setdefault(arena, [0]), self._writers.setdefault(arena, [-1])
        first, last = bisect_left(starts, start), bisect_right(starts, end)
        after = writers[last - 1]
        starts[first:last] = [start, end]
        writers[first:last] = [writer, after]
