"""Initial contents of state, beside its registers.

In upstream's schema a register of state has its initial contents, by `data_buffer_idx`, its place and its name. Viewers
do not open files in which instructions use such a register (Netron 9.3). So a method has two values for it: the
register, with the name, and another of the same place, that nothing uses, with the contents. A runtime that loads all
values puts them there.
"""

from __future__ import annotations

from dataclasses import replace

from et_schema.program import ExecutionPlan, Tensor, TensorDataLocation
from et_schema.pte import PteFile

__all__ = ["join_initial_state", "split_initial_state"]


def split_initial_state(register: Tensor) -> Tensor:
    """Take the initial contents from a register; the other value, which has them."""
    contents = replace(register, extra_tensor_info=None)
    register.data_buffer_idx = 0
    return contents


def join_initial_state(pte: PteFile) -> dict[str, set[int]]:
    """Give the registers of a file's state the initial contents that other values of their place have; by method
    these other values.
    """
    if not pte.program.mutable_data_segments:
        return {}
    return {plan.name: _join(plan) for plan in pte.program.execution_plan}


def _join(plan: ExecutionPlan) -> set[int]:
    tensors = [(at, value.val) for at, value in enumerate(plan.values) if isinstance(value.val, Tensor)]
    contents = {
        _key(tensor): at
        for at, tensor in tensors
        if tensor.allocation_info is not None and tensor.data_buffer_idx and tensor.extra_tensor_info is None
    }
    joined: set[int] = set()
    for _, tensor in tensors if contents else ():
        info = tensor.extra_tensor_info
        at = contents.get(_key(tensor))
        if (
            at is None
            or info is None
            or not info.fully_qualified_name
            or info.mutable_data_segments_idx
            or info.location != TensorDataLocation.SEGMENT
        ):
            continue
        other = plan.values[at].val
        assert isinstance(other, Tensor)
        if tensor.data_buffer_idx in (0, other.data_buffer_idx):
            tensor.data_buffer_idx = other.data_buffer_idx
            joined.add(at)
    return joined


def _key(tensor: Tensor) -> tuple[object, ...]:
    """What a register and its contents have in common."""
    place = tensor.allocation_info
    where = None if place is None else (place.memory_id, place.memory_offset_low, place.memory_offset_high)
    return where, tensor.scalar_type, tuple(tensor.sizes), bytes(tensor.dim_order)
