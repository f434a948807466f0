"""Copying between arrays of one shape and different layouts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from et_vm.kernels.portable.steps import NOTHING, cast, chain, copy, overlaps, same_view
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, strided_view

# Elements along the axis in which the target is contiguous, and along that in which the source is: measured
# over 64..1536 squared.
_TILE_TARGET = 32
_TILE_SOURCE = 128
_WORTH_TILING = 1 << 14


def move(ctx: PrepareContext, source: Array, target: Array) -> Step:
    """The step that stores `source` into `target`, of the same shape, converting between dtypes as
    torch does.

    Nothing is done when the two are one view. Large transposes go in tiles that stay in the cache. Scratch:
    see `steps.cast`; numpy itself copies through a temporary when the two overlap in memory without
    being one view.
    """
    return chain(moves(ctx, source, target)) if target.size else NOTHING


def moves(ctx: PrepareContext, source: Array, target: Array) -> list[Step]:
    """`move` as a list of calls."""
    if target.size == 0 or same_view(source, target):
        return []
    if source.dtype != target.dtype:
        return cast(ctx, source, target)
    if source.flags.c_contiguous and target.flags.c_contiguous and source.ndim != 1:
        return [copy(source.reshape(-1), target.reshape(-1))]
    if target.size >= _WORTH_TILING and not overlaps(source, target):
        return [copy(*pair) for pair in _tiles(source, target)]
    return [copy(source, target)]


def _tiles(source: Array, target: Array) -> list[tuple[Array, Array]]:
    """Tiles of the plane in which one array runs along the first axis and the other along the second; else
    the whole.
    """
    itemsize = target.itemsize
    fast_target = [
        axis for axis in range(target.ndim) if target.strides[axis] == itemsize and target.shape[axis] > 1
    ]
    fast_source = [
        axis for axis in range(source.ndim) if source.strides[axis] == itemsize and source.shape[axis] > 1
    ]
    if not fast_target or not fast_source or fast_target[0] == fast_source[0]:
        return [(source, target)]
    a, b = fast_target[0], fast_source[0]
    if target.shape[a] < 2 * _TILE_TARGET or target.shape[b] < 2 * _TILE_TARGET:
        return [(source, target)]
    pairs: list[tuple[Array, Array]] = []
    extents = ((a, _TILE_TARGET), (b, _TILE_SOURCE))
    for at_a, at_b in itertools.product(*(range(0, target.shape[axis], step) for axis, step in extents)):
        index: list[slice] = [slice(None)] * target.ndim
        index[a], index[b] = slice(at_a, at_a + _TILE_TARGET), slice(at_b, at_b + _TILE_SOURCE)
        pairs.append((source[tuple(index)], target[tuple(index)]))
    return pairs


def contiguous(ctx: PrepareContext, array: Array) -> tuple[list[Step], Array]:
    """`array` itself when it is C-contiguous, else scratch and the calls that copy it there."""
    if array.flags.c_contiguous:
        return [], array
    packed = ctx.scratch(array.shape, array.dtype)
    return moves(ctx, array, packed), packed


def reshape_moves(ctx: PrepareContext, source: Array, target: Array) -> list[Step]:
    """Calls that store the elements of `source` into `target` in the order of their logical indices,
    the shapes differing.

    Scratch: a copy of `source` when neither is C-contiguous.
    """
    if target.flags.c_contiguous:
        return moves(ctx, source, target.reshape(source.shape))
    calls, packed = contiguous(ctx, source)
    return [*calls, *moves(ctx, packed.reshape(target.shape), target)]


def as_array(array: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A view of `array` with the given shape and byte strides."""
    # Those that nothing is reached by may be larger than numpy takes.
    reached = tuple([step if extent > 1 else 0 for extent, step in zip(shape, strides, strict=True)])
    return strided_view(array, shape, reached)


def borders(array: Array, inside: Sequence[slice]) -> list[Array]:
    """Views that together cover everything outside the box `inside`."""
    views: list[Array] = []
    index: list[slice] = [slice(None)] * array.ndim
    for axis, box in enumerate(inside):
        sides = (slice(0, box.start), slice(box.stop, array.shape[axis]))
        views += [array[(*index[:axis], side)] for side in sides if side.stop > side.start]
        index[axis] = box
    return views
