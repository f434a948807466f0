"""Specialization of methods to fixed sizes by partial evaluation.

A method for any size looks at each call before it runs: are its arguments what they were when it was prepared? It also
reads sizes off tensors, computes with them, and makes views. None of that can come out differently as long as the
inputs have the sizes they had: so after two executions at the same sizes, a method walks the prepared steps alone, as
one for fixed sizes does. What depends on data is still done each time: numbers read from tensors, results as long as
the data says, and whatever is given these. What is left of a method with jumps is found in `settled_blocks.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from et_vm.run.calls import dynamic_call
from et_vm.run.interpreter import Hooks, choose_loop, run_observed, stoppable_hooks
from et_vm.run.settled_blocks import Blocks
from et_vm.run.settled_straight import StraightLine
from et_vm.step import Step
from et_vm.values import Tensor

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.load.instructions import Instruction
    from et_vm.run.stopping import Stops

__all__ = ["Settling", "settling_of"]


def settling_of(
    plan: ExecutionPlan,
    instructions: Sequence[Instruction],
    steps: Sequence[Step],
    registers: list[object],
    changing: Sequence[tuple[int, object]],
    limit: int,
) -> Settling | None:
    """What watches the executions of a method, if there is something to leave out of them.

    `changing` are the registers that the method assigns, with what they hold before an execution.
    """
    rebound = {register for register, _ in changing}
    if rebound & set(plan.inputs) or all(dynamic_call(step) is None for step in steps):
        return None
    if any(instruction.opcode.mnemonic == "free" for instruction in instructions):
        return None
    form: StraightLine | Blocks
    if any(instruction.target >= 0 for instruction in instructions):
        form = Blocks(plan, instructions, steps, registers, rebound)
    else:
        form = StraightLine(plan, instructions, steps, registers)
        if form.twice & rebound:
            return None
    return Settling(plan, instructions, registers, changing, limit, form)


class Settling:
    """Watches the executions of one method, and has its shorter loop while there is one."""

    def __init__(
        self,
        plan: ExecutionPlan,
        instructions: Sequence[Instruction],
        registers: list[object],
        changing: Sequence[tuple[int, object]],
        limit: int,
        form: StraightLine | Blocks,
    ) -> None:
        self._instructions = instructions
        self._registers = registers
        self._changing = changing
        self._limit = limit
        self._inputs = [value for register in plan.inputs if isinstance(value := registers[register], Tensor)]
        self._versions: list[int] = []
        self._stops: Stops | None = None
        self.loop: Callable[[], None] | None = None
        """Runs the steps that are left; `None` before the sizes have settled."""
        self._form: StraightLine | Blocks | None = form

    def forget(self) -> None:
        """Registers are not what the last run left."""
        self.loop = None

    def make_stoppable(self, stops: Stops) -> None:
        """Have loops from now on that `stops` stops."""
        self._stops = stops
        self.forget()

    def is_settled(self) -> bool:
        """Whether the inputs, which have been set, have the sizes of the last run."""
        return self.loop is not None and self._versions == self._current()

    def run(self, loop: Callable[[], None], steps: Sequence[Step]) -> None:
        """Run `loop`, which is over all `steps`: the second time at the same sizes leaves fewer for the next.
        Raises StepFailure.
        """
        form, versions = self._form, self._current()
        if form is None or versions != self._versions:
            self._versions = []
            loop()
        elif isinstance(form, StraightLine):
            loop()
            left = form.left()
            if left is None:
                self._form = None
            else:
                self.loop = self._choose_loop(left)
        else:
            self._run_blocks(form, steps)
        self._versions = versions

    def _run_blocks(self, form: Blocks, steps: Sequence[Step]) -> None:
        """Run a method with jumps, taking note of the way it goes."""
        executed: set[int] = set()
        before = form.versions()
        hooks: Hooks = (lambda instruction: executed.add(instruction.index), lambda instruction: None)
        if self._stops is not None:
            hooks = stoppable_hooks(hooks, self._stops)
        registers = self._registers
        run_observed(self._instructions, steps, registers, *hooks, self._limit)
        rest = self._choose_loop(form.left(executed, before))
        again = [(register, value) for register, value in self._changing if register in form.unsettled]

        def loop() -> None:
            for register, value in again:
                registers[register] = value
            rest()

        self.loop = loop

    def _choose_loop(self, steps: Sequence[Step]) -> Callable[[], None]:
        return choose_loop(self._instructions, steps, self._registers, None, self._limit, self._stops)

    def _current(self) -> list[int]:
        return [tensor.version for tensor in self._inputs]
