"""Registers and memory of a method between two instructions, with checkpoints.

A debugger goes back by putting back a checkpoint and executing forward from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from et_schema.errors import Error, ExecutorchError
from et_vm.values import Array, ListRegister, Tensor

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan

__all__ = ["Checkpoint", "Machine"]


class _TensorState(NamedTuple):
    tensor: Tensor
    storage: Array | None
    sizes: tuple[int, ...]
    capacity_bytes: int


class Checkpoint(NamedTuple):
    """The state of one method between two instructions."""

    position: int
    """Index of the next instruction."""
    work: int
    """Units of work spent so far, where work is limited."""
    registers: tuple[object, ...]
    tensors: tuple[_TensorState, ...]
    memory: tuple[tuple[Array, Array], ...]
    """Writable memory, and a copy of its bytes."""

    @property
    def nbytes(self) -> int:
        """Bytes of the copies."""
        return sum(copy.nbytes for _, copy in self.memory)


class Machine:
    """The state that the instructions of a method change: its registers, the tensors in them, and their bytes.

    `arenas` are the banks of planned memory by memory id, `others` tensors that no register may hold at the moment,
    `assigned` the registers that instructions give other values.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        registers: list[object],
        arenas: Mapping[int, Array],
        others: Iterable[object],
        assigned: Set[int],
    ) -> None:
        self.plan = plan
        self._registers = registers
        self._arenas = arenas
        self._others = [value for value in others if isinstance(value, Tensor)]
        self._assigned = assigned

    def value(self, register: int) -> object:
        """The value of a register now: a number, a string, None, a list, or a Tensor that later instructions change.

        Raises ExecutorchError(InvalidArgument) when there is no such register.
        """
        if not 0 <= register < len(self._registers):
            raise ExecutorchError(
                Error.InvalidArgument,
                f"no register {register}: the method has {len(self._registers)}",
                where=self.plan.name,
            )
        value = self._registers[register]
        return value.read(self._registers) if isinstance(value, ListRegister) else value

    def arena(self, memory_id: int) -> Array:
        """The bytes of an arena. Raises ExecutorchError(InvalidArgument) when there is no such arena."""
        if memory_id not in self._arenas:
            known = ", ".join(map(str, self._arenas)) or "none"
            raise ExecutorchError(
                Error.InvalidArgument,
                f"no arena {memory_id}: the method has {known}",
                where=self.plan.name,
            )
        return self._arenas[memory_id]

    def assign(self, register: int, value: bool | int | float) -> None:
        """Give a register that holds a number another one of its type.

        Raises ExecutorchError(InvalidArgument) for a register that holds anything else, or that no instruction
        assigns: it is a literal, which instructions may have been prepared for.
        """
        held = self.value(register)
        if type(value) is not type(held):
            raise ExecutorchError(
                Error.InvalidArgument, f"%{register} holds {_kind(held)}, not {_kind(value)}"
            )
        if register not in self._assigned:
            raise ExecutorchError(
                Error.InvalidArgument, f"%{register} is a literal of the program: it cannot be changed"
            )
        self._registers[register] = value

    def capture(self, position: int, work: int) -> Checkpoint:
        """A copy of everything, before instruction `position`."""
        tensors = tuple(
            _TensorState(tensor, tensor.storage, tensor.sizes, tensor.capacity_bytes)
            for tensor in self._tensors()
        )
        memory = [bank for bank in self._arenas.values() if bank.nbytes]
        starts = np.array([bank.ctypes.data for bank in memory], np.int64)
        ends = np.array([bank.ctypes.data + bank.nbytes for bank in memory], np.int64)
        seen: set[tuple[int, int]] = set()
        for state in tensors:
            storage = state.storage
            if storage is None or not storage.flags.writeable or not storage.nbytes:
                continue
            start = storage.ctypes.data
            place = (start, storage.nbytes)
            if place not in seen and not np.any((starts <= start) & (start + storage.nbytes <= ends)):
                memory.append(storage)
            seen.add(place)
        copies = tuple((place, place.copy()) for place in memory)
        return Checkpoint(position, work, tuple(self._registers), tensors, copies)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Put back what `capture` has copied."""
        self._registers[:] = checkpoint.registers
        for tensor, storage, sizes, capacity_bytes in checkpoint.tensors:
            # Binding again makes prepared steps invalid, so only what has changed is bound.
            if storage is None:
                tensor.unbind()
                tensor.sizes = sizes
            elif tensor.storage is not storage or tensor.sizes != sizes:
                tensor.bind(storage, sizes)
            tensor.capacity_bytes = capacity_bytes
        for place, copy in checkpoint.memory:
            place[:] = copy

    def _tensors(self) -> Iterator[Tensor]:
        """Each tensor that a register holds, or may hold again."""
        seen: set[int] = set()
        for value in (*self._registers, *self._others):
            if isinstance(value, Tensor) and id(value) not in seen:
                seen.add(id(value))
                yield value


def _kind(value: object) -> str:
    """The type of a value, for messages."""
    return repr(value) if isinstance(value, Tensor) else type(value).__name__
