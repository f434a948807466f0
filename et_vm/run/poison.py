"""Poison mode: arena bytes that nobody may read hold patterns that show.

A lifetime bug (two live tensors planned into the same bytes, a read of what was never written) usually goes
unnoticed, because the bytes happen to hold something plausible. Here every arena starts filled with
`FLOAT_POISON`, and when an instruction reads a register for the last time its bytes are filled again:
0xFF, which is NaN in every float format, for floats, and 0xA5, a huge negative number that no index
survives, for the others. The same happens to the result of a call just before it, unless the call is given that
register to read: a result planned into the bytes of an operand would pass where a kernel works element by element,
or where numpy makes a copy of what overlaps, and fail elsewhere.

`et_vm.verify.liveness` finds out which bytes those are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from et_schema.program import Tensor
from et_vm.verify.plan import tensor_bytes

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.run.memory import MemoryManager
    from et_vm.values import Array
    from et_vm.verify.liveness import ByteLiveness, Range

FLOAT_POISON = 0xFF
OTHER_POISON = 0xA5


def poison_arenas(memory: MemoryManager, plans: Sequence[tuple[ExecutionPlan, ByteLiveness]]) -> None:
    """Fill new arenas with poison, except the mutable buffers of `plans`, which start as zeros.

    State that a plan reads and never writes is poisoned too, unless another method may be the one to write
    it.
    """
    memory.fill(FLOAT_POISON)
    for plan, _ in plans:
        for value in reversed(plan.values):
            table = value.val
            if (
                isinstance(table, Tensor)
                and table.allocation_info is not None
                and not table.scalar_type.is_floating
            ):
                allocation = table.allocation_info
                start = allocation.memory_offset_high << 32 | allocation.memory_offset_low
                bank = memory.bank(allocation.memory_id, 0)
                bank[start : start + tensor_bytes(table)].fill(OTHER_POISON)
    for _, liveness in plans:
        for memory_id, start, end, _ in liveness.written_state if len(plans) == 1 else liveness.state:
            memory.bank(memory_id, 0)[start:end].fill(0)


def bind_ranges(ranges: Sequence[Range], memory: MemoryManager) -> list[tuple[Array, int]]:
    """Views of `ranges` with the pattern for each."""
    return [
        (memory.bank(memory_id, 0)[start:end], FLOAT_POISON if floating else OTHER_POISON)
        for memory_id, start, end, floating in ranges
        if end > start
    ]
