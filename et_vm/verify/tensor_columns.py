"""Checks of all tensors of a plan at once.

Tensors that are not as most are left to `verify_tensor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from et_schema.program import MAX_RANK
from et_schema.scalar_type import ScalarType
from et_vm.verify.tensors import HELD_TYPES

if TYPE_CHECKING:
    from et_schema.columns import Columns
    from et_schema.program import ExecutionPlan
    from et_schema.pte import PteFile

__all__ = ["ITEMSIZES", "padded", "sound_tensors"]

_Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_LARGE: Final = 2**62
ITEMSIZES = np.zeros(1 + max(ScalarType), np.int64)
"""Bytes of an element by type, 0 for types that no program holds."""
for _type in HELD_TYPES:
    ITEMSIZES[_type] = _type.itemsize


def padded(columns: Columns, field: str, fill: int, width: int) -> _Array:
    """A row of `width` numbers for each of some lists, with `fill` behind the items."""
    lists = columns.lists(field)
    rows = np.full((columns.count, width), fill, np.int64)
    counts = lists.counts
    row = np.repeat(np.arange(columns.count), counts)
    rows[row, np.arange(len(lists.items)) - lists.starts[row]] = lists.items
    return rows


def sound_tensors(columns: Columns, plan: ExecutionPlan, pte: PteFile) -> _Array:
    """Which tensors are certain to pass `verify_tensor`, and have no initial state."""
    types = columns.numbers("scalar_type")
    itemsizes = ITEMSIZES[types]
    sizes, orders = columns.lists("sizes"), columns.lists("dim_order")
    ranks = sizes.counts
    sound = (itemsizes > 0) & (columns.numbers("storage_offset") == 0) & (orders.counts == ranks)
    special, _ = columns.tables("extra_tensor_info")
    sound[special] = False
    if int(ranks.max()) > MAX_RANK or int(orders.counts.max()) > MAX_RANK:
        return np.zeros(columns.count, bool)
    width = max(int(ranks.max()), int(orders.counts.max()), 1)
    order = padded(columns, "dim_order", 0, width)
    axes = np.where(np.arange(width) < ranks[:, None], np.arange(width), 0)
    sound &= (order == axes).all(1)
    shape = padded(columns, "sizes", 1, width)
    sound &= (shape > 0).all(1)
    # Where the product may not fit, floats say so.
    sound &= itemsizes * np.prod(shape.astype(np.float64), 1) < _LARGE
    nbytes = itemsizes * np.prod(shape, 1)
    index = columns.numbers("data_buffer_idx")
    planned, places = columns.tables("allocation_info")
    has_place = np.zeros(columns.count, bool)
    has_place[planned] = True
    sound &= ~(has_place & (index > 0))
    if places is None:
        sound[planned] = False
    else:
        sound[planned] &= _in_arena(places, nbytes[planned], plan)
    constants = np.flatnonzero((index > 0) & ~has_place)
    sound[constants] &= _in_file(index[constants], nbytes[constants], pte) & (
        types[constants] != ScalarType.BOOL
    )
    return sound


def _in_arena(places: Columns, nbytes: _Array, plan: ExecutionPlan) -> _Array:
    """Which of planned tensors are inside of their arenas."""
    sizes = np.array([0, *(min(size, _LARGE) for size in plan.non_const_buffer_sizes)], np.int64)
    arena = places.numbers("memory_id")
    known = (arena > 0) & (arena < len(plan.non_const_buffer_sizes))
    known &= places.numbers("memory_offset_high") == 0
    end = places.numbers("memory_offset_low") + np.minimum(nbytes, _LARGE)
    return known & (end <= sizes[np.where(known, arena + 1, 0)])


def _in_file(index: _Array, nbytes: _Array, pte: PteFile) -> _Array:
    """Which of constants have their bytes in the segment of constants."""
    entry = pte.program.constant_segment
    if entry is None or len(entry.offsets) < 2:
        return np.zeros(len(index), bool)
    offsets = np.array([min(offset, _LARGE) for offset in entry.offsets], np.int64)
    known = index < len(offsets)
    start = offsets[np.where(known, index, 0)]
    return known & (nbytes <= len(pte.segments[entry.segment_index]) - start)
