"""Inputs that a method writes to: the caller's tensors have the new values when an execution has ended.

In a file these are inputs that nobody planned and that an instruction writes; upstream's runtime points them at
the caller's memory. Here the method has memory of its own, and what an execution leaves there is copied to the
caller at its end, so that one that traps leaves the caller's tensors as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from et_schema.errors import Error, ExecutorchError, InputError
from et_schema.program import OptionalTensorList, TensorList
from et_schema.program import Tensor as TensorTable
from et_vm.interchange import is_torch, to_numpy, to_torch
from et_vm.load.instructions import Instruction, written_tensors
from et_vm.values import Array, Tensor

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan

__all__ = ["WrittenInputs", "written_positions"]

_EFFORT = 1000
"""The number of candidates numpy tries to find an element that two arrays share, before it gives up."""


class WrittenInputs:
    """The caller's tensors for the inputs that one method writes to."""

    def __init__(
        self,
        plan: ExecutionPlan,
        instructions: Sequence[Instruction],
        registers: Sequence[object],
        written: Sequence[int],
    ) -> None:
        """`written` are the positions of the inputs that the method writes to: `written_positions`."""
        self._tensors: dict[int, Tensor] = {}
        for position in written:
            tensor = registers[plan.inputs[position]]
            assert isinstance(tensor, Tensor)
            self._tensors[position] = tensor
        self._used: set[int] = set()
        if self._tensors:
            used = set(plan.outputs).union(*(_named(instruction, plan) for instruction in instructions))
            self._used = {position for position, register in enumerate(plan.inputs) if register in used}
        self._given: dict[int, Any] = {}
        self._arrays: dict[int, Array] = {}

    @property
    def positions(self) -> tuple[int, ...]:
        """The inputs that the method writes to."""
        return tuple(self._tensors)

    def forget(self) -> None:
        """Let go of what the caller gave."""
        self._given.clear()
        self._arrays.clear()

    def note(self, position: int, value: Any) -> None:
        """Remember what the caller gave for an input, which fits it.

        Raises InputError if the method writes to the input and the value cannot be written, or shares memory with
        another input: the method was compiled for inputs that do not.
        """
        if position not in self._used:
            return
        array = to_numpy(value)
        if array is None:
            return
        written = position in self._tensors
        if written:
            _check_writable(position, value, array)
            self._given[position] = value
        self._arrays[position] = array
        for other, held in self._arrays.items():
            if other != position and (written or other in self._tensors) and _share(array, held):
                to, of = (position, other) if written else (other, position)
                raise InputError(
                    f"the method writes to it, and it shares memory with input {of}",
                    where=f"input {to}",
                    hint="pass a copy of one of them",
                )

    def write_back(self) -> None:
        """Give the caller's tensors their new values, and let go of them.

        Raises ExecutorchError(NotSupported), with nothing written, for a tensor to which the method gave another
        shape.
        """
        for position, value in self._given.items():
            sizes, wanted = self._tensors[position].sizes, tuple(value.shape)
            if sizes != wanted:
                raise ExecutorchError(
                    Error.NotSupported,
                    f"the method resized it to {list(sizes)}, but the caller's tensor has {list(wanted)}",
                    where=f"input {position}",
                )
        for position, value in self._given.items():
            array = self._tensors[position].array
            if is_torch(value):
                value.detach().copy_(to_torch(array))
            else:
                np.copyto(value, array)
        self.forget()


def _check_writable(position: int, value: Any, array: Array) -> None:
    of_torch = is_torch(value)
    strides: Sequence[int] = value.stride() if of_torch else array.strides
    if not (of_torch or isinstance(value, np.ndarray)):
        problem = f"a {type(value).__name__} is not writable memory"
    elif not (of_torch or array.flags.writeable):
        problem = "the array is read-only"
    elif array.size and any(step == 0 and size > 1 for step, size in zip(strides, array.shape, strict=True)):
        problem = "its elements overlap"
    else:
        return
    raise InputError(f"the method writes to it, and {problem}", where=f"input {position}", hint="pass a copy")


def _share(one: Array, other: Array) -> bool:
    """Whether two arrays have an element in common, or it is too hard to tell."""
    effort: Any = _EFFORT  # which numpy's annotations allow to be 0 and -1 only
    try:
        return np.shares_memory(one, other, max_work=effort)
    except np.exceptions.TooHardError:
        return True


def _named(instruction: Instruction, plan: ExecutionPlan) -> Iterator[int]:
    """The registers that an instruction names, also within lists."""
    for register in instruction.args:
        yield register
        value = plan.values[register].val
        if isinstance(value, TensorList | OptionalTensorList):
            yield from value.items


def written_positions(plan: ExecutionPlan, instructions: Sequence[Instruction]) -> Iterator[int]:
    """The positions of the inputs that nobody planned and a call of a kernel may write.

    Registers that a move or a view may make share memory are taken together, whatever the order.
    """
    unplanned = [
        (position, register)
        for position, register in enumerate(plan.inputs)
        if isinstance(table := plan.values[register].val, TensorTable) and table.allocation_info is None
    ]
    if not unplanned:
        return
    parents = list(range(len(plan.values)))

    def find(register: int) -> int:
        while parents[register] != register:
            parents[register] = register = parents[parents[register]]
        return register

    for instruction in instructions:
        if instruction.opcode.mnemonic == "move" or instruction.is_view:
            parents[find(instruction.args[-1])] = find(instruction.args[0])
    calls = (written_tensors(instruction, plan) for instruction in instructions)
    written = {find(register) for register in chain.from_iterable(calls)}
    for position, register in unplanned:
        if find(register) in written:
            yield position
