"""Kernels of operators that move elements, and of reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from et_backends.tosa.format.graph import DType, NanPropagationMode, Op, ResizeMode
from et_backends.tosa.runtime.sites import Kernel, Maker, Site, binary, dtype_of, first, unary
from et_schema.errors import Error, ExecutorchError
from et_vm.values import Array

__all__ = ["MAKERS"]

_INDEX: Final = 8
"""Bytes of an index."""
_PLACES: Final = 3
"""Arrays that `_places` gives."""
_ARRAYS_OF_PLACES: Final = 10
"""Temporaries of the places of rows or columns: see `_places`."""


def _concat(site: Site) -> Kernel:
    axis = site.attribute.axis

    def kernel(*arrays: Array) -> Array:
        return np.concatenate(arrays, axis)

    return kernel


def _pad(site: Site) -> Kernel:
    sizes = site.sizes(1)
    amounts = [(sizes[2 * dim], sizes[2 * dim + 1]) for dim in range(len(sizes) // 2)]
    inner = tuple(
        slice(before, before + size) for (before, _), size in zip(amounts, site.inputs[0].shape, strict=True)
    )
    shape, dtype = site.output.shape, site.dtype

    def kernel(x: Array, _: Array, number: Array) -> Array:
        made = np.full(shape, number.reshape(-1)[0], dtype)
        made[inner] = x
        return made

    return kernel


def _reshape(site: Site) -> Kernel:
    shape = site.output.shape
    return first(lambda x: x.reshape(shape))


def _reverse(site: Site) -> Kernel:
    axis = site.attribute.axis
    return unary(lambda x: np.flip(x, axis))


def _slice(site: Site) -> Kernel:
    box = tuple(slice(start, start + size) for start, size in zip(site.sizes(1), site.sizes(2), strict=True))
    return first(lambda x: x[box])


def _tile(site: Site) -> Kernel:
    times = site.sizes(1)
    return first(lambda x: np.tile(x, times))


def _transpose(site: Site) -> Kernel:
    perms = tuple(site.attribute.perms)
    return unary(lambda x: np.ascontiguousarray(x.transpose(perms)))


def _checked(indices: Array, limit: int) -> Array:
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= limit):
        raise ExecutorchError(Error.InvalidArgument, f"an index is not from 0 to {limit - 1}")
    return indices


def _places_of(site: Site) -> Callable[[Array], tuple[Array, Array]]:
    """The index of each element of an operand of indices: its batch, and what it says."""
    limit = site.inputs[0].shape[1]
    batches, count = site.inputs[1].shape
    # Indices as numpy takes them, and the loop over both.
    site.needs.memory(batches * (2 * count + 1), _INDEX)
    site.needs.visits(batches * count)
    return lambda indices: (np.arange(batches)[:, np.newaxis], _checked(indices, limit))


def _gather(site: Site) -> Kernel:
    places = _places_of(site)
    return binary(lambda values, indices: values[places(indices)])


def _scatter(site: Site) -> Kernel:
    places = _places_of(site)

    def kernel(values: Array, indices: Array, source: Array) -> Array:
        made = values.copy()
        made[places(indices)] = source
        return made

    return kernel


def _reduction(function: Callable[..., Any]) -> Maker:
    def make(site: Site) -> Kernel:
        axis, dtype = site.attribute.axis, site.dtype
        return unary(lambda x: function(x, axis=axis, keepdims=True).astype(dtype, copy=False))

    return make


def _summed(function: Callable[..., Any]) -> Maker:
    """A reduction that half precision computes in float32."""

    def make(site: Site) -> Kernel:
        axis, dtype = site.attribute.axis, site.dtype
        wide = np.dtype(np.float32) if dtype == np.float16 else dtype
        site.takes(2, wide.itemsize)
        return unary(lambda x: function(x, axis=axis, keepdims=True, dtype=wide).astype(dtype, copy=False))

    return make


def _extremum(exact: Callable[..., Any], ignoring: Callable[..., Any]) -> Maker:
    def make(site: Site) -> Kernel:
        ignores = site.attribute.nan_mode == NanPropagationMode.IGNORE
        return _reduction(ignoring if ignores else exact)(site)

    return make


def _argmax(site: Site) -> Kernel:
    axis = site.attribute.axis
    # The operand with this axis as the last, and the result as numpy gives it.
    site.needs.memory(site.elements_of(0), dtype_of(site.inputs[0]).itemsize)
    site.takes(1, _INDEX)
    return unary(lambda x: np.asarray(np.argmax(x, axis), np.int32))


def _places(size: int, count: int, scale: tuple[int, int], offset: int) -> tuple[Array, Array, Array]:
    """The two elements that each element of a result is between, and the rest, in units of the numerator."""
    numerator, denominator = scale
    at = np.arange(count, dtype=np.int64) * denominator + offset
    low = at // numerator
    rest = at - low * numerator
    return np.clip(low, 0, size - 1), np.clip(low + 1, 0, size - 1), rest


def _resize(site: Site) -> Kernel:
    (ny, dy, nx, dx), (oy, ox) = site.sizes(1), site.sizes(2)
    batch, height, width, channels = site.inputs[0].shape
    rows_made, columns_made = site.output.shape[1:3]
    dtype = site.dtype

    def places() -> tuple[Sequence[Array], Sequence[Array]]:
        return _places(height, rows_made, (ny, dy), oy), _places(width, columns_made, (nx, dx), ox)

    nbytes = _INDEX * (rows_made + columns_made)
    (top, bottom, below), (left, right, beside) = site.accountant.derive(
        _PLACES * nbytes, places, (_ARRAYS_OF_PLACES - _PLACES) * nbytes
    )
    # What factors and choices are made of them.
    site.needs.memory(rows_made + columns_made, _INDEX, _PLACES)
    site.needs.visits(rows_made + columns_made, _PLACES)
    if site.attribute.mode == ResizeMode.NEAREST:

        def nearest(x: Array, *_: Array) -> Array:
            rows = np.where(2 * below >= ny, bottom, top)[:, np.newaxis]
            columns = np.where(2 * beside >= nx, right, left)
            return x[:, rows, columns]

        return nearest
    integers = site.inputs[0].dtype not in (DType.FP32, DType.FP16)
    kind = np.dtype(np.int64) if integers else np.dtype(np.float32)
    one_y, one_x = (ny, nx) if integers else (1, 1)
    site.needs.memory(site.elements_of(0), kind.itemsize)
    # Two factors of a sum, and their products.
    site.needs.memory((batch, rows_made, width, channels), kind.itemsize, 4)
    site.needs.visits(batch * rows_made * width * channels, 5)
    site.takes(4, kind.itemsize)

    def bilinear(x: Array, *_: Array) -> Array:
        y = (below if integers else below / ny).astype(kind)[:, np.newaxis, np.newaxis]
        x_part = (beside if integers else beside / nx).astype(kind)[:, np.newaxis]
        wide = x.astype(kind)
        rows = wide[:, top] * (one_y - y) + wide[:, bottom] * y
        return (rows[:, :, left] * (one_x - x_part) + rows[:, :, right] * x_part).astype(dtype)

    return bilinear


MAKERS: Final[dict[Op, Maker]] = {
    Op.ARGMAX: _argmax,
    Op.CONCAT: _concat,
    Op.GATHER: _gather,
    Op.PAD: _pad,
    Op.REDUCE_ALL: _reduction(np.all),
    Op.REDUCE_ANY: _reduction(np.any),
    Op.REDUCE_MAX: _extremum(np.max, np.fmax.reduce),
    Op.REDUCE_MIN: _extremum(np.min, np.fmin.reduce),
    Op.REDUCE_PRODUCT: _summed(np.prod),
    Op.REDUCE_SUM: _summed(np.sum),
    Op.RESHAPE: _reshape,
    Op.RESIZE: _resize,
    Op.REVERSE: _reverse,
    Op.SCATTER: _scatter,
    Op.SLICE: _slice,
    Op.TILE: _tile,
    Op.TRANSPOSE: _transpose,
}
