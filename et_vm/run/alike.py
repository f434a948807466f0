"""Calls that are alike: their steps differ in nothing but the bytes that they compute on.

Alike are calls of one operator whose arguments have the same types, sizes and layouts, are the same numbers, and have
the same bytes in common. A kernel sees nothing else of its arguments, unless it looks at the data of constants, which
it asks for first (`Tensor.constant`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from math import copysign
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from et_schema.program import TensorShapeDynamism
from et_vm.values import ListRegister, Tensor

if TYPE_CHECKING:
    from et_vm.load.instructions import Instruction

__all__ = ["CallKey", "CallKinds", "Place"]

CallKey: TypeAlias = tuple[object, ...]
"""Equal for calls that are alike."""

_MOST_TENSORS = 8
"""Of a call that may be like another: all pairs are compared."""


class Place(NamedTuple):
    """Bytes `start` to `end` of the memory number `memory`."""

    memory: int
    start: int
    end: int


class CallKinds:
    """Tells which calls of a plan are alike, given what its registers hold, where that is, and which of them come to
    hold something else.
    """

    def __init__(
        self, registers: Sequence[object], places: Sequence[Place | None], changing: Set[int]
    ) -> None:
        self._registers = registers
        self._places = places
        numbers: dict[object, int] = {}
        described = [
            None if at in changing else _described(value, places[at]) for at, value in enumerate(registers)
        ]
        # Lists are described by their items.
        self._tensors: list[tuple[int, ...]] = [
            (at,) if isinstance(value, Tensor) else () for at, value in enumerate(registers)
        ]
        for at, value in enumerate(registers):
            if isinstance(value, ListRegister) and at not in changing:
                items = [described[item] if item >= 0 else ("Null",) for item in value.items]
                if None not in items and not any(
                    isinstance(registers[item], ListRegister) for item in value.items if item >= 0
                ):
                    described[at] = (value.kind, *items)
                    self._tensors[at] = tuple(
                        [item for item in value.items if item >= 0 and isinstance(registers[item], Tensor)]
                    )
        self._numbers = [-1 if kind is None else numbers.setdefault(kind, len(numbers)) for kind in described]

    def tensors(self, instruction: Instruction) -> tuple[int, ...]:
        """The registers of the tensors that a call is given, also in lists, each once."""
        tensors = self._tensors
        found: list[int] = []
        for register in instruction.args[:-1]:
            found += tensors[register]
        return tuple(dict.fromkeys(found))

    def key(self, instruction: Instruction, tensors: Sequence[int]) -> CallKey | None:
        """What a call of a kernel has in common with those that are like it; None for one that is like no other.
        `tensors` are what the method of that name returns.
        """
        args, numbers = instruction.args, self._numbers
        kinds = [numbers[register] for register in args]
        if min(kinds) < 0 or len(tensors) > _MOST_TENSORS:
            return None
        key = (instruction.callee, *kinds)
        if (
            len(args) < 2
            or args[-1] != args[-2]
            or len(tensors) != sum(len(self._tensors[at]) for at in args[:-1])
        ):
            # Which of the arguments are the same, and which the outputs are that the last one repeats.
            ordinals: dict[int, int] = {}
            named = (item for at in args for item in (self._tensors[at] or (at,)))
            key += ("same", *(ordinals.setdefault(register, len(ordinals)) for register in named))
        common = self._common_bytes(tensors)
        return (*key, common) if common else key

    def _common_bytes(self, tensors: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
        """The pairs of tensors that have bytes in common, and how far apart they start."""
        found: list[tuple[int, int, int]] = []
        before: list[Place] = []
        for second, register in enumerate(tensors):
            b = cast("Place", self._places[register])
            memory, start, end = b
            for first, a in enumerate(before):
                if a[0] == memory and a[1] < end and start < a[2]:
                    found.append((first, second, start - a[1]))
            before.append(b)
        return tuple(found)


def _described(value: object, place: Place | None) -> tuple[object, ...] | None:
    """What kernels see of a value but for bytes; None if that can change, or is not known."""
    if isinstance(value, Tensor):
        storage = value.storage
        if place is None or storage is None or value.dynamism != TensorShapeDynamism.STATIC:
            return None
        return (
            value.scalar_type,
            value.sizes,
            value.dim_order,
            value.is_constant,
            value.capacity_bytes,
            storage.size,
            storage.flags.writeable,
        )
    if isinstance(value, float):
        # -0.0 equals 0.0, but a kernel may tell them apart.
        return ("Double", value, copysign(1.0, value))
    if isinstance(value, list):
        return (*(_described(item, None) for item in cast("list[object]", value)), "list")
    if isinstance(value, ListRegister):
        return None
    return (type(value).__name__, value)
