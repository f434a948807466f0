"""Optimality certificate of a memory plan, from the file alone.

It gives lower bounds of the sizes of a method's arenas.

What an instruction needs at once has to lie somewhere: the most that any does is a lower bound of the arena, whoever
planned it and however. An arena of that size is optimal. One that is larger need not be too large: the bound is not
always reached, and finding out can take a search.

A program is taken as it is: the order of its instructions, and which tensors share memory as views.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd
from typing import TYPE_CHECKING, Final

from et_schema.program import Tensor
from et_vm.verify.tensors import tensor_bytes

if TYPE_CHECKING:
    from et_vm.program import Program

__all__ = ["ALIGNMENT", "Certificate", "certificates"]

ALIGNMENT: Final = 16
"""The alignment in bytes that a plan is taken to be for, if all of it keeps to that: what runtimes align arenas to."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """An arena of a method: its bytes, and the `bound` that no arena is smaller than whose tensors lie at multiples
    of `alignment`. The bound is what the instruction `moment` needs at once, or the caller who gives inputs (-1) or
    gets outputs (the number of instructions); None if it is the state of all methods.
    """

    nbytes: int
    bound: int
    alignment: int
    moment: int | None = field(default=None, compare=False)

    @property
    def gap(self) -> int:
        """By how many bytes the arena may be larger than it has to be."""
        return self.nbytes - self.bound

    @property
    def optimal(self) -> bool:
        """Whether no arena is smaller, for certain."""
        return self.gap == 0


def certificates(program: Program, method: str) -> dict[int, Certificate]:
    """The certificate of each arena of a method, by the arena's number.

    Raises `ExecutorchError`, OutOfResources, for methods whose lifetimes take too long to find.
    """
    sizes = program.method_meta(method).memory_planned_buffer_sizes()
    granules = dict.fromkeys(sizes, ALIGNMENT)
    for memory_id, size in sizes.items():
        granules[memory_id] = gcd(ALIGNMENT, size)
    for value in program.plan(method).values:
        tensor = value.val
        if isinstance(tensor, Tensor) and tensor.allocation_info is not None:
            allocation = tensor.allocation_info
            low, high = allocation.memory_offset_low, allocation.memory_offset_high
            granules[allocation.memory_id] = gcd(granules[allocation.memory_id], high << 32 | low)
    liveness = program.liveness(method)
    busiest = {granule: liveness.busiest(granule) for granule in sorted(set(granules.values()))}
    state = _state(program)
    found: dict[int, Certificate] = {}
    for memory_id, size in sizes.items():
        granule = granules[memory_id]
        bound, moment = busiest[granule].get(memory_id, (0, -1))
        if state.get(memory_id, 0) >= max(bound, 1):
            found[memory_id] = Certificate(size, state[memory_id], granule)
        else:
            found[memory_id] = Certificate(size, bound, granule, moment)
    return found


def _state(program: Program) -> dict[int, int]:
    """The bytes of the state in each arena that several methods have: it lies there while any of them runs."""
    plans = program.pte.program.execution_plan
    extents: dict[int, set[tuple[int, int]]] = {}
    for plan in plans if len(plans) > 1 else ():
        for value in plan.values:
            tensor = value.val
            if not isinstance(tensor, Tensor) or tensor.allocation_info is None:
                continue
            if tensor.extra_tensor_info is not None and tensor.extra_tensor_info.fully_qualified_name:
                allocation = tensor.allocation_info
                start = allocation.memory_offset_high << 32 | allocation.memory_offset_low
                extents.setdefault(allocation.memory_id, set()).add((start, start + tensor_bytes(tensor)))
    return {memory_id: _covered(sorted(each)) for memory_id, each in extents.items()}


def _covered(extents: list[tuple[int, int]]) -> int:
    total = reached = 0
    for start, end in extents:
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
