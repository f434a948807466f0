"""Instruction lists of plans: checked, flat, registers as tuples.

A plan may have several chains, which run one after the other; here they are one list, and jumps have
indices into it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from et_ops.conventions import ET_VIEW, is_in_place, mutated_arguments
from et_schema.errors import FIRST, InvalidFile, Problems
from et_schema.program import (
    DelegateCall,
    FreeCall,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    TensorList,
)
from et_schema.program import Tensor as TensorTable
from et_vm.kernels.prims import PRIMS, Prim
from et_vm.load.opcodes import BY_TABLE, Opcode

if TYPE_CHECKING:
    from et_schema.program import Chain, ExecutionPlan, Frame, InstructionArguments, Operator


class Instruction:
    """One instruction.

    `args` are the registers it names: all arguments of a call; source and target of a move; the condition
    of a jump; the freed register. `name` is the operator, the backend's id, or the mnemonic. `callee`
    is the index of the operator or delegate, `target` the flat index a jump goes to (-1 for the others),
    `prim` the primitive operator that is called, if it is one.
    """

    __slots__ = ("args", "callee", "frames", "index", "name", "opcode", "position", "prim", "target", "where")

    def __init__(
        self, index: int, position: int, where: str, opcode: Opcode, frames: Sequence[Frame]
    ) -> None:
        self.index = index
        self.position = position
        self.where = where
        self.opcode = opcode
        self.frames = frames
        self.name = opcode.mnemonic
        self.args: tuple[int, ...] = ()
        self.callee = -1
        self.target = -1
        self.prim: Prim | None = None

    @property
    def is_view(self) -> bool:
        """Whether this points its last argument at the bytes of its first, in a shape of its own."""
        return self.prim is not None and self.prim.name == ET_VIEW

    @property
    def assigned(self) -> int | None:
        """The register that this makes hold something else: the target of a move, the output of a prim."""
        if self.opcode.mnemonic == "move" or (self.prim is not None and not self.prim.in_place):
            return self.args[-1]
        return None

    def __repr__(self) -> str:
        return f"{self.index}: {self.name}{self.args}" + (f" -> {self.target}" if self.target >= 0 else "")


def operator_name(operator: Operator) -> str:
    """`aten::add.out`, or `aten::copy_` when the overload is empty."""
    return f"{operator.name}.{operator.overload}" if operator.overload else operator.name


def flatten(
    plan: ExecutionPlan,
    where: str,
    malformed: Set[int] = frozenset(),
    problems: Problems = FIRST,
) -> list[Instruction]:
    """The instructions of all chains of `plan`, whose table path is `where`.

    Reports a missing chain or instruction, an index of a register, operator or delegate that does not exist, and a
    jump that leaves its chain (its end is the last place it may go to). If that does not raise, the instruction is
    left out, as those are that `malformed` stands for.
    """
    if not plan.chains:
        problems.add(InvalidFile("the method has no chain of instructions", where=f"{where}.chains"))
    flat: list[Instruction] = []
    names = [operator_name(operator) for operator in plan.operators]
    base = 0
    for number, chain in enumerate(plan.chains):
        path = f"{where}.chains[{number}]"
        check_registers(chain.inputs, plan, f"{path}.inputs", problems)
        check_registers(chain.outputs, plan, f"{path}.outputs", problems)
        for position, holder in enumerate(chain.instructions):
            if id(holder) in malformed:
                continue
            made = _instruction(plan, chain, position, path, names, base, malformed, problems)
            if made is not None:
                flat.append(made)
        base += len(chain.instructions)
    return flat


def _instruction(
    plan: ExecutionPlan,
    chain: Chain,
    position: int,
    path: str,
    names: list[str],
    base: int,
    malformed: Set[int],
    problems: Problems,
) -> Instruction | None:
    """One instruction; None if it is not what it should be, which is reported."""
    arguments = chain.instructions[position].instr_args
    place = f"{path}.instructions[{position}].instr_args"
    if arguments is None:
        problems.add(InvalidFile("instruction without arguments", where=place))
        return None
    opcode = BY_TABLE[type(arguments).__name__]
    instruction = Instruction(base + position, position, place, opcode, _frames(chain, position))
    length = len(chain.instructions)
    good = _decode(instruction, arguments, plan, names, base, length, malformed, problems)
    return instruction if good else None


def decoded(plan: ExecutionPlan, chain: Chain, position: int, path: str, names: list[str]) -> Instruction:
    """One instruction of the only chain of a plan, whose table path is `path`. Raises InvalidFile."""
    made = _instruction(plan, chain, position, path, names, 0, frozenset(), FIRST)
    assert made is not None  # else it has raised
    return made


def _frames(chain: Chain, position: int) -> Sequence[Frame]:
    return chain.stacktrace[position].items if position < len(chain.stacktrace) else ()


def _decode(
    instruction: Instruction,
    arguments: InstructionArguments,
    plan: ExecutionPlan,
    names: list[str],
    base: int,
    length: int,
    malformed: Set[int],
    problems: Problems,
) -> bool:
    """Fill in the operands; returns whether all of them are what they should be."""
    where = instruction.where
    values = len(plan.values)
    if isinstance(arguments, KernelCall):
        instruction.callee = arguments.op_index
        instruction.args = tuple(arguments.args)
        good = _check_index("operator", arguments.op_index, len(names), f"{where}.op_index", problems)
        if good:
            good = id(plan.operators[arguments.op_index]) not in malformed
            instruction.name = names[arguments.op_index]
            instruction.prim = PRIMS.get(instruction.name)
        good &= check_registers(arguments.args, plan, f"{where}.args", problems)
        if not arguments.args:
            fault = f"call of {instruction.name} without arguments"
            problems.add(InvalidFile(fault, where=f"{where}.args"))
            good = False
    elif isinstance(arguments, DelegateCall):
        instruction.callee = arguments.delegate_index
        instruction.args = tuple(arguments.args)
        path = f"{where}.delegate_index"
        good = _check_index("delegate", arguments.delegate_index, len(plan.delegates), path, problems)
        if good:
            instruction.name = plan.delegates[arguments.delegate_index].id
        good &= check_registers(arguments.args, plan, f"{where}.args", problems)
    elif isinstance(arguments, MoveCall):
        instruction.args = (arguments.move_from, arguments.move_to)
        good = _check_index("value", arguments.move_from, values, f"{where}.move_from", problems)
        good &= _check_index("value", arguments.move_to, values, f"{where}.move_to", problems)
    elif isinstance(arguments, JumpFalseCall):
        instruction.args = (arguments.cond_value_index,)
        path = f"{where}.cond_value_index"
        good = _check_index("value", arguments.cond_value_index, values, path, problems)
        target = arguments.destination_instruction
        instruction.target = base + target
        if not 0 <= target <= length:
            problems.add(
                InvalidFile(
                    f"jump to instruction {target} of a chain of {length}",
                    where=f"{where}.destination_instruction",
                )
            )
            good = False
    else:
        assert isinstance(arguments, FreeCall)
        instruction.args = (arguments.value_index,)
        good = _check_index("value", arguments.value_index, values, f"{where}.value_index", problems)
    return good


def _check_index(what: str, index: int, count: int, where: str, problems: Problems) -> bool:
    if 0 <= index < count:
        return True
    problems.add(InvalidFile(f"{what} {index} is out of range: {count} exist", where=where))
    return False


def check_registers(
    indices: Sequence[int], plan: ExecutionPlan, where: str, problems: Problems = FIRST
) -> bool:
    """Report those of `indices` that are no registers of `plan`; returns whether there are none."""
    count = len(plan.values)
    if not indices or (min(indices) >= 0 and max(indices) < count):
        return True
    for at, index in enumerate(indices):
        _check_index("value", index, count, f"{where}[{at}]", problems)
    return False


def call_outputs(instruction: Instruction, plan: ExecutionPlan) -> tuple[int, ...]:
    """The registers a kernel call writes: its last argument, or the items of that when it is a tensor
    list.
    """
    last = plan.values[instruction.args[-1]].val
    if isinstance(last, TensorList):
        return tuple(last.items)
    return (instruction.args[-1],)


def call_inputs(instruction: Instruction, plan: ExecutionPlan) -> tuple[int, ...]:
    """The arguments of a kernel call that are not its outputs, which it lists twice; those of an operator that works in
    place are both.
    """
    outputs = call_outputs(instruction, plan)
    inputs = instruction.args[:-1]
    if is_in_place(instruction.name) or inputs[-len(outputs) :] != outputs:
        return inputs
    return inputs[: -len(outputs)]


def written_tensors(instruction: Instruction, plan: ExecutionPlan) -> tuple[int, ...]:
    """The registers of the tensors whose bytes a call of a kernel or prim writes."""
    if instruction.opcode.mnemonic != "call":
        return ()
    if instruction.prim is None:
        outputs = call_outputs(instruction, plan)
        changed = changed_tensors(instruction)
        return outputs if not changed else tuple(dict.fromkeys((*outputs, *changed)))
    return instruction.args[:1] if instruction.prim.in_place else ()


def changed_tensors(instruction: Instruction) -> tuple[int, ...]:
    """The registers of tensors that a call of a kernel may change in part, and so reads as well."""
    args = instruction.args
    return tuple(args[at] for at in mutated_arguments(instruction.name) if at < len(args))


def written_registers(instruction: Instruction, plan: ExecutionPlan) -> tuple[int, ...]:
    """The registers an instruction writes, by value or by bytes; all of a delegate's, which does not say
    which are its outputs.
    """
    if instruction.assigned is not None:
        return (instruction.assigned,)
    if instruction.opcode.mnemonic == "delegate":
        return instruction.args
    return written_tensors(instruction, plan)


def is_constant(table: object) -> bool:
    """Whether a value is a tensor whose bytes are in the file (or in a data file) and may not be written."""
    if not isinstance(table, TensorTable) or table.allocation_info is not None:
        return False
    extra = table.extra_tensor_info
    return table.data_buffer_idx > 0 or (extra is not None and extra.location != 0)
