"""Initial contents of state, beside its registers.

In upstream's schema a register of state has its initial contents, by `data_buffer_idx`, its place and its name. Viewers
do not open files in which instructions use such a register (Netron 9.3). So a method has two values for it: the
register, with the name, and another of the same place, that nothing uses, with the contents. A runtime that loads all
values puts them there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from et_schema.program import (
    DelegateCall,
    ExecutionPlan,
    FreeCall,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Null,
    OptionalTensorList,
    Tensor,
    TensorDataLocation,
    TensorList,
)
from et_schema.pte import PteFile

__all__ = ["join_initial_state", "split_initial_state"]


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
        contents = {_key(value.val): at for at, value in enumerate(plan.values) if _has_contents(value.val)}
        used = set(_used(plan)) if contents else set[int]()
        joined: set[int] = set()
        for value in plan.values if contents else ():
            at = contents.get(_key(value.val))
            if at is None or at in used or not _is_state(value.val):
                continue
            register, other = value.val, plan.values[at].val
            assert isinstance(register, Tensor)
            assert isinstance(other, Tensor)
            register.data_buffer_idx = other.data_buffer_idx
            joined.add(at)
        for at in joined:
            plan.values[at].val = Null()


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
    for value in plan.values:
        if isinstance(value.val, IntList | TensorList | OptionalTensorList):
            yield from value.val.items
    for chain in plan.chains:
        for instruction in chain.instructions:
            match instruction.instr_args:
                case KernelCall(args=args) | DelegateCall(args=args):
                    yield from args
                case MoveCall() as move:
                    yield from (move.move_from, move.move_to)
                case JumpFalseCall(cond_value_index=index) | FreeCall(value_index=index):
                    yield index
                case None:
                    pass
