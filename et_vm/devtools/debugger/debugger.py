"""Debugger of one method: execution in both directions under breakpoints.

Going back puts back the checkpoint before the wanted step and executes forward from there (Boothe, "Efficient
algorithms for bidirectional debugging", PLDI 2000): instructions are deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from et_schema.errors import Error, ExecutorchError, Trap
from et_schema.program import Tensor as TensorTable
from et_vm.devtools.debug_map import Place
from et_vm.devtools.debugger.timeline import Timeline
from et_vm.load.instructions import call_inputs, written_registers
from et_vm.values import Array, Tensor
from et_vm.verify.tensors import tensor_bytes

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.load.instructions import Instruction
    from et_vm.run.method import Method

__all__ = ["Access", "Breakpoint", "Debugger", "Stop", "StopReason"]

MEMORY_LIMIT = 256 << 20


class Breakpoint:
    """A condition that stops an execution. A subclass overrides `reached`, or `before` and `after`."""

    def reached(self, debugger: Debugger, instruction: Instruction, previous: Instruction | None) -> bool:
        """Whether to stop before `instruction`; `previous` ran just before it, None at the start."""
        return False

    def before(self, debugger: Debugger, instruction: Instruction) -> object:
        """State of the values before `instruction`, for `after`."""
        return None

    def after(self, debugger: Debugger, instruction: Instruction, known: object) -> str | None:
        """Why to stop behind `instruction`, None to go on. `known` is what `before` returned."""
        return None


class StopReason(Enum):
    """Causes for which an execution stops."""

    STEP = "step"
    """As many steps as were asked for."""
    BREAKPOINT = "breakpoint"
    """Before an instruction with a breakpoint."""
    WATCHPOINT = "watchpoint"
    """Behind an instruction whose values meet a condition."""
    TRAP = "trap"
    """The next instruction failed; values are as it left them."""
    START = "start"
    """Before the first instruction."""
    END = "end"
    """Behind the last instruction."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Place and cause of a stop."""

    reason: StopReason
    """The cause."""
    step: int
    """The number of instructions executed so far."""
    instruction: Instruction | None
    """The one that is next, None at the end."""
    detail: str = ""
    """The breakpoint and what met it, or the message of the trap."""

    def __str__(self) -> str:
        place = "the end" if self.instruction is None else repr(self.instruction)
        return f"{self.reason.value} at {place}" + (f": {self.detail}" if self.detail else "")


@dataclass(frozen=True, slots=True)
class Access:
    """An instruction that reads or writes a register."""

    index: int
    """Index of the instruction."""
    reads: bool
    """Whether it reads."""
    writes: bool
    """Whether it writes."""
    executed: int
    """Number of executions so far."""


class _Change(NamedTuple):
    step: int
    apply: Callable[[], None]


