"""Instructions and values of a plan, read as columns.

`Code` is a list of instructions that are made when they are looked at. What checks or prepares all of a plan looks at
arrays instead, and at the `unusual` instructions: those that do not call a kernel, or one that changes an argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

import numpy as np

from et_ops.conventions import mutated_arguments
from et_schema.columns import Columns, IrregularError, Tables
from et_schema.errors import FIRST
from et_schema.program import InstructionArguments, KernelCall, KernelTypes, Tensor, TensorDataLocation
from et_vm.kernels.prims import PRIMS
from et_vm.load.instructions import Instruction, check_registers, decoded, is_constant, operator_name

if TYPE_CHECKING:
    from et_schema.program import EValue, ExecutionPlan, IntList

__all__ = ["Code", "Values", "code_of", "unusual", "values_of"]

_Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

KINDS: tuple[type, ...] = KernelTypes.__args__
"""The tables of values, in the order of their numbers, from 1."""
TENSOR = KINDS.index(Tensor) + 1
_CALL = InstructionArguments.__args__.index(KernelCall) + 1


class Code(Sequence[Instruction]):
    """The instructions of a plan with one chain, whose table path is `where`."""

    def __init__(self, plan: ExecutionPlan, table: Tables[Any], where: str) -> None:
        """Raises IrregularError for a plan that has a fault or hardly any calls, InvalidFile for the fault of an
        unusual instruction.
        """
        self._plan = plan
        self._table = table
        self._where = f"{where}.chains[0]"
        arguments = table.columns.members("instr_args")
        which, calls = arguments.members.get(_CALL, (None, None))
        if which is None or calls is None or (arguments.tags == 0).any():
            raise IrregularError
        self._names = [operator_name(operator) for operator in plan.operators]
        self.at = which
        """The instructions that call operators."""
        self.operators = calls.numbers("op_index")
        """The operators that these call."""
        self.args = calls.lists("args")
        """The registers that they are given."""
        items = self.args.items
        if (
            int(self.operators.min()) < 0
            or int(self.operators.max()) >= len(self._names)
            or int(self.args.counts.min()) < 1
            or int(items.min()) < 0
            or int(items.max()) >= len(plan.values)
        ):
            raise IrregularError
        odd = np.array([name in PRIMS or bool(mutated_arguments(name)) for name in self._names])
        self.usual = ~odd[self.operators]
        """Which of them call a kernel that changes nothing but its outputs."""
        others = np.ones(len(table), bool)
        others[which[self.usual]] = False
        self._made: dict[int, Instruction] = {}
        self.unusual = self.some(np.flatnonzero(others))
        """The other instructions, in order."""

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, index: int) -> Instruction: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Instruction]: ...

    def __getitem__(self, index: int | slice) -> Instruction | Sequence[Instruction]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        found = self._made.get(index)
        if found is None:
            if not 0 <= index < len(self):
                raise IndexError(index)
            # Threads may both come here; one instruction is kept.
            found = self._made.setdefault(index, self._decoded(index))
        return found

    def __iter__(self) -> Iterator[Instruction]:
        return map(self.__getitem__, range(len(self)))

    def some(self, indices: _Array) -> list[Instruction]:
        """The instructions with these indices."""
        listed: list[int] = indices.tolist()
        return [self[at] for at in listed]

    def _decoded(self, index: int) -> Instruction:
        return decoded(self._plan, self._plan.chains[0], index, self._where, self._names)


def code_of(plan: ExecutionPlan, where: str) -> Code | None:
    """The instructions of a plan that was read as columns; None for another, and for one with a fault. Raises
    InvalidFile for some faults.
    """
    if len(plan.chains) != 1 or not isinstance(plan.values, Tables):
        return None
    (chain,) = plan.chains
    table: object = chain.instructions
    if not isinstance(table, Tables):
        return None
    check_registers(chain.inputs, plan, f"{where}.chains[0].inputs", FIRST)
    check_registers(chain.outputs, plan, f"{where}.chains[0].outputs", FIRST)
    try:
        return Code(plan, cast("Tables[Any]", table), where)
    except IrregularError:
        return None


def unusual(instructions: Sequence[Instruction]) -> Sequence[Instruction]:
    """The instructions that do more than call a kernel which changes nothing but its outputs, and perhaps others."""
    return instructions.unusual if isinstance(instructions, Code) else instructions


class Values:
    """The values of a plan as arrays, by register."""

    def __init__(self, plan: ExecutionPlan, table: Tables[EValue]) -> None:
        columns = table.columns
        self.names = table.amended
        """The names of constants."""
        self._members = members = columns.members("val")
        self.kinds = members.tags
        """Their kinds, as numbers from 1 in the order of `KINDS`; 0 for none."""
        self.constant = np.zeros(columns.count, bool)
        """Which are constant tensors."""
        self.has_data = np.zeros(columns.count, bool)
        """Which are tensors that the file gives bytes to."""
        self.tensors, self.columns = members.members.get(TENSOR, (np.zeros(0, np.intp), None))
        """Which are tensors, and these; None instead of few."""
        if self.columns is None:
            extra = self.tensors
        else:
            planned, _ = self.columns.tables("allocation_info")
            special, _ = self.columns.tables("extra_tensor_info")
            in_file = self.columns.numbers("data_buffer_idx") > 0
            has_place = np.zeros(len(self.tensors), bool)
            has_place[planned] = True
            self.constant[self.tensors] = in_file & ~has_place
            self.has_data[self.tensors] = in_file | has_place
            extra = self.tensors[special]
        self.special: list[int] = extra.tolist()
        """The tensors that have, or may have, more than most: `extra_tensor_info`."""
        for at in self.special:
            tensor = plan.values[at].val
            assert isinstance(tensor, Tensor)
            self.constant[at] = is_constant(tensor)
            self.has_data[at] = has_data(tensor)

    def members(self, kind: type) -> tuple[_Array, Columns] | None:
        """Which values are of a kind, and these; None for few."""
        which, columns = self._members.members.get(KINDS.index(kind) + 1, (np.zeros(0, np.intp), None))
        return None if columns is None else (which, columns)

    def lists(self, plan: ExecutionPlan, kind: type) -> tuple[_Array, _Array, _Array]:
        """Which values are lists of a kind (IntList, TensorList or OptionalTensorList), their items in a row, and where
        those of each list start in it.
        """
        which, columns = self._members.members.get(KINDS.index(kind) + 1, (np.zeros(0, np.intp), None))
        if columns is not None:
            found = columns.lists("items")
            return which, found.items, found.starts
        items: list[int] = []
        starts = [0]
        for at in which.tolist():
            items += cast("IntList", plan.values[at].val).items
            starts.append(len(items))
        return which, np.array(items, np.int64), np.array(starts)


def values_of(plan: ExecutionPlan) -> Values | None:
    """The values of a plan that was read as columns; None for another."""
    table: object = plan.values
    return Values(plan, cast("Tables[EValue]", table)) if isinstance(table, Tables) else None


def has_data(table: Tensor) -> bool:
    """Whether the file itself gives the tensor bytes, in an arena, in a segment or in a data file."""
    extra = table.extra_tensor_info
    external = extra is not None and extra.location == TensorDataLocation.EXTERNAL
    return table.allocation_info is not None or table.data_buffer_idx > 0 or external
