"""The instruction list of a plan in the form that the VM works on: checked, flat, registers as tuples.

A plan may have several chains, which run one after the other; here they are one list, and jumps have
indices into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from et_schema.errors import InvalidFile
from et_schema.generated.program import (
    DelegateCall,
    FreeCall,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    TensorList,
)
from et_schema.generated.program import Tensor as TensorTable
from et_vm.opcodes import BY_TABLE, Opcode
from et_vm.prims import PRIMS, VIEW, Prim

if TYPE_CHECKING:
    from et_schema.generated.program import Chain, ExecutionPlan, Frame, InstructionArguments, Operator


class Instruction:
    """One instruction.

    ``args`` are the registers it names: all arguments of a call; source and target of a move; the condition
    of a jump; the freed register. ``name`` is the operator, the backend's id, or the mnemonic. ``callee``
    is the index of the operator or delegate, ``target`` the flat index a jump goes to (-1 for the others),
    ``prim`` the primitive operator that is called, if it is one.
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
        return self.prim is not None and self.prim.name == VIEW

    @property
    def assigned(self) -> int | None:
        """The register that this makes hold something else: the target of a move, the output of a prim."""
        if self.opcode.mnemonic == "move" or (self.prim is not None and not self.prim.in_place):
            return self.args[-1]
        return None

    def __repr__(self) -> str:
        return f"{self.index}: {self.name}{self.args}" + (f" -> {self.target}" if self.target >= 0 else "")


def operator_name(operator: Operator) -> str:
    """``aten::add.out``, or ``aten::copy_`` when the overload is empty."""
    return f"{operator.name}.{operator.overload}" if operator.overload else operator.name


def flatten(plan: ExecutionPlan, where: str) -> list[Instruction]:
    """The instructions of all chains of ``plan``, whose table path is ``where``.

    Raises InvalidFile for a missing chain or instruction, an index of a register, operator or delegate that
    does not exist, and a jump that leaves its chain (its end is the last place it may go to).
    """
    if not plan.chains:
        raise InvalidFile("the method has no chain of instructions", where=f"{where}.chains")
    flat: list[Instruction] = []
    names = [operator_name(operator) for operator in plan.operators]
    for number, chain in enumerate(plan.chains):
        path = f"{where}.chains[{number}]"
        check_registers(chain.inputs, plan, f"{path}.inputs")
        check_registers(chain.outputs, plan, f"{path}.outputs")
        base = len(flat)
        for position, holder in enumerate(chain.instructions):
            arguments = holder.instr_args
            place = f"{path}.instructions[{position}]"
            if arguments is None:
                raise InvalidFile("instruction without arguments", where=f"{place}.instr_args")
            place = f"{place}.instr_args"
            opcode = BY_TABLE[type(arguments).__name__]
            instruction = Instruction(len(flat), position, place, opcode, _frames(chain, position))
            _decode(instruction, arguments, plan, names, base, len(chain.instructions))
            flat.append(instruction)
    return flat


def _frames(chain: Chain, position: int) -> Sequence[Frame]:
    return chain.stacktrace[position].items if position < len(chain.stacktrace) else ()


def _decode(
    instruction: Instruction,
    arguments: InstructionArguments,
    plan: ExecutionPlan,
    names: list[str],
    base: int,
    length: int,
) -> None:
    where = instruction.where
    if isinstance(arguments, KernelCall):
        instruction.callee = arguments.op_index
        if not 0 <= arguments.op_index < len(names):
            raise _no_such("operator", arguments.op_index, len(names), f"{where}.op_index")
        instruction.name = names[arguments.op_index]
        instruction.prim = PRIMS.get(instruction.name)
        check_registers(arguments.args, plan, f"{where}.args")
        instruction.args = tuple(arguments.args)
        if not arguments.args:
            raise InvalidFile(f"call of {instruction.name} without arguments", where=f"{where}.args")
    elif isinstance(arguments, DelegateCall):
        instruction.callee = arguments.delegate_index
        if not 0 <= arguments.delegate_index < len(plan.delegates):
            raise _no_such(
                "delegate", arguments.delegate_index, len(plan.delegates), f"{where}.delegate_index"
            )
        instruction.name = plan.delegates[arguments.delegate_index].id
        check_registers(arguments.args, plan, f"{where}.args")
        instruction.args = tuple(arguments.args)
    elif isinstance(arguments, MoveCall):
        _check_register(arguments.move_from, plan, f"{where}.move_from")
        _check_register(arguments.move_to, plan, f"{where}.move_to")
        instruction.args = (arguments.move_from, arguments.move_to)
    elif isinstance(arguments, JumpFalseCall):
        _check_register(arguments.cond_value_index, plan, f"{where}.cond_value_index")
        instruction.args = (arguments.cond_value_index,)
        target = arguments.destination_instruction
        if not 0 <= target <= length:
            raise InvalidFile(
                f"jump to instruction {target} of a chain of {length}",
                where=f"{where}.destination_instruction",
            )
        instruction.target = base + target
    else:
        assert isinstance(arguments, FreeCall)
        _check_register(arguments.value_index, plan, f"{where}.value_index")
        instruction.args = (arguments.value_index,)


def _no_such(what: str, index: int, count: int, where: str) -> InvalidFile:
    return InvalidFile(f"{what} {index} does not exist, there are {count}", where=where)


def _check_register(index: int, plan: ExecutionPlan, where: str) -> None:
    if not 0 <= index < len(plan.values):
        raise _no_such("value", index, len(plan.values), where)


def check_registers(indices: Sequence[int], plan: ExecutionPlan, where: str) -> None:
    """Raise InvalidFile unless all ``indices`` are registers of ``plan``."""
    if indices and not (min(indices) >= 0 and max(indices) < len(plan.values)):
        at = next(at for at, index in enumerate(indices) if not 0 <= index < len(plan.values))
        _check_register(indices[at], plan, f"{where}[{at}]")


def call_outputs(instruction: Instruction, plan: ExecutionPlan) -> tuple[int, ...]:
    """The registers a kernel call writes: its last argument, or the items of that when it is a tensor
    list.
    """
    last = plan.values[instruction.args[-1]].val
    if isinstance(last, TensorList):
        return tuple(last.items)
    return (instruction.args[-1],)


def written_tensors(instruction: Instruction, plan: ExecutionPlan) -> tuple[int, ...]:
    """The registers of the tensors whose bytes a call of a kernel or prim writes."""
    if instruction.opcode.mnemonic != "call":
        return ()
    if instruction.prim is None:
        return call_outputs(instruction, plan)
    return instruction.args[:1] if instruction.prim.in_place else ()


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