class Debugger:
    """One execution of a method, forward and backward.

    The method is stepped and may not be executed otherwise meanwhile. Positions in time are steps: the number of
    instructions executed so far. What the method changes outside of its own memory is not undone: state inside of
    backends and of kernels that users wrote.
    """

    def __init__(
        self,
        method: Method,
        inputs: Sequence[object] = (),
        *,
        places: Mapping[int, Place] | None = None,
        memory_limit: int = MEMORY_LIMIT,
    ) -> None:
        """Start `method` on `inputs`, before its first instruction. `places` are by instruction, those of a debug map
        (`places_of_method`); checkpoints take about `memory_limit` bytes.

        Raises InputError for inputs that do not fit, ExecutorchError(InvalidState) while the method is executing.
        """
        self.method = method
        self.plan: ExecutionPlan = method.machine.plan
        self._places = places or {}
        self._memory_limit = memory_limit
        method.reset_execution()
        method.set_inputs(inputs)
        self._breakpoints: dict[int, Breakpoint] = {}
        self._next_number = 1
        self._history: list[int] = []
        self._changes: list[_Change] = []
        self._timeline = Timeline(memory_limit)
        self._trap: Trap | None = None
        self._failed = -1
        self._delegate_outputs = _delegate_outputs(self.plan, method.instructions)
        self._start = method.checkpoint()
        method.restore(self._start)
        self._timeline.add(0, self._start)
        self.last = Stop(StopReason.START, 0, self.instruction)
        """The last stop."""

    # Position

    @property
    def instructions(self) -> Sequence[Instruction]:
        """The instructions of the method."""
        return self.method.instructions

    @property
    def step_count(self) -> int:
        """The number of instructions executed so far."""
        return len(self._history)

    @property
    def history(self) -> Sequence[int]:
        """The index of each instruction executed so far."""
        return tuple(self._history)

    @property
    def instruction(self) -> Instruction | None:
        """The instruction that is next, or that failed; None at the end."""
        if self._trap is not None:
            return self.instructions[self._failed]
        position = self.method.position or 0
        return self.instructions[position] if position < len(self.instructions) else None

    @property
    def trap(self) -> Trap | None:
        """The failure of the next instruction, if it failed."""
        return self._trap

    def module(self, instruction: Instruction) -> str | None:
        """The module path of an instruction, None if it is not known."""
        return self.place(instruction).module or None

    def place(self, instruction: Instruction) -> Place:
        """Source of an instruction, and of the parts of the delegate that it calls, as far as known."""
        return self._places.get(instruction.index, Place())

    # Execution

    def step(self, count: int = 1) -> Stop:
        """Execute `count` instructions, fewer if a watchpoint, a trap or the end comes before."""
        for _ in range(count):
            stop = self._advance()
            if stop is not None:
                return self._stopped(stop)
        return self._stopped(Stop(StopReason.STEP, self.step_count, self.instruction))

    def resume(self) -> Stop:
        """Execute up to the next breakpoint, watchpoint or trap, or to the end."""
        return self._resume(lambda instruction, previous: False)

    def next_line(self) -> Stop:
        """Execute up to an instruction of another source line, or of another module if lines are not known."""
        start = self.instruction
        here = None if start is None else self._place(start)
        return self._resume(lambda instruction, previous: here is None or self._place(instruction) != here)

    def finish(self) -> Stop:
        """Execute until the module of the next instruction is left."""
        start = self.instruction
        path = None if start is None else self.module(start)
        if path is None:
            return self._resume(lambda instruction, previous: False)
        return self._resume(lambda instruction, previous: not _within(self.module(instruction), path))

    def back(self, count: int = 1) -> Stop:
        """Go back by `count` steps, at most to the start. After a trap, the first step back is to before the
        instruction that failed.
        """
        failed = self._trap is not None
        return self.go_to(max(self.step_count - count + failed, 0))

    def reverse(self) -> Stop:
        """Go back to the last stop that `resume` would have made before this point, or to the start."""
        end = self.step_count
        limit = end
        while True:
            start = self._timeline.latest(max(end - 1, 0))[0]
            found = self._last_stop(start, end, limit)
            if found is not None:
                self._travel(found.step)
                return self._stopped(found)
            if start == 0:
                return self.go_to(0)
            end = start

    def go_to(self, step: int) -> Stop:
        """Go to the point after `step` instructions, back or forward; stops nowhere else but at a trap or the end."""
        if step < 0:
            raise ExecutorchError(Error.InvalidArgument, f"there is no step {step}", where=self.method.name)
        if step < self.step_count or self._trap is not None:
            self._travel(min(step, self.step_count))
        while self.step_count < step and self._trap is None and self.instruction is not None:
            self._execute()
        if self._trap is not None:
            return self._stopped(self._trapped())
        reason = StopReason.STEP
        if self.instruction is None:
            reason = StopReason.END
        elif not self.step_count:
            reason = StopReason.START
        return self._stopped(Stop(reason, self.step_count, self.instruction))

    def restart(self) -> Stop:
        """Go back to the start, with the inputs and state of then; all changes by `poke` are undone."""
        self._changes.clear()
        self._timeline = Timeline(self._memory_limit)
        self._timeline.add(0, self._start)
        self._travel(0)
        return self._stopped(Stop(StopReason.START, 0, self.instruction))

    def outputs(self) -> list[Any]:
        """The outputs. Raises ExecutorchError(InvalidState) before the end."""
        if self.instruction is not None:
            raise ExecutorchError(
                Error.InvalidState, "the execution has not come to its end", where=self.method.name
            )
        return self.method.get_outputs()

    # Breakpoints

    def add(self, breakpoint_: Breakpoint) -> int:
        """Stop at a breakpoint or watchpoint from now on; returns its number."""
        number = self._next_number
        self._next_number += 1
        self._breakpoints[number] = breakpoint_
        return number

    def delete(self, number: int) -> None:
        """Forget a breakpoint. Raises ExecutorchError(InvalidArgument) for an unknown number."""
        if self._breakpoints.pop(number, None) is None:
            raise ExecutorchError(Error.InvalidArgument, f"there is no breakpoint {number}")

    @property
    def breakpoints(self) -> Mapping[int, Breakpoint]:
        """Breakpoints and watchpoints by number."""
        return dict(self._breakpoints)

    # Values

    def value(self, register: int) -> object:
        """The value of a register: a number, string, None, a Tensor, or a list of these.

        Raises ExecutorchError(InvalidArgument) when there is no such register.
        """
        return self.method.machine.value(register)

    def arena(self, memory_id: int) -> Array:
        """The bytes of an arena, read-only. Raises ExecutorchError(InvalidArgument) when there is no such arena."""
        view = self.method.machine.arena(memory_id).view()
        view.flags.writeable = False
        return view

    def poke(self, register: int, value: object, index: Any = ...) -> None:
        """Change elements of a tensor, those that the numpy index `index` selects, or a number that instructions
        compute. Going back to before this step undoes it.

        Raises ExecutorchError: InvalidArgument for a constant, a register that no number can be written to, an index
        or a value that does not fit.
        """
        held = self.value(register)
        if isinstance(held, Tensor) and held.has_data:
            self._poke_tensor(register, held, value, index)
            return
        if not isinstance(value, (bool, int, float)) or index is not ...:
            raise ExecutorchError(Error.InvalidArgument, f"%{register} holds no tensor: expected a number")
        self._change(lambda: self.method.machine.assign(register, value))

    def _poke_tensor(self, register: int, held: Tensor, value: object, index: Any) -> None:
        if held.constant or not held.array.flags.writeable:
            raise ExecutorchError(Error.InvalidArgument, f"%{register} is a constant and cannot be changed")
        try:
            wanted = np.array(value).astype(held.dtype)
            np.broadcast_to(wanted, held.array[index].shape)
        except (IndexError, ValueError, TypeError) as error:
            raise ExecutorchError(
                Error.InvalidArgument, f"%{register} {list(held.sizes)}: {error}"
            ) from error

        def apply() -> None:
            tensor = self.value(register)
            assert isinstance(tensor, Tensor)
            tensor.array[index] = wanted

        self._change(apply)

    def _change(self, apply: Callable[[], None]) -> None:
        if self._trap is not None:
            raise ExecutorchError(
                Error.InvalidState,
                "the execution ended in a trap",
                hint="go back first",
                where=self.method.name,
            )
        apply()
        self._changes.append(_Change(self.step_count, apply))
        self._timeline.forget_after(self.step_count)
        self._timeline.add(self.step_count, self.method.checkpoint())

    # Accesses

    def accesses(self, register: int) -> list[Access]:
        """The instructions that read or write a register, in the order of the program."""
        self.value(register)
        times: dict[int, int] = {}
        for index in self._history:
            times[index] = times.get(index, 0) + 1
        found: list[Access] = []
        for instruction in self.instructions:
            reads, writes = register in self.read(instruction), register in self.written(instruction)
            if reads or writes:
                found.append(Access(instruction.index, reads, writes, times.get(instruction.index, 0)))
        return found

    def last_writer(self, register: int) -> int | None:
        """The step whose instruction wrote a register last, None if it holds what it started with."""
        for step in range(self.step_count - 1, -1, -1):
            if register in self.written(self.instructions[self._history[step]]):
                return step
        return None

    def overlapping(self, register: int) -> list[int]:
        """Other registers whose planned bytes overlap those of this one."""
        place = _planned(self.plan, register)
        if place is None:
            return []
        arena, start, end = place
        found: list[int] = []
        for other in range(len(self.plan.values)):
            that = None if other == register else _planned(self.plan, other)
            if that is not None and that[0] == arena and that[1] < end and start < that[2]:
                found.append(other)
        return found

    def written(self, instruction: Instruction) -> tuple[int, ...]:
        """The registers that an instruction writes; of a delegate, those that nothing else gives a value."""
        if instruction.opcode.mnemonic == "delegate":
            return self._delegate_outputs[instruction.index]
        return written_registers(instruction, self.plan)

    def read(self, instruction: Instruction) -> tuple[int, ...]:
        """The registers that an instruction reads, without the items of lists."""
        match instruction.opcode.mnemonic:
            case "call" if instruction.prim is None:
                return call_inputs(instruction, self.plan)
            case "delegate":
                written = self.written(instruction)
                return tuple(register for register in instruction.args if register not in written)
            case "jump_false" | "free":
                return instruction.args
            case _:
                return instruction.args[:-1]

    # Inside

    def _stopped(self, stop: Stop) -> Stop:
        self.last = stop
        return stop

    def _trapped(self) -> Stop:
        return Stop(StopReason.TRAP, self.step_count, self.instruction, str(self._trap))

    def _execute(self) -> None:
        """Execute the next instruction, or note the trap that it ends in."""
        position = self.method.position
        assert position is not None
        if self._timeline.is_due(self.step_count):
            self._timeline.add(self.step_count, self.method.checkpoint())
        try:
            self.method.step()
        except Trap as trap:
            self._trap, self._failed = trap, position
            return
        self._history.append(position)
        # There are later ones while a part that has been executed before is executed again.
        for change in self._changes:
            if change.step == self.step_count:
                change.apply()

    def _advance(self) -> Stop | None:
        """Execute the next instruction under the watchpoints; why to stop behind it."""
        instruction = self.instruction
        if self._trap is not None:
            return self._trapped()
        if instruction is None:
            return Stop(StopReason.END, self.step_count, None)
        watched = [
            (number, breakpoint_, breakpoint_.before(self, instruction))
            for number, breakpoint_ in self._breakpoints.items()
        ]
        self._execute()
        if self._trap is not None:
            return self._trapped()
        for number, breakpoint_, known in watched:
            why = breakpoint_.after(self, instruction, known)
            if why is not None:
                detail = f"watchpoint {number}: {why}"
                return Stop(StopReason.WATCHPOINT, self.step_count, self.instruction, detail)
        return None

    def _resume(self, until: Callable[[Instruction, Instruction], bool]) -> Stop:
        """Execute up to a breakpoint, or an instruction for which `until` holds, given the one before it."""
        while True:
            previous = self.instruction
            stop = self._advance()
            if stop is not None:
                return self._stopped(stop)
            following = self.instruction
            if following is None:
                return self._stopped(Stop(StopReason.END, self.step_count, None))
            detail = self._reached(following, previous)
            if detail is not None:
                return self._stopped(Stop(StopReason.BREAKPOINT, self.step_count, following, detail))
            if previous is not None and until(following, previous):
                return self._stopped(Stop(StopReason.STEP, self.step_count, following))

    def _reached(self, instruction: Instruction, previous: Instruction | None) -> str | None:
        for number, breakpoint_ in self._breakpoints.items():
            if breakpoint_.reached(self, instruction, previous):
                return f"breakpoint {number}: {breakpoint_}"
        return None

    def _travel(self, step: int) -> None:
        """Go to an earlier step, or out of a trap; changes after it are undone."""
        self._rewind(step)
        while self.step_count < step:
            self._execute()
        undone = [change.step for change in self._changes if change.step > step]
        if undone:
            self._changes = [change for change in self._changes if change.step <= step]
            self._timeline.forget_after(min(undone))

    def _rewind(self, step: int) -> None:
        """Put back the last checkpoint at or before a step."""
        start, checkpoint = self._timeline.latest(step)
        self._trap = None
        del self._history[start:]
        self.method.restore(checkpoint)

    def _last_stop(self, start: int, end: int, limit: int) -> Stop | None:
        """The last stop before step `limit` that executing from the checkpoint at `start` to `end` would make."""
        self._rewind(start)
        found = None
        while self.step_count < end:
            step, instruction = self.step_count, self.instruction
            previous = self.instructions[self._history[-1]] if self._history else None
            if instruction is not None and step < limit:
                detail = self._reached(instruction, previous)
                if detail is not None and step:
                    found = Stop(StopReason.BREAKPOINT, step, instruction, detail)
            stop = self._advance()
            if stop is not None and stop.reason is StopReason.TRAP:
                break
            if stop is not None and self.step_count < limit:
                found = stop
        return found

    def _place(self, instruction: Instruction) -> object:
        """Source line of an instruction, or its module, or itself, by what is known."""
        if instruction.frames:
            frame = instruction.frames[-1]
            return frame.filename, frame.lineno
        place = self.place(instruction)
        return place.line or place.module or instruction.index


