"""What is left of a method when sizes stay what they are.

A method for any size looks at each call before it runs: are its arguments what they were when it was prepared? It also
reads sizes off tensors, computes with them, and makes views. None of that can come out differently as long as the
inputs have the sizes they had: so after two executions at the same sizes, a method without jumps walks the prepared
steps alone, as one for fixed sizes does. What depends on data is still done each time: numbers read from tensors,
results as long as the data says, and whatever is given these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, cast

from et_schema.generated.program import TensorShapeDynamism
from et_vm.calls import DynamicCall
from et_vm.instructions import written_registers
from et_vm.interpreter import run_straight
from et_vm.kernels.registry import NOTHING, Step, resizes
from et_vm.values import ListRegister, Tensor

if TYPE_CHECKING:
    from et_schema.generated.program import ExecutionPlan
    from et_vm.instructions import Instruction

__all__ = ["Settling"]

_FROM_DATA = frozenset({"aten::_local_scalar_dense", "executorch_prim::et_copy_index.tensor"})
"""Primitive operators whose results the data tells."""


class Settling:
    """Watches the executions of one method, and has its shorter loop while there is one."""

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
        self._inputs = [value for register in plan.inputs if isinstance(value := registers[register], Tensor)]
        self._versions: list[int] = []
        self.loop: Callable[[], None] | None = None
        """Runs the steps that are left; ``None`` before the sizes have settled."""
        self._unsettled: set[int] = set()
        self._twice: set[int] = set()
        """Registers that several instructions write, so that the last run may have left another thing in them."""
        self._possible = self._can_settle(rebound)

    def _can_settle(self, rebound: Set[int]) -> bool:
        """Whether a run leaves behind all that the next one needs."""
        if rebound & set(self._plan.inputs) or all(_dynamic(step) is None for step in self._steps):
            return False
        written: set[int] = set()
        for instruction in self._instructions:
            if instruction.target >= 0 or instruction.opcode.mnemonic == "free":
                return False
            registers = set(written_registers(instruction, self._plan))
            self._twice |= registers & written
            written |= registers
        return not self._twice & rebound

    def forget(self) -> None:
        """Registers are not what the last run left."""
        self.loop = None

    def is_settled(self) -> bool:
        """Whether the inputs, which have been set, have the sizes of the last run."""
        return self.loop is not None and self._versions == [tensor.version for tensor in self._inputs]

    def note_run(self) -> None:
        """Take note of a run of all steps: the second one at the same sizes leaves fewer for the next."""
        if not self._possible:
            return
        versions = [tensor.version for tensor in self._inputs]
        if versions == self._versions:
            self.loop = self._left()
        self._versions = versions

    def _left(self) -> Callable[[], None] | None:
        """The loop over what is left; ``None`` if that cannot do without the rest."""
        self._unsettled = set()
        walk: list[Step] = []
        indices: list[int] = []
        for instruction, step in zip(self._instructions, self._steps, strict=True):
            left = self._step(instruction, step)
            if left is None:
                self._possible = False
                return None
            if left is not NOTHING:
                walk.append(left)
                indices.append(instruction.index)
        return lambda: run_straight(walk, indices)

    def _step(self, instruction: Instruction, step: Step) -> Step | None:
        """What is left of a step, whose registers are unsettled if it may give them something else next time; ``None``
        if it has to come after one that is left out.
        """
        if step is NOTHING:
            return NOTHING
        call = _dynamic(step)
        if call is None and instruction.prim is None and instruction.opcode.mnemonic == "call":
            return step
        named = self._with_items(instruction.args)
        if instruction.name not in _FROM_DATA and not named & self._unsettled:
            if call is None and instruction.opcode.mnemonic != "delegate":
                return NOTHING
            settled = None if call is None else call.settled
            if settled is not None and not resizes(settled):
                return settled
        for register in written_registers(instruction, self._plan):
            if self._is_dynamic(register):
                self._unsettled.add(register)
        if any(self._is_dynamic(register) for register in (named & self._twice) - self._unsettled):
            return None
        return step

    def _is_dynamic(self, register: int) -> bool:
        value = self._registers[register]
        return not isinstance(value, Tensor) or value.dynamism != TensorShapeDynamism.STATIC

    def _with_items(self, registers: Sequence[int]) -> set[int]:
        """Registers, and those that are items of lists among them."""
        found = set(registers)
        for register in registers:
            value = self._registers[register]
            if isinstance(value, ListRegister):
                found.update(item for item in value.items if item >= 0)
        return found


def _dynamic(step: Step) -> DynamicCall | None:
    """The call of a step that looks at its arguments before it runs."""
    owner = cast(object, getattr(step[0], "__self__", None))
    return owner if isinstance(owner, DynamicCall) else None
