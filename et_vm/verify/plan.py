"""Load-time verification: everything about a decoded program that can be wrong without running it.

`et_schema.pte` has checked the container (header, flatbuffer, segments and references into them). Here
each rule is about what values and instructions mean: `Verifier` covers the program, a method's values and
its instructions' operands, `tensors` its tensors, `flow` what its registers can hold where they are used,
`et_vm.run.link` what needs the kernels. All report InvalidFile with upstream's code, the path of the table and,
through `verified`, its byte. The work is linear in the size of the file, whatever it says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence, Set
from contextlib import contextmanager

import numpy as np

from et_schema.errors import FIRST, Error, InvalidFile, Problems
from et_schema.initial_state import join_initial_state
from et_schema.program import (
    BackendDelegate,
    DeviceType,
    ExecutionPlan,
    Int,
    IntList,
    KernelCall,
    MoveCall,
    Null,
    OptionalTensorList,
    Tensor,
    TensorList,
)
from et_schema.pte import PteFile, read_pte
from et_schema.reader import Locations
from et_vm.load.code import KINDS, Code, Values, code_of, unusual, values_of
from et_vm.load.instructions import Instruction, check_registers, flatten, is_constant, written_tensors
from et_vm.verify.tensor_columns import sound_tensors
from et_vm.verify.tensors import (
    BoolConstants,
    tensor_bytes,
    tensor_data,
    verify_initial_states,
    verify_tensor,
)

__all__ = ["Verifier", "tensor_bytes", "tensor_data", "verified"]

_INPUT_TYPES = ("Tensor", "Int", "Bool", "Double", "String", "Null")
_LISTS = (IntList, TensorList, OptionalTensorList)
_IS_LIST = np.array([False, *(kind in _LISTS for kind in KINDS)])

# Registers that instructions may name in all, counting the items of lists each time, for each byte of the program: a
# call takes 32 bytes or more. Without a limit, calls that share a list cost the product of their number and its length.
_MENTIONS_PER_BYTE = 8


@contextmanager
def verified(file: memoryview) -> Generator[None]:
    """Complete an InvalidFile that leaves the block with the byte of the table that its `where` names.

    The file is decoded a second time for that, with positions; a good file pays nothing.
    """
    try:
        yield
    except InvalidFile as error:
        if error.offset is None and error.where:
            locations = read_pte(file, locate=True).locations
            error.offset = Locations(locations or {}).byte_of(error.where)
        raise


class Verifier:
    """Checks a decoded program, whose flatbuffer has `size` bytes, and counts what that may cost for all methods
    together.
    """

    def __init__(self, pte: PteFile, size: int) -> None:
        self._pte = pte
        self._mentions_left = _MENTIONS_PER_BYTE * size
        self._bools = BoolConstants(2 * sum(segment.nbytes for segment in pte.segments) + 2 * size)

    def verify_program(self, problems: Problems = FIRST) -> None:
        """Check what does not belong to one method, and give constants the names, and state the initial contents, that
        the file has beside them.
        """
        program, malformed = self._pte.program, self._pte.malformed
        if not program.execution_plan:
            problems.add(InvalidFile("the program has no methods", where="execution_plan"))
        names: set[str] = set()
        for index, plan in enumerate(program.execution_plan):
            where = f"execution_plan[{index}].name"
            if id(plan) in malformed:
                continue
            if not plan.name:
                problems.add(InvalidFile("method without a name", where=where))
            elif plan.name in names:
                problems.add(InvalidFile(f"method {plan.name!r} occurs twice", where=where))
            names.add(plan.name)
        if (
            program.constant_segment is not None
            and program.constant_segment.offsets
            and program.constant_buffer
        ):
            problems.add(InvalidFile("constants are both inline and in a segment", where="constant_segment"))
        keys: set[str] = set()
        for index, entry in enumerate(program.named_data):
            if id(entry) not in malformed and (not entry.key or entry.key in keys):
                fault = f"key {entry.key!r} occurs twice" if entry.key else "named data without a key"
                problems.add(InvalidFile(fault, where=f"named_data[{index}].key"))
            keys.add(entry.key)
        if keys:
            # Imported here because starting is part of the time that a run takes.
            from et_schema.digests import digests_of
            from et_schema.names import KEY, apply_names

            apply_names(self._pte, problems)
            try:
                digests_of(self._pte)
            except InvalidFile as error:
                problems.add(error)
            if keys != {KEY}:
                from et_vm.verify.guard_checks import verify_guards

                verify_guards(self._pte, problems)
        join_initial_state(self._pte)

    def verify_plan(self, index: int, problems: Problems = FIRST) -> Sequence[Instruction] | None:
        """Check method `index` by itself and return its instructions; None if one of them is not what it should
        be, or registers are named that do not exist, which is reported.
        """
        plan, malformed = self._pte.program.execution_plan[index], self._pte.malformed
        where = f"execution_plan[{index}]"
        _verify_arenas(plan, where, malformed, problems)
        for at, operator in enumerate(plan.operators):
            if not operator.name and id(operator) not in malformed:
                problems.add(InvalidFile("operator without a name", where=f"{where}.operators[{at}].name"))
        for at, delegate in enumerate(plan.delegates):
            if id(delegate) not in malformed:
                _verify_delegate(delegate, f"{where}.delegates[{at}]", malformed, problems)
        tensors: list[tuple[int, Tensor]] = []
        values = values_of(plan)
        for at in range(len(plan.values)) if values is None else self._unclear(values, plan):
            value = plan.values[at]
            table = value.val
            if isinstance(table, Tensor):
                path = f"{where}.values[{at}].val"
                if verify_tensor(table, plan, self._pte, self._bools, path, problems):
                    tensors.append((at, table))
            elif table is None and id(value) not in malformed:
                problems.add(InvalidFile("value without a type", where=f"{where}.values[{at}].val"))
        verify_initial_states(tensors, where, problems)
        complete = _verify_inputs_and_outputs(plan, where, problems)
        code = None if problems.collects else code_of(plan, where)
        instructions = flatten(plan, where, malformed, problems) if code is None else code
        if len(instructions) == sum(len(chain.instructions) for chain in plan.chains):
            assigned = {instruction.assigned for instruction in unusual(instructions)}
        else:
            assigned, complete = _last_operands(plan), False
        if malformed and any(
            id(part) in malformed for chain in plan.chains for part in (chain, *chain.instructions)
        ):
            assigned, complete = None, False
        lengths: dict[int, int] = {}
        suspicious: Iterable[int] = range(len(plan.values))
        if values is not None:
            lengths, suspicious = _sound_lists(values, plan)
        for at in suspicious:
            table = plan.values[at].val
            if isinstance(table, _LISTS):
                lengths[at] = len(table.items)
                complete &= _verify_list(table, plan, assigned, f"{where}.values[{at}].val", problems)
        self._count_mentions(plan, instructions, lengths, where, problems)
        if code is None or values is None:
            for instruction in instructions:
                _verify_writes(instruction, plan, problems)
        else:
            # A call writes what its last argument says.
            last = code.args.items[code.args.starts[1:] - 1]
            writing = code.usual & (values.constant[last] | _IS_LIST[values.kinds[last]])
            for instruction in (*code.unusual, *code.some(code.at[writing])):
                _verify_writes(instruction, plan, problems)
        return instructions if complete else None

    def _unclear(self, values: Values, plan: ExecutionPlan) -> list[int]:
        """The values that have to be looked at by themselves: those of no kind, and tensors that may have a fault."""
        unclear = values.kinds == 0
        unclear[values.tensors] = True
        if values.columns is not None:
            unclear[values.tensors] = ~sound_tensors(values.columns, plan, self._pte)
        return np.flatnonzero(unclear).tolist()

    def _count_mentions(
        self,
        plan: ExecutionPlan,
        instructions: Sequence[Instruction],
        lengths: Mapping[int, int],
        where: str,
        problems: Problems,
    ) -> None:
        """Report instructions that name more registers in all than so long a file can mean. `lengths` are those of the
        lists.
        """
        named = Counter(plan.outputs)
        if isinstance(instructions, Code):
            times = np.bincount(instructions.args.items, minlength=len(plan.values))
            count = len(instructions.args.items) + sum(int(times[at]) * lengths[at] for at in lengths)
            for instruction in instructions.unusual:
                if instruction.opcode.mnemonic != "call":
                    named.update(instruction.args)
        else:
            count = 0
            for instruction in instructions:
                named.update(instruction.args)
        count += named.total() + sum(times * lengths.get(at, 0) for at, times in named.items())
        self._mentions_left -= count
        if self._mentions_left < 0:
            fault = f"the instructions name {count} registers, too many for a file of this size"
            problems.add(InvalidFile(fault, where=f"{where}.chains"))


def _sound_lists(values: Values, plan: ExecutionPlan) -> tuple[dict[int, int], list[int]]:
    """The lengths of the lists whose items hold what such lists do, and the other lists."""
    lengths: dict[int, int] = {}
    others: list[int] = []
    for kind in _LISTS:
        registers, items, starts = values.lists(plan, kind)
        wanted, none = _wanted(kind)
        exists = (items >= 0) & (items < len(values.kinds))
        held = values.kinds[np.where(exists, items, 0)]
        good = exists & np.isin(held, [KINDS.index(one) + 1 for one in wanted])
        if none:
            good |= items == -1
        bad = np.cumsum([0, *~good])
        sound = bad[starts[1:]] == bad[starts[:-1]]
        lengths.update(zip(registers[sound].tolist(), np.diff(starts)[sound].tolist(), strict=True))
        others += registers[~sound].tolist()
    return lengths, sorted(others)


def _wanted(kind: type) -> tuple[tuple[type, ...], bool]:
    """What the items of a kind of list hold, and whether they may be -1."""
    if kind is IntList:
        return (Int,), False
    return ((Tensor,), False) if kind is TensorList else ((Tensor, Null), True)


def _verify_delegate(delegate: BackendDelegate, where: str, malformed: Set[int], problems: Problems) -> None:
    if not delegate.id:
        problems.add(InvalidFile("delegate without a backend id", where=f"{where}.id"))
    for at, spec in enumerate(delegate.compile_specs):
        if not spec.key and id(spec) not in malformed:
            path = f"{where}.compile_specs[{at}].key"
            problems.add(InvalidFile("compile spec without a key", where=path))


def _verify_arenas(plan: ExecutionPlan, where: str, malformed: Set[int], problems: Problems) -> None:
    for memory_id, size in enumerate(plan.non_const_buffer_sizes):
        if size < 0:
            path = f"{where}.non_const_buffer_sizes[{memory_id}]"
            problems.add(InvalidFile(f"arena {memory_id} has {size} bytes", where=path))
    count = len(plan.non_const_buffer_sizes)
    for at, device in enumerate(plan.non_const_buffer_device):
        path = f"{where}.non_const_buffer_device[{at}]"
        if id(device) in malformed:
            continue
        if not 0 <= device.buffer_idx < count:
            fault = f"arena {device.buffer_idx} is out of range: {count} exist"
            problems.add(InvalidFile(fault, where=f"{path}.buffer_idx"))
        if device.device_type != DeviceType.CPU:
            fault = f"arena on device {device.device_type.name}"
            problems.add(InvalidFile(fault, code=Error.NotSupported, where=f"{path}.device_type"))


def _last_operands(plan: ExecutionPlan) -> set[int | None]:
    """The registers that instructions may make hold something else, if each of them is what it seems to be."""
    found: set[int | None] = set()
    for chain in plan.chains:
        for holder in chain.instructions:
            arguments = holder.instr_args
            if isinstance(arguments, KernelCall):
                found.update(arguments.args[-1:])
            elif isinstance(arguments, MoveCall):
                found.add(arguments.move_to)
    return found


def _verify_inputs_and_outputs(plan: ExecutionPlan, where: str, problems: Problems) -> bool:
    """Returns whether all of them exist."""
    good = check_registers(plan.outputs, plan, f"{where}.outputs", problems)
    if not check_registers(plan.inputs, plan, f"{where}.inputs", problems):
        return False
    for at, register in enumerate(plan.inputs):
        table = plan.values[register].val
        kind = type(table).__name__
        path = f"{where}.inputs[{at}]"
        if table is None:
            continue
        if kind not in _INPUT_TYPES:
            problems.add(InvalidFile(f"input of type {kind}", code=Error.NotSupported, where=path))
        elif is_constant(table):
            problems.add(InvalidFile("a constant cannot be an input", where=path))
    return good


def _verify_list(
    table: IntList | TensorList | OptionalTensorList,
    plan: ExecutionPlan,
    assigned: Set[int | None] | None,
    where: str,
    problems: Problems,
) -> bool:
    """Check the items of a list; returns whether all of them exist. What the registers that are `assigned` (None: any
    may be) hold is not known here, but a list in a list would be no value of any kind.
    """
    good = True
    wanted, none = _wanted(type(table))
    for at, item in enumerate(table.items):
        if none and item == -1:
            continue
        path = f"{where}.items[{at}]"
        if not 0 <= item < len(plan.values):
            fault = f"value {item} does not exist, there are {len(plan.values)}"
            problems.add(InvalidFile(fault, where=path))
            good = False
            continue
        held = plan.values[item].val
        if held is None or isinstance(held, wanted):
            continue
        if isinstance(held, _LISTS) or (assigned is not None and item not in assigned):
            names = " or ".join(kind.__name__ for kind in wanted)
            problems.add(
                InvalidFile(
                    f"item is value {item}, a {type(held).__name__}, not {names}",
                    code=Error.InvalidType if none else Error.InvalidProgram,
                    where=path,
                )
            )
    return good


def _verify_writes(instruction: Instruction, plan: ExecutionPlan, problems: Problems) -> None:
    for register in written_tensors(instruction, plan):
        if 0 <= register < len(plan.values) and is_constant(plan.values[register].val):
            problems.add(
                InvalidFile(
                    f"{instruction.name} writes to value {register}, a constant",
                    where=f"{instruction.where}.args",
                )
            )
