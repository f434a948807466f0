"""Chains of a plan that may run at the same time: the order between them, and races.

A chain waits for the chains before it that have one of its inputs among their outputs. Where no chain of a plan has
inputs or outputs, they run one after the other, as files of writers say that know nothing of this. A chain that waits
for what only a chain behind it makes can never run, at least not in the order of the file.

Two chains of which neither waits for the other, not by way of others either, may touch the same bytes, or the same
register, only to read. Then every order that is allowed computes what that of the file does, and what is right in the
one about the lifetimes of bytes is right in all. A register that a move or a view makes refer to the memory of others
counts for all that it may ever refer to.

What is no memory of the file, but may not be used by two at a time, is no error: delegates, the random generator,
operators of unknown libraries. A plan in which unordered chains share that runs in the order of the file, and so does
one of which it is not known what its delegates write, or which is too large to look at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from et_ops.library import hidden_state
from et_schema.errors import FIRST, InvalidFile, Problems
from et_schema.program import ExecutionPlan, IntList, OptionalTensorList, Tensor, TensorList
from et_schema.pte import PteFile
from et_vm.load.instructions import Instruction, call_outputs, changed_tensors
from et_vm.verify.liveness import DelegateWrites, delegate_writes
from et_vm.verify.tensors import tensor_bytes

__all__ = ["ChainOrder", "chain_order"]

MAX_CHAINS = 1024
MAX_WORK = 1 << 22
"""Chains of a plan, and comparisons of accesses, beyond which nothing is run at the same time."""


class ChainOrder(NamedTuple):
    """The chains of a plan that may run at the same time.

    `starts` are the indices of their first instructions, and the number of instructions; `waits` the chains that each
    waits for.
    """

    starts: list[int]
    waits: list[tuple[int, ...]]

    def chain_of(self, instruction: int) -> int:
        """The chain of an instruction."""
        return bisect_right(self.starts, instruction, hi=len(self.waits)) - 1

    def closed(self) -> list[int]:
        """The chains that have ended when each begins, as sets of bits."""
        before: list[int] = []
        for waits in self.waits:
            ended = 0
            for one in waits:
                ended |= before[one] | 1 << one
            before.append(ended)
        return before


class _Access(NamedTuple):
    """Bytes `first` to `end` of a resource that an instruction of a chain reads or writes by a register."""

    first: int
    end: int
    writes: bool
    chain: int
    instruction: Instruction
    register: int


def chain_order(
    pte: PteFile,
    plan: ExecutionPlan,
    instructions: Sequence[Instruction],
    where: str,
    problems: Problems = FIRST,
) -> ChainOrder | None:
    """The chains of a verified plan whose table path is `where`; None where they run in the order of the file.

    Reports inputs that are never there, and races.
    """
    chains = plan.chains
    if not 1 < len(chains) <= MAX_CHAINS or not any(chain.inputs or chain.outputs for chain in chains):
        return None
    known = len(problems.found)
    starts = [0]
    for chain in chains:
        starts.append(starts[-1] + len(chain.instructions))
    order = ChainOrder(starts, _waits(plan, where, problems))
    before = order.closed()
    if all(ended == (1 << number) - 1 for number, ended in enumerate(before)):
        return None
    accesses = _Accesses(pte, plan, instructions, order)
    certain = accesses.check(before, problems)
    return order if certain and len(problems.found) == known else None


def _waits(plan: ExecutionPlan, where: str, problems: Problems) -> list[tuple[int, ...]]:
    """The chains that each waits for. Reports what is not there when the chains before have ended."""
    behind: dict[int, int] = {}
    for number, chain in enumerate(plan.chains):
        behind.update(dict.fromkeys(chain.outputs, number))
    made: dict[int, list[int]] = {}
    found: list[tuple[int, ...]] = []
    for number, chain in enumerate(plan.chains):
        waits: set[int] = set()
        for at, register in enumerate(chain.inputs):
            if register in made:
                waits.update(made[register])
            elif (
                register in behind
                and register not in plan.inputs
                and not _is_given(plan.values[register].val)
            ):
                maker = behind[register]
                fault = f"chain {number} waits for value {register}, which only chain {maker} makes"
                if any(value in chain.outputs for value in plan.chains[maker].inputs):
                    fault += ": they wait for each other"
                path = f"{where}.chains[{number}].inputs[{at}]"
                problems.add(
                    InvalidFile(fault, where=path, hint="a chain comes behind those that it waits for")
                )
        found.append(tuple(sorted(waits)))
        for register in dict.fromkeys(chain.outputs):
            made.setdefault(register, []).append(number)
    return found


def _is_given(table: object) -> bool:
    """Whether a tensor holds something before the method runs: a constant, or state."""
    if not isinstance(table, Tensor):
        return False
    info = table.extra_tensor_info
    return table.data_buffer_idx > 0 or (info is not None and bool(info.fully_qualified_name))


class _Accesses:
    """What the instructions of a plan touch."""

    def __init__(
        self, pte: PteFile, plan: ExecutionPlan, instructions: Sequence[Instruction], order: ChainOrder
    ) -> None:
        self._plan = plan
        self._instructions = instructions
        self._order = order
        self._delegates = [delegate_writes(pte, delegate) for delegate in plan.delegates]
        self._classes = self._aliases()

    def check(self, before: Sequence[int], problems: Problems) -> bool:
        """Report races; returns whether there is nothing else that chains may not share."""
        found: dict[object, list[_Access]] = {}
        shared: dict[str, int] = {}
        certain = True
        for instruction in self._instructions:
            chain = self._order.chain_of(instruction.index)
            name = self._shares(instruction)
            if name is not None:
                certain &= self._is_known(instruction)
                others = shared.get(name, 0)
                certain &= not others & ~(before[chain] | 1 << chain)
                shared[name] = others | 1 << chain
            for register, writes in self._registers(instruction):
                for resource, first, end in self._places(register):
                    access = _Access(first, end, writes, chain, instruction, register)
                    found.setdefault(resource, []).append(access)
        work = 0
        for accesses in found.values():
            if not any(access.writes for access in accesses):
                continue
            accesses.sort(key=lambda access: access[:2])
            reported: set[tuple[int, int]] = set()
            for position, one in enumerate(accesses):
                for at in range(position + 1, len(accesses)):
                    other = accesses[at]
                    work += 1
                    if other.first >= one.end:
                        break
                    if work > MAX_WORK:
                        return False
                    early, late = (one, other) if one.chain < other.chain else (other, one)
                    if (
                        early.chain != late.chain
                        and (one.writes or other.writes)
                        and not before[late.chain] >> early.chain & 1
                        and (early.chain, late.chain) not in reported
                    ):
                        reported.add((early.chain, late.chain))
                        problems.add(_race(early, late))
        return certain

    def _shares(self, instruction: Instruction) -> str | None:
        """What an instruction uses that is no memory of the file."""
        mnemonic = instruction.opcode.mnemonic
        if mnemonic == "delegate":
            return "a delegate"
        return hidden_state(instruction.name) if mnemonic == "call" else None

    def _is_known(self, instruction: Instruction) -> bool:
        return instruction.opcode.mnemonic != "delegate" or self._writes(instruction).outputs is not None

    def _writes(self, instruction: Instruction) -> DelegateWrites:
        return self._delegates[instruction.callee]

    def _registers(self, instruction: Instruction) -> Iterator[tuple[int, bool]]:
        """The registers that an instruction touches, and whether it writes them; those in lists too."""
        args, mnemonic = instruction.args, instruction.opcode.mnemonic
        written: Sequence[int] = ()
        if mnemonic == "free":
            written = args
        elif instruction.assigned is not None:
            written = args[-1:]
        elif mnemonic == "delegate":
            outputs = self._writes(instruction).outputs
            written = args if outputs is None else args[len(args) - outputs :]
        elif mnemonic == "call":
            changed = args[:1] if instruction.prim is not None else changed_tensors(instruction)
            outs = () if instruction.prim is not None else call_outputs(instruction, self._plan)
            written = (*outs, *changed)
        for register in dict.fromkeys(written):
            for item in self._items(register):
                yield item, True
        for register in dict.fromkeys(args):
            if register not in written:
                for item in self._items(register):
                    yield item, False

    def _items(self, register: int) -> Sequence[int]:
        table = self._plan.values[register].val
        if isinstance(table, IntList | TensorList | OptionalTensorList):
            return [register, *(item for item in table.items if item >= 0)]
        return (register,)

    def _places(self, register: int) -> Iterator[tuple[object, int, int]]:
        """The resources that a register is, with bytes. What may be made to refer to others is one itself, too."""
        members = self._classes.get(register)
        if members is None:
            yield self._place(register)
            return
        yield ("register", register), 0, 1
        for member in members:
            yield self._place(member)

    def _place(self, register: int) -> tuple[object, int, int]:
        table = self._plan.values[register].val
        if isinstance(table, Tensor) and table.allocation_info is not None:
            allocation = table.allocation_info
            start = allocation.memory_offset_high << 32 | allocation.memory_offset_low
            size = tensor_bytes(table)
            if size:
                return allocation.memory_id, start, start + size
        return ("register", register), 0, 1

    def _aliases(self) -> dict[int, list[int]]:
        """The registers that each of those may refer to which a move or a view makes refer to others."""
        classes: dict[int, list[int]] = {}
        for instruction in self._instructions:
            if instruction.opcode.mnemonic == "move" or instruction.is_view:
                one = classes.setdefault(instruction.args[0], [instruction.args[0]])
                other = classes.setdefault(instruction.args[-1], [instruction.args[-1]])
                if one is not other:
                    if len(one) < len(other):
                        one, other = other, one
                    one += other
                    for register in other:
                        classes[register] = one
        return classes


def _race(early: _Access, late: _Access) -> InvalidFile:
    verbs = ["writes" if access.writes else "reads" for access in (early, late)]
    return InvalidFile(
        f"{late.instruction.name} {verbs[1]} value {late.register} while chain {early.chain}, which may run at the "
        f"same time, {verbs[0]} value {early.register} in the same memory ({early.instruction.name})",
        where=f"{late.instruction.where}",
        hint=f"chain {late.chain} does not wait for chain {early.chain}",
    )
