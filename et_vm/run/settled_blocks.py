"""Specialization of methods with jumps to fixed sizes.

Nobody knows which way a jump will go next time, nor how often.

A register is settled if it can only come to be what it is now, whatever way an execution takes:

- one that prims and moves assign has a single instruction that does, and nothing reads it before that;
- a tensor kept its sizes throughout the last run at the same sizes;
- and what writes it was part of that run, and has settled registers alone, none of whose bytes it looks at to
  tell a size or a number.

The last is found by taking for settled whatever is by the other two, and striking out what an instruction that
is not writes, until nothing changes. Each instruction is struck out once, so this is linear in their arguments.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from et_vm.kernels.prims import FROM_DATA
from et_vm.load.instructions import written_registers
from et_vm.run.calls import dynamic_call, with_items
from et_vm.step import NOTHING, Step, resizes
from et_vm.values import Tensor, can_change

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.load.instructions import Instruction

__all__ = ["Blocks"]


class Blocks:
    """The steps of a method with jumps, and what may be left out of them."""

    def __init__(
        self,
        plan: ExecutionPlan,
        instructions: Sequence[Instruction],
        steps: Sequence[Step],
        registers: list[object],
        rebound: Set[int],
    ) -> None:
        self._plan = plan
        self._instructions = instructions
        self._steps = steps
        self._registers = registers
        self._rebound = rebound
        self._carried = self._find_carried()
        self._watched = [
            (register, value)
            for register, value in enumerate(registers)
            if register not in rebound and isinstance(value, Tensor) and can_change(value)
        ]
        self.unsettled: Set[int] = frozenset()
        """The registers that each run has to make anew, after `left`."""

    def _find_carried(self) -> set[int]:
        """Assigned registers that hold one thing and then another in the course of a run."""
        carried: set[int] = set()
        assigned: set[int] = set()
        read: set[int] = set()
        for instruction in self._instructions:
            target = instruction.assigned
            used = with_items(instruction.args, self._registers)
            if target is not None:
                # The output is the last argument, and may be another one as well.
                used = with_items(instruction.args[:-1], self._registers)
                if target in assigned or target in read or target in used:
                    carried.add(target)
                assigned.add(target)
            read |= used
        return carried

    def versions(self) -> list[int]:
        """The effects of a new size of a tensor that calls write."""
        return [tensor.version for _, tensor in self._watched]

    def left(self, executed: Set[int], before: Sequence[int]) -> list[Step]:
        """A step for each instruction, `NOTHING` for those to leave out, after a run at the same sizes as the one
        before it. `executed` are the indices of its instructions, `before` the `versions` when it began.
        """
        unsettled = set(self._carried)
        for (register, tensor), version in zip(self._watched, before, strict=True):
            if tensor.version != version:
                unsettled.add(register)
        left = [self._settled(instruction, executed) for instruction in self._instructions]
        users: dict[int, list[int]] = {}
        pending: list[int] = []
        for instruction, step in zip(self._instructions, left, strict=True):
            if self._steps[instruction.index] is NOTHING or step is self._steps[instruction.index]:
                continue
            named = with_items(instruction.args, self._registers)
            if step is None or named & unsettled:
                pending.append(instruction.index)
            for register in named:
                users.setdefault(register, []).append(instruction.index)
        struck = set(pending)
        while pending:
            index = pending.pop()
            left[index] = self._steps[index]
            for register in written_registers(self._instructions[index], self._plan):
                if register in unsettled or not self._can_change(register):
                    continue
                unsettled.add(register)
                pending.extend(user for user in users.get(register, ()) if user not in struck)
                struck.update(users.get(register, ()))
        self.unsettled = unsettled
        return [step for step in left if step is not None]

    def _can_change(self, register: int) -> bool:
        return register in self._rebound or can_change(self._registers[register])

    def _settled(self, instruction: Instruction, executed: Set[int]) -> Step | None:
        """The remainder of a step if all that it names is settled; `None` if it is needed whatever its arguments."""
        step = self._steps[instruction.index]
        if step is NOTHING or instruction.target >= 0:
            return NOTHING
        call = dynamic_call(step)
        if call is None and instruction.prim is None and instruction.opcode.mnemonic == "call":
            return step
        if instruction.index not in executed or instruction.name in FROM_DATA:
            return None
        if call is None:
            return None if instruction.opcode.mnemonic == "delegate" else NOTHING
        settled = call.settled
        return None if settled is None or resizes(settled) else settled
