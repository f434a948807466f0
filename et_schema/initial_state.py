"""Initial contents of state, beside its registers.

In upstream's schema a register of state has its initial contents, by `data_buffer_idx`, its place and its name. Viewers
do not open files in which instructions use such a register (Netron 9.3). So a method has two values for it: the
register, with the name, and another of the same place, that nothing uses, with the contents. A runtime that loads all
values puts them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from et_schema.program import (
    DelegateCall,
    EValue,
    ExecutionPlan,
    FreeCall,
    Instruction,
    InstructionArguments,
    IntList,
    JumpFalseCall,
    KernelCall,
    KernelTypes,
    MoveCall,
    Null,
    OptionalTensorList,
    Tensor,
    TensorDataLocation,
    TensorList,
)
from et_schema.pte import PteFile

if TYPE_CHECKING:
    from et_schema.columns import Tables

__all__ = ["join_initial_state", "split_initial_state"]

_TENSOR: Final = KernelTypes.__args__.index(Tensor) + 1
_CALL: Final = InstructionArguments.__args__.index(KernelCall) + 1
_LISTS: Final = (IntList, TensorList, OptionalTensorList)
_LIST_TAGS: Final = {KernelTypes.__args__.index(kind) + 1 for kind in _LISTS}


def split_initial_state(register: Tensor) -> Tensor:
    """Take the initial contents from a register; the other value, which has them."""
    contents = replace(register, extra_tensor_info=None)
    register.data_buffer_idx = 0
    return contents


def join_initial_state(pte: PteFile) -> None:
    """Give the registers of a file's state the initial contents that unused values of their place have; these become
    null.
    """
    for plan in pte.program.execution_plan if pte.program.mutable_data_segments else ():
        values = plan.values
        with_contents, with_names = _candidates(values)
        contents = {_key(values[at].val): at for at in with_contents if _has_contents(values[at].val)}
        used = set(_used(plan)) if contents else set[int]()
        joined: set[int] = set()
        for index in with_names if contents else ():
            value = values[index]
            at = contents.get(_key(value.val))
            if at is None or at in used or not _is_state(value.val):
                continue
            register, other = value.val, values[at].val
            assert isinstance(register, Tensor)
            assert isinstance(other, Tensor)
            register.data_buffer_idx = other.data_buffer_idx
            joined.add(at)
        for at in joined:
            plan.values[at].val = Null()


def _candidates(values: list[EValue] | Tables[EValue]) -> tuple[Iterable[int], Iterable[int]]:
    """The values that may have contents, and those that may be state."""
    everything = range(len(values))
    if isinstance(values, list):
        return everything, everything
    which, tensors = values.columns.members("val").members.get(_TENSOR, (None, None))
    if which is None or tensors is None:
        return everything, everything
    planned, _ = tensors.tables("allocation_info")
    named, _ = tensors.tables("extra_tensor_info")
    stored = which[planned[tensors.numbers("data_buffer_idx")[planned] > 0]]
    return stored.tolist(), which[named].tolist()


def _has_contents(value: object) -> bool:
    return (
        isinstance(value, Tensor)
        and value.allocation_info is not None
        and value.data_buffer_idx > 0
        and value.extra_tensor_info is None
    )


def _is_state(value: object) -> bool:
    """Whether a value is state that has a name, and no initial contents."""
    if not isinstance(value, Tensor) or value.data_buffer_idx or value.extra_tensor_info is None:
        return False
    info = value.extra_tensor_info
    return (
        info.fully_qualified_name != ""
        and info.mutable_data_segments_idx == 0
        and info.location == TensorDataLocation.SEGMENT
    )


def _key(value: object) -> tuple[object, ...]:
    """A key that a register and its contents share."""
    if not isinstance(value, Tensor) or value.allocation_info is None:
        return ()
    place = value.allocation_info
    where = (place.memory_id, place.memory_offset_low, place.memory_offset_high)
    return *where, value.scalar_type, tuple(value.sizes), bytes(value.dim_order)


def _used(plan: ExecutionPlan) -> Iterator[int]:
    """The values that something refers to."""
    yield from plan.inputs
    yield from plan.outputs
    yield from _listed(plan.values)
    for chain in plan.chains:
        yield from _named(chain.instructions)


def _listed(values: list[EValue] | Tables[EValue]) -> Iterator[int]:
    """The items of lists of values."""
    candidates: Iterable[int] = range(len(values))
    if not isinstance(values, list):
        candidates = values.columns.members("val").with_tags(_LIST_TAGS)
    for at in candidates:
        value = values[at].val
        if isinstance(value, _LISTS):
            yield from value.items


def _named(instructions: list[Instruction] | Tables[Instruction]) -> Iterator[int]:
    """The values that instructions name."""
    candidates: Iterable[int] = range(len(instructions))
    if not isinstance(instructions, list):
        arguments = instructions.columns.members("instr_args")
        _, calls = arguments.members.get(_CALL, (None, None))
        if calls is not None:
            yield from calls.lists("args").items.tolist()
            candidates = arguments.with_tags(set(arguments.members) - {_CALL})
    for at in candidates:
        match instructions[at].instr_args:
            case KernelCall(args=args) | DelegateCall(args=args):
                yield from args
            case MoveCall() as move:
                yield from (move.move_from, move.move_to)
            case JumpFalseCall(cond_value_index=index) | FreeCall(value_index=index):
                yield index
            case None:
                pass
