"""Specialization of straight-line methods to fixed sizes.

Each register is what the instructions before make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from et_vm.kernels.prims import FROM_DATA
from et_vm.load.instructions import written_registers
from et_vm.run.calls import dynamic_call, with_items
from et_vm.step import NOTHING, Step, resizes
from et_vm.values import can_change

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.load.instructions import Instruction

__all__ = ["StraightLine"]


class StraightLine:
    """The steps of a method without jumps, and what may be left out of them."""

    def __init__(
        self,
        plan: ExecutionPlan,
        instructions: Sequence[Instruction],
        steps: Sequence[Step],
        registers: list[object],
    ) -> None:
        self._plan = plan
        self._instructions = instructions
        self._steps = steps
        self._registers = registers
        self._unsettled: set[int] = set()
        self.twice: set[int] = set()
        """Registers that several instructions write, so that the last run may have left another thing in them."""
        written: set[int] = set()
        for instruction in instructions:
            now = set(written_registers(instruction, plan))
            self.twice |= now & written
            written |= now

    def left(self) -> list[Step] | None:
        """A step for each instruction after a run of all of them at the same sizes, `NOTHING` for those to leave out;
        `None` if what is left cannot do without the rest.
        """
        self._unsettled = set()
        left: list[Step] = []
        for instruction, step in zip(self._instructions, self._steps, strict=True):
            kept = self._step(instruction, step)
            if kept is None:
                return None
            left.append(kept)
        return left

    def _step(self, instruction: Instruction, step: Step) -> Step | None:
        """The remainder of a step, whose registers are unsettled if it may give them something else next time; `None`
        if it has to come after one that is left out.
        """
        if step is NOTHING:
            return NOTHING
        call = dynamic_call(step)
        if call is None and instruction.prim is None and instruction.opcode.mnemonic == "call":
            return step
        named = with_items(instruction.args, self._registers)
        if instruction.name not in FROM_DATA and not named & self._unsettled:
            if call is None and instruction.opcode.mnemonic != "delegate":
                return NOTHING
            settled = None if call is None else call.settled
            if settled is not None and not resizes(settled):
                return settled
        for register in written_registers(instruction, self._plan):
            if can_change(self._registers[register]):
                self._unsettled.add(register)
        again = (named & self.twice) - self._unsettled
        if any(can_change(self._registers[register]) for register in again):
            return None
        return step
