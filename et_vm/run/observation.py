"""Per-instruction hooks of the observed loop.

They send events to the tracer and poison dead bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from et_vm.load.instructions import written_registers
from et_vm.run.poison import bind_ranges
from et_vm.verify.liveness import ByteLiveness, delegate_writes

if TYPE_CHECKING:
    from collections.abc import Set

    from et_schema.program import ExecutionPlan
    from et_schema.pte import PteFile
    from et_vm.load.instructions import Instruction
    from et_vm.platform import Platform
    from et_vm.run.interpreter import Hooks
    from et_vm.run.memory import MemoryManager
    from et_vm.tracer import EventTracer
    from et_vm.values import Array


def observe(
    file: PteFile,
    plan: ExecutionPlan,
    instructions: Sequence[Instruction],
    registers: list[object],
    rebound: Set[int],
    memory: MemoryManager,
    platform: Platform,
    *,
    tracer: EventTracer | None,
    poison: bool,
) -> Hooks:
    """The hooks for one plan of `file`: each instruction is reported to `tracer` with its time on the clock of
    `platform` and, if the tracer wants them, the values it wrote; with `poison`, the bytes of `memory`
    that it overwrites or uses for the last time are filled.
    """
    overwritten: list[list[tuple[Array, int]]] = [[] for _ in instructions]
    dying = overwritten
    if poison:
        delegates = [delegate_writes(file, delegate) for delegate in plan.delegates]
        liveness = ByteLiveness(plan, instructions, rebound, delegates)
        overwritten = [bind_ranges(ranges, memory) for ranges in liveness.overwritten_by]
        dying = [bind_ranges(ranges, memory) for ranges in liveness.dead_after]
    ticks, name = platform.ticks, plan.name
    wants_values = tracer is not None and tracer.wants_values
    started = 0

    def before(instruction: Instruction) -> None:
        nonlocal started
        for view, pattern in overwritten[instruction.index]:
            view.fill(pattern)
        started = ticks()

    def after(instruction: Instruction) -> None:
        if tracer is not None:
            now = ticks()
            tracer.on_instruction(
                name, instruction.index, instruction.opcode.mnemonic, instruction.name, started, now
            )
            if wants_values:
                for register in written_registers(instruction, plan):
                    tracer.on_value(name, instruction.index, register, registers[register])
        for view, pattern in dying[instruction.index]:
            view.fill(pattern)

    return before, after
