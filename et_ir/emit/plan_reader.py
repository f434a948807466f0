"""Checked decoding of one method of a file. It goes as far as the file itself says what is what."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from et_ir.dialects.executorch.layout import Tensor, tensor_type
from et_ops.conventions import is_in_place, mutated_arguments, returns_nothing
from et_schema import program as schema
from et_schema.errors import Error, InvalidFile
from et_schema.program import (
    BackendDelegate,
    ExecutionPlan,
    FrameList,
    InstructionArguments,
    KernelTypes,
    TensorDataLocation,
)

__all__ = ["DecodedInstruction", "PlanReader"]

_REGISTERS = (schema.Tensor, schema.Int, schema.Double, schema.Bool, schema.String, schema.Null)
"""Scalar or tensor content of a register, without lists."""


@dataclass(frozen=True, slots=True)
class _CallShape:
    """The values of a kernel call by role; `list_out` says that the outs are one argument.

    The file gives one list of values per call, the operator's arguments and then its returns. Which is which follows
    from how that list ends (see `emit.py` for how it is made).
    """

    arguments: tuple[int, ...]
    outs: tuple[int, ...] = ()
    returns: tuple[int, ...] = ()
    list_out: bool = False


@dataclass(slots=True)
class DecodedInstruction:
    """One instruction with the values it reads and writes, those inside of lists too; literals are among those read.

    A delegate's values are all in `reads`: the file does not say which ones it writes.
    """

    table: InstructionArguments
    reads: list[int] = field(default_factory=list[int])
    writes: list[int] = field(default_factory=list[int])
    operator: str = ""
    shape: _CallShape = _CallShape(())
    outs: int = 0
    """The number of a delegate's values, counted from the last, that are outputs; see `registers.py`."""


