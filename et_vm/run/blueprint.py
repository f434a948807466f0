"""Tensors of a plan without their memory.

They are found once for all methods, from the columns of the plan's values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from et_schema.program import Int, IntList, TensorShapeDynamism
from et_schema.scalar_type import ScalarType
from et_vm.load.code import values_of
from et_vm.values import Array, ListRegister, TensorPattern
from et_vm.verify.tensor_columns import ITEMSIZES, padded

if TYPE_CHECKING:
    from et_schema.columns import Columns
    from et_schema.program import ExecutionPlan
    from et_schema.pte import PteFile
    from et_vm.load.code import Values

__all__ = ["Blueprint", "Place", "blueprint_of", "distinct"]

_Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class Place(NamedTuple):
    """Bytes `start` to `end` of the memory number `memory`."""

    memory: int
    start: int
    end: int


class Blueprint(NamedTuple):
    """Tensors in arenas and constants, of a plan that was read as columns.

    `entries` are a register each, with the pattern of its tensor, the name, the arena (0: the constants) and the
    bytes there; `constants` are those of the constants. By register, `kinds` is a number that equal tensors of a fixed
    shape share, -1 for others, and `memory`, `start` and `end` (addresses, of constants) are what the entries say.
    `others` are all other registers, but for those that hold what is `settled` without memory.
    """

    entries: Sequence[tuple[int, TensorPattern, str, int, int, int]]
    kinds: _Array
    memory: _Array
    start: _Array
    end: _Array
    others: Sequence[int]
    settled: Mapping[int, object]
    constants: Array

    def place(self, register: int) -> Place:
        """The bytes of one of the tensors."""
        return Place(int(self.memory[register]), int(self.start[register]), int(self.end[register]))


def blueprint_of(plan: ExecutionPlan, pte: PteFile) -> Blueprint | None:
    """None for a plan that was not read as columns. The plan is verified."""
    values = values_of(plan)
    if values is None or values.columns is None:
        return None
    columns, count = values.columns, len(plan.values)
    index = columns.numbers("data_buffer_idx")
    planned, places = columns.tables("allocation_info")
    special, _ = columns.tables("extra_tensor_info")
    has_place = np.zeros(columns.count, bool)
    has_place[planned] = True
    memory = np.full(columns.count, -1)
    start = np.zeros(columns.count, np.int64)
    if places is not None:
        memory[planned] = places.numbers("memory_id")
        start[planned] = places.numbers("memory_offset_low") | places.numbers("memory_offset_high") << 32
        memory[has_place & (index > 0)] = -1
    constants = np.flatnonzero((index > 0) & ~has_place)
    data, address = np.zeros(0, np.uint8), 0
    entry = pte.program.constant_segment
    if entry is not None and len(entry.offsets) > 1:
        data = np.frombuffer(pte.segments[entry.segment_index], np.uint8)
        address = data.__array_interface__["data"][0]
        # Those that are in a data file have no index here.
        constants = constants[index[constants] < len(entry.offsets)]
        memory[constants] = 0
        start[constants] = np.array(entry.offsets, np.int64)[index[constants]] + address
    memory[special] = -1
    patterns, kinds = _patterns(columns)
    end = start + np.array([pattern.capacity_bytes for pattern in patterns])[2 * kinds]
    # Where the array would not be aligned, the constant is copied; an arena without bytes is not there.
    unaligned = start % ITEMSIZES[columns.numbers("scalar_type")] != 0
    memory[((memory == 0) & unaligned) | (end == start)] = -1
    which = np.flatnonzero(memory >= 0)
    at = values.tensors[which]

    def by_register(found: _Array, fill: int) -> _Array:
        whole = np.full(count, fill, np.int64)
        whole[at] = found[which]
        return whole

    fixed = columns.numbers("shape_dynamism") == TensorShapeDynamism.STATIC
    is_constant = memory == 0
    numbers = np.where(fixed, 2 * kinds + is_constant, -1)
    numbers_of_patterns: list[int] = (2 * kinds + is_constant)[which].tolist()
    likes = [patterns[number] for number in numbers_of_patterns]
    # In the bytes of the constants, not of the process.
    shift = np.where(memory[which] == 0, address, 0)
    begin, stop = start[which] - shift, end[which] - shift
    listed: list[int] = at.tolist()
    names = [f"value {register}" for register in listed]
    if values.names:
        names = [
            f"{name} ({values.names[register]})" if register in values.names else name
            for register, name in zip(listed, names, strict=True)
        ]
    entries = list(
        zip(listed, likes, names, memory[which].tolist(), begin.tolist(), stop.tolist(), strict=True)
    )
    done = np.zeros(count, bool)
    done[at] = True
    settled = _settled(plan, values)
    done[list(settled)] = True
    return Blueprint(
        entries,
        by_register(numbers, -1),
        by_register(memory, -1),
        by_register(start, 0),
        by_register(end, 0),
        np.flatnonzero(~done).tolist(),
        settled,
        data,
    )


def _patterns(columns: Columns) -> tuple[list[TensorPattern], _Array]:
    """The different tensors, twice, in arenas and as constants, and which of them each is."""
    ranks = columns.lists("sizes").counts
    width = max(int(ranks.max()), 1)
    types, dynamism = columns.numbers("scalar_type"), columns.numbers("shape_dynamism")
    shape, order = padded(columns, "sizes", 1, width), padded(columns, "dim_order", 0, width)
    first, kinds = distinct(np.column_stack([types, dynamism, ranks, shape, order]))
    patterns: list[TensorPattern] = []
    for at in first.tolist():
        rank = int(ranks[at])
        sizes, axes = shape[at, :rank].tolist(), order[at, :rank].tolist()
        patterns += [
            TensorPattern(
                ScalarType(int(types[at])),
                sizes,
                axes,
                TensorShapeDynamism(int(dynamism[at])),
                constant=constant,
            )
            for constant in (False, True)
        ]
    return patterns, kinds


def distinct(rows: _Array) -> tuple[_Array, _Array]:
    """The first of each kind of equal rows, and which of these each row is equal to."""
    flat = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).reshape(-1)
    _, first, which = np.unique(flat, return_index=True, return_inverse=True)
    return first, which


def _settled(plan: ExecutionPlan, values: Values) -> dict[int, object]:
    """Integers, and lists of them."""
    numbers = values.members(Int)
    found: dict[int, object] = {}
    if numbers is not None:
        which, columns = numbers
        found.update(zip(which.tolist(), columns.numbers("int_val").tolist(), strict=True))
    registers, items, starts = values.lists(plan, IntList)
    bounds, listed = starts.tolist(), items.tolist()
    for at, register in enumerate(registers.tolist()):
        found[register] = ListRegister("IntList", tuple(listed[bounds[at] : bounds[at + 1]]))
    return found
