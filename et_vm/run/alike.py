"""Calls that are alike: their steps differ in nothing but the bytes that they compute on.

Alike are calls of one operator whose arguments have the same types, sizes and layouts, are the same numbers, and have
the same bytes in common. A kernel sees nothing else of its arguments, unless it looks at the data of constants, which
it asks for first (`Tensor.constant`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import combinations
from math import copysign
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from et_schema.program import TensorShapeDynamism
from et_vm.load.code import Code
from et_vm.run.blueprint import Place, distinct
from et_vm.run.link import kernel_calls
from et_vm.values import ListRegister, Tensor

if TYPE_CHECKING:
    from et_vm.load.instructions import Instruction
    from et_vm.run.blueprint import Blueprint

__all__ = ["CallGroup", "group_calls"]

_Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_MOST_TENSORS = 8
"""Limit of the tensors of a call that may be like another: all pairs are compared."""


class CallGroup(NamedTuple):
    """Calls that are alike, by instruction, with the registers of the tensors that each is given, also in lists."""

    calls: list[int]
    tensors: list[Sequence[int]]


def group_calls(
    instructions: Sequence[Instruction],
    registers: Sequence[object],
    places: Mapping[int, Place],
    changing: Set[int],
    blueprint: Blueprint | None,
) -> tuple[list[CallGroup], list[Instruction]]:
    """The calls of kernels by what they have in common, and those that are like no other.

    `places` says where the tensors of `registers` are that are not in the `blueprint`, or elsewhere than that says;
    `changing` are the registers that come to hold something else.
    """
    kinds = _Kinds(registers, places, changing, blueprint)
    groups: list[CallGroup] = []
    rest: Sequence[Instruction]
    if isinstance(instructions, Code):
        rest = kernel_calls(instructions.unusual)
        found, others = kinds.grouped(instructions)
        groups += found
        rest = [*rest, *instructions.some(others)]
    else:
        rest = kernel_calls(instructions)
    by_key: dict[object, CallGroup] = {}
    single: list[Instruction] = []
    for call in rest:
        tensors = kinds.tensors(call)
        key = kinds.key(call, tensors)
        if key is None:
            single.append(call)
        else:
            group = by_key.setdefault(key, CallGroup([], []))
            group.calls.append(call.index)
            group.tensors.append(tensors)
    return [*groups, *by_key.values()], single


class _Kinds:
    """What kernels see of registers, as a number for each: -1 for what can change, or is not known."""

    def __init__(
        self,
        registers: Sequence[object],
        places: Mapping[int, Place],
        changing: Set[int],
        blueprint: Blueprint | None,
    ) -> None:
        count = len(registers)
        self._registers = registers
        self._places = places
        self._blueprint = blueprint
        self._numbers = np.full(count, -1)
        self._is_tensor = np.zeros(count, bool)
        self._memory, self._start, self._end = (np.full(count, -1) for _ in range(3))
        described: Iterable[int] = range(count)
        if blueprint is not None:
            self._numbers = blueprint.kinds.copy()
            self._is_tensor = blueprint.memory >= 0
            self._memory, self._start, self._end = (
                array.copy() for array in (blueprint.memory, blueprint.start, blueprint.end)
            )
            described = dict.fromkeys((*blueprint.others, *blueprint.settled, *places))
        self._listed: dict[int, tuple[int, ...]] = {}
        """The tensors in lists of tensors."""
        first = int(self._numbers.max(initial=-1)) + 1
        known: dict[object, int] = {}
        lists: list[int] = []
        for at in described:
            value = registers[at]
            if isinstance(value, ListRegister):
                lists.append(at)
                continue
            place = places.get(at)
            if place is not None:
                self._memory[at], self._start[at], self._end[at] = place
            self._is_tensor[at] = isinstance(value, Tensor)
            kind = _described(value, place)
            self._numbers[at] = -1 if kind is None else known.setdefault(kind, first + len(known))
        self._numbers[list(changing)] = -1
        for at in lists:
            if at not in changing:
                self._describe_list(at, cast("ListRegister", registers[at]), known, first)

    def _describe_list(self, at: int, value: ListRegister, known: dict[object, int], first: int) -> None:
        """Lists are described by their items."""
        numbers = [-2 if item < 0 else int(self._numbers[item]) for item in value.items]
        if -1 not in numbers:
            self._numbers[at] = known.setdefault((value.kind, *numbers), first + len(known))
            tensors = tuple([item for item in value.items if item >= 0 and self._is_tensor[item]])
            if tensors:
                self._listed[at] = tensors

    def tensors(self, instruction: Instruction) -> tuple[int, ...]:
        """The registers of the tensors that a call is given, also in lists, each once."""
        found: list[int] = []
        for register in instruction.args[:-1]:
            found += self._tensors_in(register)
        return tuple(dict.fromkeys(found))

    def _tensors_in(self, register: int) -> tuple[int, ...]:
        return (register,) if self._is_tensor[register] else self._listed.get(register, ())

    def key(self, instruction: Instruction, tensors: Sequence[int]) -> tuple[object, ...] | None:
        """Equal for calls that are alike; None for one that is like no other. `tensors` are what the method of that
        name returns.
        """
        args = instruction.args
        kinds: list[int] = self._numbers[list(args)].tolist()
        if min(kinds) < 0 or len(tensors) > _MOST_TENSORS:
            return None
        # Which of the arguments are the same, and which the outputs are that the last one repeats.
        ordinals: dict[int, int] = {}
        named = (item for at in args for item in (self._tensors_in(at) or (at,)))
        same = tuple([ordinals.setdefault(register, len(ordinals)) for register in named])
        return instruction.callee, tuple(kinds), same, self._common_bytes(tensors)

    def _common_bytes(self, tensors: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
        """The pairs of tensors that have bytes in common, and how far apart they start."""
        places = [(int(self._memory[at]), int(self._start[at]), int(self._end[at])) for at in tensors]
        return tuple(
            [
                (first, second, b[1] - a[1])
                for (first, a), (second, b) in combinations(enumerate(places), 2)
                if a[0] == b[0] and a[1] < b[2] and b[1] < a[2]
            ]
        )

    def grouped(self, code: Code) -> tuple[list[CallGroup], _Array]:
        """The usual calls by what they have in common, as far as arrays tell that, and the instructions of the rest."""
        groups: list[CallGroup] = []
        others: list[_Array] = []
        listed = np.zeros(len(self._numbers), bool)
        listed[list(self._listed)] = True
        usual = np.flatnonzero(code.usual)
        counts = code.args.counts[usual]
        lengths: list[int] = np.unique(counts).tolist()
        for length in lengths:
            rows = usual[counts == length]
            args = code.args.items[code.args.starts[rows][:, None] + np.arange(length)].astype(np.int64)
            given = args[:, :-1]
            kinds, tensors = self._numbers[args], self._is_tensor[given]
            # No two tensors are the same: each number that is none has a number of its own.
            names = np.sort(np.where(tensors, given, -1 - np.arange(length - 1)), 1)
            good = (kinds >= 0).all(1) & ~listed[args].any(1) & (tensors.sum(1) <= _MOST_TENSORS)
            good &= (names[:, 1:] != names[:, :-1]).all(1)
            good &= args[:, -1] == args[:, -2] if length > 1 else False
            others.append(code.at[rows[~good]])
            if not good.any():
                continue
            rows, given, kinds, tensors = rows[good], given[good], kinds[good, :-1], tensors[good]
            keys = [code.operators[rows], kinds, *self._pairs(given, tensors)]
            first, which = distinct(np.column_stack(keys).astype(np.int64))
            order = np.argsort(which, kind="stable")
            bounds = np.searchsorted(which[order], np.arange(len(first) + 1)).tolist()
            for at, start, end in zip(first.tolist(), bounds[:-1], bounds[1:], strict=True):
                members = order[start:end]
                named = given[members][:, np.flatnonzero(tensors[at])]
                groups.append(CallGroup(code.at[rows[members]].tolist(), named.tolist()))
        return groups, np.concatenate(others) if others else np.zeros(0, np.intp)

    def _pairs(self, given: _Array, tensors: _Array) -> list[_Array]:
        """For each pair of arguments that somewhere are two tensors, whether these have bytes in common, and how far
        apart they start then.
        """
        columns: list[_Array] = []
        used: list[int] = np.flatnonzero(tensors.any(0)).tolist()
        for first, second in combinations(used, 2):
            a, b = given[:, first], given[:, second]
            common = tensors[:, first] & tensors[:, second] & (self._memory[a] == self._memory[b])
            common &= (self._start[a] < self._end[b]) & (self._start[b] < self._end[a])
            columns += [common, np.where(common, self._start[b] - self._start[a], 0)]
        return columns


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
        return ("float", value, copysign(1.0, value))
    if isinstance(value, list):
        return ("list", *(_described(item, None) for item in cast("list[object]", value)))
    return (type(value).__name__, value)
