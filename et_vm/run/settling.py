"""Specialization of methods to fixed sizes by partial evaluation.

A method for any size looks at each call before it runs: are its arguments what they were when it was prepared? It also
reads sizes off tensors, computes with them, and makes views. None of that can come out differently as long as the
inputs have the sizes they had: so after two executions at the same sizes, a method walks the prepared steps alone, as
one for fixed sizes does. What depends on data is still done each time: numbers read from tensors, results as long as
the data says, and whatever is given these. What is left of a method with jumps is found in `settled_blocks.py`.
A method that goes back to sizes it had before finds what was left then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from et_vm.run.calls import dynamic_call
from et_vm.run.interpreter import Hooks, choose_loop, run_observed, stoppable_hooks
from et_vm.run.settled_blocks import Blocks
from et_vm.run.settled_straight import StraightLine
from et_vm.step import Step
from et_vm.values import Binding, Tensor, can_change

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.kernels.registry import Scratch
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
    scratch: Scratch,
    *,
    keeps: bool,
) -> Settling | None:
    """What watches the executions of a method, if there is something to leave out of them.

    `changing` are the registers that the method assigns, with what they hold before an execution. `keeps` says whether
    the loops for other sizes than the last may be kept, which takes memory that nobody counts.
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
    return Settling(plan, instructions, registers, changing, limit, form, scratch, keeps=keeps)


class _Settled(NamedTuple):
    """What there is to do at one set of input sizes, and what the registers hold meanwhile."""

    loop: Callable[[], None]
    """Runs the steps that are left."""
    assigned: Sequence[tuple[int, object]]
    """The registers that instructions assign, with their values."""
    bindings: Sequence[tuple[Tensor, Binding | None]]
    """Those of all tensors whose bytes or sizes change."""
    storages: Sequence[tuple[Tensor, object]]
    """The bytes of the tensors that grow, for which the steps were prepared."""
    generation: int
    """That of the working memory."""


class Settling:
    """Watches the executions of one method, and has its shorter loop while there is one.

    It keeps the loops of the last sizes, so that a method goes from one size to another that it has settled at before
    without preparing anything.
    """

    MOST: ClassVar = 32
    """The number of sizes that are kept; where memory is limited, none but the last."""

    def __init__(
        self,
        plan: ExecutionPlan,
        instructions: Sequence[Instruction],
        registers: list[object],
        changing: Sequence[tuple[int, object]],
        limit: int,
        form: StraightLine | Blocks,
        scratch: Scratch,
        *,
        keeps: bool,
    ) -> None:
        self._instructions = instructions
        self._registers = registers
        self._changing = changing
        self._limit = limit
        self._scratch = scratch
        self._keeps = keeps
        self._inputs = [value for register in plan.inputs if isinstance(value := registers[register], Tensor)]
        self._assigned = [register for register, _ in changing]
        assigned = set(self._assigned)
        originals = [value for _, value in changing if isinstance(value, Tensor)]
        others = [
            value
            for register, value in enumerate(registers)
            if register not in assigned and isinstance(value, Tensor) and can_change(value)
        ]
        self._tensors = [*originals, *others]
        self._growing = [tensor for tensor in others if tensor.grows]
        self._versions: list[int] = []
        self._stops: Stops | None = None
        self.loop: Callable[[], None] | None = None
        """Runs the steps that are left; `None` before the sizes have settled."""
        self._form: StraightLine | Blocks | None = form
        self._kept: dict[tuple[tuple[int, ...], ...], _Settled | None] = {}
        """By the sizes of the inputs, from those used longest ago; `None` for sizes that a run had once."""

    def forget(self) -> None:
        """Registers are not what the last run left."""
        self.loop = None

    def make_stoppable(self, stops: Stops) -> None:
        """Have loops from now on that `stops` stops."""
        self._stops = stops
        self._kept.clear()
        self.forget()

    def is_settled(self) -> bool:
        """Whether there is a loop for the inputs, which have been set. If it is not that of the last run, registers
        become what they were when it was made.
        """
        versions = self._current()
        if self.loop is not None and self._versions == versions:
            return True
        sizes = self._sizes()
        settled = self._kept.get(sizes)
        if settled is None:
            return False
        moved = any(tensor.storage is not storage for tensor, storage in settled.storages)
        if moved or settled.generation != self._scratch.generation:
            self._kept[sizes] = None  # Its steps hold on to memory that nothing else uses.
            return False
        self._put(sizes, settled)
        for register, value in settled.assigned:
            self._registers[register] = value
        for tensor, binding in settled.bindings:
            tensor.rebind(binding)
        self.loop, self._versions = settled.loop, self._current()
        return True

    def run(self, loop: Callable[[], None], steps: Sequence[Step]) -> None:
        """Run `loop`, which is over all `steps`: the second time at the same sizes leaves fewer for the next.
        Raises StepFailure.
        """
        form, versions = self._form, self._current()
        again = versions == self._versions
        self._versions = []
        if isinstance(form, StraightLine):
            loop()
            sizes = self._sizes()
            if again or sizes in self._kept:
                left = form.left()
                if left is None:
                    self._form = None
                else:
                    self.loop = self._choose_loop(left)
                    self._keep(sizes, self.loop)
            else:
                self._put(sizes, None)
        elif form is not None and again:
            # Nobody knows what other sizes leave of the tensors that this way does not come to.
            self._keep(self._sizes(), self._run_blocks(form, steps))
        else:
            loop()
        self._versions = versions

    def _run_blocks(self, form: Blocks, steps: Sequence[Step]) -> Callable[[], None]:
        """Run a method with jumps, taking note of the way it goes. Returns its shorter loop."""
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
        return loop

    def _keep(self, sizes: tuple[tuple[int, ...], ...], loop: Callable[[], None]) -> None:
        if self._keeps:
            settled = _Settled(
                loop,
                [(register, self._registers[register]) for register in self._assigned],
                [(tensor, tensor.binding) for tensor in self._tensors],
                [(tensor, tensor.storage) for tensor in self._growing],
                self._scratch.generation,
            )
            self._put(sizes, settled)

    def _put(self, sizes: tuple[tuple[int, ...], ...], settled: _Settled | None) -> None:
        self._kept.pop(sizes, None)
        if len(self._kept) >= self.MOST:
            del self._kept[next(iter(self._kept))]
        self._kept[sizes] = settled

    def _choose_loop(self, steps: Sequence[Step]) -> Callable[[], None]:
        return choose_loop(self._instructions, steps, self._registers, None, self._limit, self._stops)

    def _current(self) -> list[int]:
        return [tensor.version for tensor in self._inputs]

    def _sizes(self) -> tuple[tuple[int, ...], ...]:
        return tuple([tensor.sizes for tensor in self._inputs])