class PlanReader:
    """A method's values, instructions and jumps. Raises `InvalidFile` for indices and tensors that make no
    sense.
    """

    def __init__(self, plan: ExecutionPlan, where: str):
        self.plan = plan
        self.where = where
        self.values: list[KernelTypes] = []
        for index, value in enumerate(plan.values):
            if value.val is None:
                raise InvalidFile("value without content", where=f"{where}.values[{index}]")
            self.values.append(value.val)
        for index, value in enumerate(self.values):
            self._check_list(index, value)
        for name, indices in (("inputs", plan.inputs), ("outputs", plan.outputs)):
            self._check_registers(indices, f"{where}.{name}", f"an {name[:-1]}")
        self.steps: list[DecodedInstruction] = []
        self.jumps: dict[int, int] = {}
        """The target of each jump, by its instruction."""
        self.traces: list[FrameList] = []
        self.chains: list[tuple[int, schema.Chain]] = []
        """The index of the first instruction of each chain, and its table."""
        self._types: dict[int, Tensor] = {}
        for number, chain in enumerate(plan.chains):
            self._chain(chain, f"{where}.chains[{number}]")

    # -- values

    def _check_index(self, index: int, where: str) -> None:
        if not 0 <= index < len(self.values):
            raise InvalidFile(f"no value {index} among {len(self.values)}", where=where)

    def _check_registers(self, indices: Sequence[int], where: str, what: str) -> None:
        for position, index in enumerate(indices):
            place = f"{where}[{position}]"
            self._check_index(index, place)
            if not isinstance(self.values[index], _REGISTERS):
                kind = type(self.values[index]).__name__
                raise InvalidFile(f"{what} is a {kind}", code=Error.NotSupported, where=place)

    def _check_list(self, index: int, value: KernelTypes) -> None:
        match value:
            case schema.IntList():
                kinds = (schema.Int,)
            case schema.TensorList():
                kinds = (schema.Tensor,)
            case schema.OptionalTensorList():
                kinds = (schema.Tensor, schema.Null)
            case _:
                return
        for position, item in enumerate(value.items):
            if item == -1 and isinstance(value, schema.OptionalTensorList):
                continue
            where = f"{self.where}.values[{index}].val.items[{position}]"
            self._check_index(item, where)
            if not isinstance(self.values[item], kinds):
                found = type(self.values[item]).__name__
                raise InvalidFile(f"a {type(value).__name__} holds a {found}", where=where)

    def flat(self, indices: Sequence[int]) -> Iterator[int]:
        """Values, and instead of lists of registers their items."""
        for index in indices:
            value = self.values[index]
            if isinstance(value, schema.IntList | schema.TensorList | schema.OptionalTensorList):
                yield from (item for item in value.items if item >= 0)
            else:
                yield index

    def is_tensor(self, index: int) -> bool:
        return isinstance(self.values[index], schema.Tensor)

    def tensor(self, index: int) -> schema.Tensor:
        """The table of a value that is known to be a tensor."""
        value = self.values[index]
        assert isinstance(value, schema.Tensor)
        return value

    def is_external(self, index: int) -> bool:
        """Whether a tensor's bytes are in another file."""
        info = self.tensor(index).extra_tensor_info
        return info is not None and info.location == TensorDataLocation.EXTERNAL

    def place(self, index: int) -> tuple[int, int] | None:
        """Arena and byte of a tensor, or `None` if its memory is not planned."""
        details = self.tensor(index).allocation_info
        if details is None:
            return None
        if details.memory_id < 1:
            raise InvalidFile(
                "memory ids start at 1",
                code=Error.InvalidArgument,
                where=f"{self.where}.values[{index}].val.allocation_info",
            )
        return details.memory_id, details.memory_offset_high << 32 | details.memory_offset_low

    def tensor_type(self, index: int) -> Tensor:
        """The type of a tensor's register."""
        known = self._types.get(index)
        if known is not None:
            return known
        value = self.tensor(index)
        where = f"{self.where}.values[{index}].val"
        if value.storage_offset or value.layout:
            raise InvalidFile("only dense tensors without an offset", code=Error.NotSupported, where=where)
        if any(size < 0 for size in value.sizes):
            raise InvalidFile(f"sizes {value.sizes} are negative", where=f"{where}.sizes")
        order = list(value.dim_order)
        if sorted(order) != list(range(len(value.sizes))):
            raise InvalidFile(
                f"dim order {order} is not a permutation of {len(value.sizes)} axes",
                where=f"{where}.dim_order",
            )
        found = self._types[index] = tensor_type(value.scalar_type, value.sizes, order)
        return found

    def delegate(self, index: int) -> BackendDelegate:
        """A delegate of the plan."""
        return self.plan.delegates[index]

    def place_of(self, position: int) -> str:
        """The path of an instruction's table."""
        number = bisect_right(self.chains, position, key=lambda chain: chain[0]) - 1
        return f"{self.where}.chains[{number}].instructions[{position - self.chains[number][0]}]"

    # -- instructions

    def _chain(self, chain: schema.Chain, where: str) -> None:
        first = len(self.steps)
        count = len(chain.instructions)
        self.chains.append((first, chain))
        for name, indices in (("inputs", chain.inputs), ("outputs", chain.outputs)):
            self._check_registers(indices, f"{where}.{name}", f"an {name[:-1]} of a chain")
        for number, instruction in enumerate(chain.instructions):
            place = f"{where}.instructions[{number}].instr_args"
            if instruction.instr_args is None:
                raise InvalidFile("instruction without content", where=place)
            self.steps.append(self._step(instruction.instr_args, place, first, count))
        if chain.stacktrace and len(chain.stacktrace) != count:
            raise InvalidFile(
                f"{len(chain.stacktrace)} stack traces, but {count} instructions", where=f"{where}.stacktrace"
            )
        if any(trace.items for trace in chain.stacktrace):
            self.traces.extend(FrameList() for _ in range(first - len(self.traces)))
            self.traces.extend(chain.stacktrace)
        elif self.traces:
            self.traces.extend(FrameList() for _ in range(count))

    def _step(self, table: InstructionArguments, where: str, first: int, count: int) -> DecodedInstruction:
        plan = self.plan
        match table:
            case schema.KernelCall():
                if not 0 <= table.op_index < len(plan.operators):
                    raise InvalidFile(
                        f"no operator {table.op_index} among {len(plan.operators)}", where=f"{where}.op_index"
                    )
                self._check_all(table.args, where)
                entry = plan.operators[table.op_index]
                operator = f"{entry.name}.{entry.overload}" if entry.overload else entry.name
                shape = _call_shape(operator, table.args, self.values)
                changed = [
                    shape.arguments[i] for i in mutated_arguments(operator) if i < len(shape.arguments)
                ]
                # What only fills a part of a tensor does not read it.
                read = [i for i in shape.arguments if i not in changed or not returns_nothing(operator)]
                reads = list(self.flat(read))
                return DecodedInstruction(
                    table, reads, [*shape.outs, *shape.returns, *changed], operator, shape
                )
            case schema.DelegateCall():
                if not 0 <= table.delegate_index < len(plan.delegates):
                    raise InvalidFile(
                        f"no delegate {table.delegate_index} among {len(plan.delegates)}",
                        where=f"{where}.delegate_index",
                    )
                self._check_all(table.args, where)
                return DecodedInstruction(table, list(self.flat(table.args)))
            case schema.MoveCall():
                self._check_index(table.move_from, f"{where}.move_from")
                self._check_index(table.move_to, f"{where}.move_to")
                return DecodedInstruction(table, [table.move_from], [table.move_to])
            case schema.FreeCall():
                self._check_index(table.value_index, f"{where}.value_index")
                return DecodedInstruction(table, [], [table.value_index])
            case schema.JumpFalseCall():
                self._check_index(table.cond_value_index, f"{where}.cond_value_index")
                target = table.destination_instruction
                if not 0 <= target <= count:
                    raise InvalidFile(
                        f"jump to instruction {target} of {count}", where=f"{where}.destination_instruction"
                    )
                self.jumps[len(self.steps)] = first + target
                return DecodedInstruction(table, [table.cond_value_index])

    def _check_all(self, indices: Sequence[int], where: str) -> None:
        for position, index in enumerate(indices):
            self._check_index(index, f"{where}.args[{position}]")


def _call_shape(operator: str, ids: Sequence[int], values: Sequence[KernelTypes | None]) -> _CallShape:
    """The roles of a call's values; `ids` are indices of `values`."""
    ids = tuple(ids)
    if not ids or returns_nothing(operator):
        return _CallShape(ids)
    last = values[ids[-1]]
    if is_in_place(operator) and isinstance(last, schema.Tensor):
        return _CallShape(ids[:-1], returns=ids[-1:])
    if isinstance(last, schema.Tensor) and ids[-2:-1] == ids[-1:]:
        return _CallShape(ids[:-2], outs=ids[-1:])
    if isinstance(last, schema.TensorList):
        items = tuple(last.items)
        before = values[ids[-2]] if len(ids) > 1 else None
        if isinstance(before, schema.TensorList) and tuple(before.items) == items:
            return _CallShape(ids[:-2], outs=items, list_out=True)
        if len(items) > 1 and ids[-1 - len(items) : -1] == items:
            return _CallShape(ids[: -1 - len(items)], outs=items)
        return _CallShape(ids)
    if last is None or hasattr(last, "items"):
        # Lists are no registers: an operator that is not known to return anything.
        return _CallShape(ids)
    return _CallShape(ids[:-1], returns=ids[-1:])