def _within(path: str | None, module: str) -> bool:
    return path is not None and (path == module or path.startswith(f"{module}."))


def _planned(plan: ExecutionPlan, register: int) -> tuple[int, int, int] | None:
    """Arena, first byte and end of a planned tensor."""
    table = plan.values[register].val
    if not isinstance(table, TensorTable) or table.allocation_info is None:
        return None
    allocation = table.allocation_info
    start = allocation.memory_offset_high << 32 | allocation.memory_offset_low
    return allocation.memory_id, start, start + tensor_bytes(table)


def _delegate_outputs(plan: ExecutionPlan, instructions: Sequence[Instruction]) -> dict[int, tuple[int, ...]]:
    """The registers that each delegate call writes: tensors that nothing before it gives a value. A file does not say
    which these are.
    """
    given = {
        register
        for register, value in enumerate(plan.values)
        if not isinstance(value.val, TensorTable)
        or value.val.data_buffer_idx
        or value.val.extra_tensor_info is not None
    } | set(plan.inputs)
    found: dict[int, tuple[int, ...]] = {}
    for instruction in instructions:
        if instruction.opcode.mnemonic == "delegate":
            found[instruction.index] = tuple(
                register for register in instruction.args if register not in given
            )
            given.update(found[instruction.index])
        else:
            given.update(written_registers(instruction, plan))
    return found
