"""Common memory layout of state shared between methods.

State lies in the same place in each method, as runtimes may give them the same arenas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from et_ir.diagnostics import diagnose
from et_ir.dialects.executorch import InputOp, MemoryRegisterOp, PlanOp, StateOp, TensorRegisterOp
from et_ir.dialects.executorch.layout import nbytes
from et_ir.passes.memory.plan_memory.infeasible import InfeasibleMemory, infeasible
from et_ir.passes.memory.plan_memory.requests import alignment_of, bank_of
from et_ir.planning import Buffer, align_up, plan_naive, plan_of
from et_ir.planning.banks import Bank
from et_ir.planning.hierarchy import Infeasible
from et_ir.planning.infeasible import conflict_of
from et_schema.wording import worded

__all__ = ["STATE", "SharedState", "check_size", "register_size"]

STATE: Final = 2
"""The arena of state in programs of several methods."""
LARGEST_ARENA: Final = 2**63 - 1
"""The size of an arena is a signed number of 64 bits in a file."""
USUAL_ARENA: Final = 1 << 36
"""The most bytes of an arena that nobody has given a size."""


class SharedState:
    """The placement of the state of several methods in shared arenas: nothing else is placed below `sizes` there."""

    def __init__(self, plans: Sequence[PlanOp], banks: Sequence[Bank], alignment: int):
        self.places: dict[str, tuple[int, int]] = {}
        self.sizes: dict[int, int] = {}
        numbers = {bank.name: bank.memory_id for bank in banks}
        usual = min(banks, key=lambda bank: bank.speed).memory_id if banks else STATE
        states: dict[int, list[StateOp]] = {}
        for plan in plans:
            for op in plan.registers:
                if isinstance(op, StateOp) and op.key not in self.places:
                    name = bank_of(op)
                    arena = usual if name is None else numbers[name]
                    states.setdefault(arena, []).append(op)
                    offset = align_up(self.sizes.get(arena, 0), alignment_of(op, alignment))
                    self.places[op.key] = (arena, offset)
                    self.sizes[arena] = align_up(offset + nbytes(op.type), alignment)
        for arena, ops in states.items():
            check_size(arena, self.sizes[arena], ops, banks)
        for bank in banks:
            if bank.capacity is not None and self.sizes.get(bank.memory_id, 0) > bank.capacity:
                held = [
                    Buffer(nbytes(op.type), 0, 0, alignment_of(op, alignment))
                    for op in states[bank.memory_id]
                ]
                plan = plan_of(held, plan_naive(held))
                conflict = conflict_of(held, bank.capacity)
                raise infeasible(Infeasible(bank, conflict, plan), "state", states[bank.memory_id], held)


def check_size(arena: int, size: int, ops: Sequence[MemoryRegisterOp], banks: Sequence[Bank] = ()) -> None:
    """Raise `InfeasibleMemory`, at the largest of the registers in an arena, if a file cannot say how large it is, or
    if it is larger than machines are that `banks` do not describe: a bound that was not thought of.
    """
    asked = any(bank.memory_id == arena for bank in banks)
    if size <= (LARGEST_ARENA if asked else USUAL_ARENA):
        return
    largest = max(ops, key=register_size)
    message = (
        f"arena {arena} needs {size} bytes, {register_size(largest)} of them for this {largest.result.type}"
    )
    if size > LARGEST_ARENA:
        fix = f"an arena has at most {LARGEST_ARENA} bytes: compile the program for smaller inputs"
    else:
        bank = f"main:id={arena},size={-(-size >> 30)}G"
        memory = worded(python=f"ExecutorchBackendConfig(memory={bank!r})", command=f"--memory '{bank}'")
        fix = f"compile it for smaller inputs, or with lower bounds of dynamic sizes; to plan such an arena: {memory}"
    raise InfeasibleMemory("plan-memory: too large", [diagnose(largest, message, fix)])


def register_size(op: MemoryRegisterOp) -> int:
    """The bytes of a tensor's register."""
    assert isinstance(op, TensorRegisterOp | InputOp)
    return nbytes(op.type)
