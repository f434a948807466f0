"""Preparing: the step of each instruction, with everything bound that can be bound before execution.

A kernel call whose arguments never change is prepared here, once; another when it is executed, and again
whenever its arguments are not what they were. A view that never changes is made here, and needs no step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from et_schema.errors import Error, ExecutorchError, Trap
from et_schema.program import TensorShapeDynamism
from et_vm.kernels.prims import alias, kind_of, view_sizes
from et_vm.load.instructions import written_registers
from et_vm.run.calls import DynamicCall, is_volatile
from et_vm.run.interpreter import raise_trap, trap_of
from et_vm.step import NOTHING
from et_vm.values import ListRegister, Tensor

if TYPE_CHECKING:
    from collections.abc import Set

    from et_schema.program import ExecutionPlan
    from et_vm.kernels.registry import Scratch
    from et_vm.load.instructions import Instruction
    from et_vm.run.calls import LinkedCall
    from et_vm.run.delegates import Delegates
    from et_vm.step import Step
    from et_vm.work import WorkMeter


class Preparation:
    """Prepares the instructions of one plan.

    `rebound` are the registers that come to hold something else while the method runs, `calls` the
    linked kernel calls by instruction, `scratch` the working memory that these share.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        instructions: Sequence[Instruction],
        registers: list[object],
        rebound: Set[int],
        calls: Mapping[int, LinkedCall],
        delegates: Delegates,
        scratch: Scratch,
    ) -> None:
        self._plan = plan
        self._instructions = instructions
        self._registers = registers
        # Views that are made at load leave this set, so that the calls on them are prepared once.
        self._rebound = set(rebound)
        self._calls = calls
        self._delegates = delegates
        self._scratch = scratch
        # Only these need a second look: a list, and a tensor that may change its shape.
        self._unsettled = [
            isinstance(value, ListRegister)
            or (isinstance(value, Tensor) and value.dynamism != TensorShapeDynamism.STATIC)
            for value in registers
        ]
        self._has_jumps = any(instruction.target >= 0 for instruction in instructions)
        self._writers = self._count_writers()

    def steps(self) -> list[Step]:
        """A step for each instruction; NOTHING for jumps, which the loops take themselves.

        Raises Trap, in a method without jumps, for a call whose shapes or types its kernel rejects.
        """
        steps: list[Step] = []
        # Static calls with their scratch generation, for those that have to be prepared again.
        scratched: list[tuple[int, LinkedCall, int]] = []
        for instruction in self._instructions:
            call = self._calls.get(instruction.index)
            if call is None:
                steps.append(self._step(instruction))
            elif self._is_volatile(call):
                steps.append((DynamicCall(call).run, ()))
            else:
                steps.append(self._prepare_static(call))
                if self._scratch.used:
                    scratched.append((instruction.index, call, self._scratch.generation))
        for index, call, generation in scratched:
            if generation != self._scratch.generation:
                steps[index] = self._prepare_static(call)
        return steps

    def check_work(self, meter: WorkMeter) -> None:
        """Raise Trap for the call with which the work of a method without jumps passes the limit, as far as it is known
        before sizes are.
        """
        if self._has_jumps:
            return
        spent = 0
        for instruction in self._instructions:
            call = self._calls.get(instruction.index)
            if call is None:
                continue
            left = meter.limit - spent
            if call.work > left:
                error = meter.error(call.work, left)
                raise_trap(error, instruction)
            spent += call.work

    def _is_volatile(self, call: LinkedCall) -> bool:
        return any(
            (self._unsettled[register] or register in self._rebound)
            and is_volatile(register, self._registers, self._rebound)
            for register in call.schema_args
        )

    def _step(self, instruction: Instruction) -> Step:
        """The step of anything but a kernel call."""
        if instruction.prim is not None:
            if instruction.is_view and self._dissolve_view(instruction):
                return NOTHING
            return instruction.prim.make(self._registers, *instruction.args)
        mnemonic = instruction.opcode.mnemonic
        if mnemonic == "delegate":
            return self._delegates.step(instruction, self._registers, self._rebound)
        if mnemonic == "move":
            return _move, (self._registers, *instruction.args)
        if mnemonic == "free":
            return _free, (self._registers, *instruction.args)
        return NOTHING

    def _prepare_static(self, call: LinkedCall) -> Step:
        try:
            return call.prepare_now()
        except Exception as error:
            if not self._has_jumps:
                raise_trap(error, call.instruction)
            # The call may never be reached; it traps when it is.
            return _raise, (trap_of(error, call.instruction),)

    def _count_writers(self) -> dict[int, int]:
        """The number of instructions that write each register, by value or by bytes, or take its bytes away."""
        writers: dict[int, int] = {}
        for instruction in self._instructions:
            freed = instruction.opcode.mnemonic == "free"
            for register in set(instruction.args if freed else written_registers(instruction, self._plan)):
                writers[register] = writers.get(register, 0) + 1
        return writers

    def _dissolve_view(self, instruction: Instruction) -> bool:
        """Make a view whose source, shape and target never change when the method is loaded, instead of in
        each execution.
        """
        source, size, out = instruction.args
        if self._writers.get(out) != 1 or out in self._plan.inputs:
            return False
        if any(is_volatile(register, self._registers, self._rebound) for register in (source, size)):
            return False
        target = self._registers[out]
        tensor = self._registers[source]
        shape = self._registers[size]
        if (
            not isinstance(target, Tensor)
            or not isinstance(tensor, Tensor)
            or not isinstance(shape, ListRegister)
        ):
            return False
        if target.dynamism != TensorShapeDynamism.STATIC or not tensor.has_data:
            return False
        try:
            alias(tensor, target, view_sizes(tensor, shape.read(self._registers)))
        except ExecutorchError:
            # Left to the step, which traps with its place.
            return False
        self._rebound.discard(out)
        return True


def _move(registers: list[object], source: int, target: int) -> None:
    registers[target] = registers[source]


def _free(registers: list[object], register: int) -> None:
    value = registers[register]
    if not isinstance(value, Tensor):
        raise ExecutorchError(Error.InvalidType, f"free of a {kind_of(value)}, not a Tensor")
    value.unbind()


def _raise(trap: Trap) -> None:
    raise trap.with_traceback(None)
