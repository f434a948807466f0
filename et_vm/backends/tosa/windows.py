"""Kernels of products, convolutions and pools.

Sums of integers are computed in float64, in which they are exact: products of 16 bits leave room for a million terms.
Those of 8 bits are computed in float32 where the filters bound every partial sum, in whatever order, by 2**24.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from et_schema.tosa_graph import DType, NanPropagationMode, Op
from et_schema.tosa_ops import TosaType
from et_vm.backends.tosa.sites import Kernel, Maker, Site, first
from et_vm.values import Array

__all__ = ["MAKERS"]

_MOST_EXACT: Final = 1 << 24
"""float32 holds all integers up to this."""
_BLOCK: Final = 1 << 15
"""Elements of a depthwise convolution that are computed at a time."""
_MOST_DISTANCE: Final = 255
"""Largest distance of an 8-bit integer from a zero point."""


def _sums(
    type: TosaType, terms: int, filters: Array | None = None, axes: tuple[int, ...] = ()
) -> np.dtype[Any]:
    """The type in which so many products of operands of a type are summed up. `filters` are the other operand, as
    distances, if they are constant; the sums are over their `axes`.
    """
    is_float = type.dtype in (DType.FP32, DType.FP16)
    most = terms * _MOST_DISTANCE
    if filters is not None and filters.size and not is_float:
        most = int(np.abs(filters).sum(axis=axes).max())
    exact = type.dtype is DType.INT8 and most * _MOST_DISTANCE <= _MOST_EXACT
    return np.dtype(np.float32) if exact or is_float else np.dtype(np.float64)


def _shifted(array: Array, zero_point: Array, dtype: np.dtype[Any]) -> Array:
    """The distance from a zero point, in the type of sums."""
    zero = zero_point.reshape(-1)[0]
    wide = array.astype(dtype, copy=False)
    return wide - dtype.type(zero) if zero else wide


def _matmul(site: Site) -> Kernel:
    known = _filters(site, 1, 3)
    sums, dtype = _sums(site.inputs[0], site.inputs[0].shape[2], known, (1,)), site.dtype
    right = None if known is None else np.ascontiguousarray(known, sums)

    def kernel(a: Array, b: Array, a_zp: Array, b_zp: Array) -> Array:
        other = _shifted(b, b_zp, sums) if right is None else right
        return np.matmul(_shifted(a, a_zp, sums), other).astype(dtype, copy=False)

    return kernel


def _windows(image: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Array:
    """A view of [batch, rows, columns, kernel rows, kernel columns, channels]."""
    batch, height, width, channels = image.shape
    rows = (height - (kernel[0] - 1) * dilation[0] - 1) // stride[0] + 1
    columns = (width - (kernel[1] - 1) * dilation[1] - 1) // stride[1] + 1
    b, y, x, c = image.strides
    return as_strided(
        image,
        (batch, rows, columns, kernel[0], kernel[1], channels),
        (b, y * stride[0], x * stride[1], y * dilation[0], x * dilation[1], c),
        writeable=False,
    )


def _padded(image: Array, pads: Sequence[int], number: float = 0) -> Array:
    if not any(pads):
        return np.ascontiguousarray(image)
    batch, height, width, channels = image.shape
    top, bottom, left, right = pads
    made = np.full((batch, top + height + bottom, left + width + right, channels), number, image.dtype)
    made[:, top : top + height, left : left + width] = image
    return made


def _filters(site: Site, at: int, zero_at: int) -> Array | None:
    """The operand `at` as distances from its zero point, if both are constants."""
    weight, zero = site.constants[at], site.constants[zero_at]
    if weight is None or zero is None:
        return None
    return _shifted(weight, zero, weight.dtype if weight.dtype.kind == "f" else np.dtype(np.int64))


def _finished(made: Array, bias: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        return (made + bias).astype(dtype, copy=False)
    # What was summed up in float32 fits 32 bits; adding a bias wraps around in either type.
    summed = made.astype(dtype if made.dtype == np.float32 else np.int64)
    summed += bias.astype(summed.dtype)
    return summed.astype(dtype, copy=False)


def _conv2d(site: Site) -> Kernel:
    kind, dtype = site.attribute, site.dtype
    outputs, rows, columns, channels = site.inputs[1].shape
    known = _filters(site, 1, 4)
    sums = _sums(site.inputs[0], rows * columns * channels, known, (1, 2, 3))
    shape = site.output.shape
    packed = None if known is None else np.ascontiguousarray(known.reshape(outputs, -1).T, sums)

    def kernel(x: Array, weight: Array, bias: Array, x_zp: Array, w_zp: Array) -> Array:
        matrix = _shifted(weight, w_zp, sums).reshape(outputs, -1).T if packed is None else packed
        image = _padded(_shifted(x, x_zp, sums), kind.pad)
        windows = _windows(image, (rows, columns), kind.stride, kind.dilation)
        taken = windows.reshape(-1, rows * columns * channels)
        return _finished((taken @ matrix).reshape(shape), bias, dtype)

    return kernel


def _depthwise(site: Site) -> Kernel:
    kind, dtype = site.attribute, site.dtype
    rows, columns, channels, multiplier = site.inputs[1].shape
    known = _filters(site, 1, 4)
    sums = _sums(site.inputs[0], rows * columns, known, (0, 1))
    shape = site.output.shape
    across = rows, columns, channels * multiplier
    packed = None if known is None else np.ascontiguousarray(known.reshape(across), sums)

    def kernel(x: Array, weight: Array, bias: Array, x_zp: Array, w_zp: Array) -> Array:
        filters = _shifted(weight, w_zp, sums).reshape(across) if packed is None else packed
        image = _padded(_shifted(x, x_zp, sums), kind.pad)
        if multiplier > 1:
            image = np.repeat(image, multiplier, axis=3)
        windows = _windows(image, (rows, columns), kind.stride, kind.dilation)
        made = np.empty(shape, sums)
        # Rows that are in the cache from the first term to the last.
        length = max(1, _BLOCK // (shape[0] * shape[2] * shape[3]))
        scratch = np.empty((shape[0], min(length, shape[1]), *shape[2:]), sums)
        for at in range(0, shape[1], length):
            part = made[:, at : at + length]
            term = scratch[:, : part.shape[1]]
            taken = windows[:, at : at + length]
            np.multiply(taken[:, :, :, 0, 0], filters[0, 0], part)
            for tap in range(1, rows * columns):
                y, z = divmod(tap, columns)
                np.multiply(taken[:, :, :, y, z], filters[y, z], term)
                part += term
        return _finished(made, bias, dtype)

    return kernel


def _transposed(site: Site) -> Kernel:
    kind, dtype = site.attribute, site.dtype
    outputs, rows, columns, channels = site.inputs[1].shape
    known = _filters(site, 1, 4)
    sums = _sums(site.inputs[0], rows * columns * channels, known, (1, 2, 3))
    batch, height, width, _ = site.inputs[0].shape
    top, bottom, left, right = kind.out_pad
    step_y, step_x = kind.stride
    full = (batch, (height - 1) * step_y + rows, (width - 1) * step_x + columns, outputs)
    outer = tuple(max(amount, 0) for amount in kind.out_pad)

    def kernel(x: Array, weight: Array, bias: Array, x_zp: Array, w_zp: Array) -> Array:
        filters = _shifted(weight, w_zp, sums)
        image = _shifted(x, x_zp, sums)
        made = np.zeros(full, sums)
        for y in range(rows):
            for z in range(columns):
                part = image @ filters[:, y, z].T
                made[:, y : y + height * step_y : step_y, z : z + width * step_x : step_x][
                    :, :height, :width
                ] += part
        made = made[:, max(-top, 0) : full[1] - max(-bottom, 0), max(-left, 0) : full[2] - max(-right, 0)]
        return _finished(_padded(made, outer), bias, dtype)

    return kernel


def _max_pool(site: Site) -> Kernel:
    kind, dtype = site.attribute, site.dtype
    lowest = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
    function = np.fmax if kind.nan_mode == NanPropagationMode.IGNORE else np.maximum

    def kernel(x: Array) -> Array:
        windows = _windows(_padded(x, kind.pad, lowest), kind.kernel, kind.stride, (1, 1))
        made = windows[:, :, :, 0, 0]
        for y in range(kind.kernel[0]):
            for z in range(kind.kernel[1]):
                made = function(made, windows[:, :, :, y, z])
        return made

    return kernel


def _counts(site: Site) -> Array:
    """The number of elements of the image in each window, [rows, columns, 1]."""
    kind = site.attribute
    _, height, width, _ = site.inputs[0].shape
    ones = _padded(np.ones((1, height, width, 1)), kind.pad)
    return _windows(ones, kind.kernel, kind.stride, (1, 1)).sum(axis=(3, 4))[0]


def _avg_pool(site: Site) -> Kernel:
    kind, dtype = site.attribute, site.dtype
    sums = _sums(site.inputs[0], kind.kernel[0] * kind.kernel[1])
    counts = _counts(site)

    def summed(x: Array) -> Array:
        windows = _windows(_padded(x, kind.pad), kind.kernel, kind.stride, (1, 1))
        made = np.zeros((*windows.shape[:3], windows.shape[5]), sums)
        for y in range(kind.kernel[0]):
            for z in range(kind.kernel[1]):
                made += windows[:, :, :, y, z]
        return made

    if dtype.kind == "f":
        return first(lambda x: (summed(x.astype(sums, copy=False)) / counts.astype(sums)).astype(dtype))
    multiplier, shift = _reciprocal_scale(counts.astype(np.int64))
    limits = np.iinfo(dtype)

    def integers(x: Array, x_zp: Array, y_zp: Array) -> Array:
        made = summed(_shifted(x, x_zp, sums)).astype(np.int64)
        made = (made * multiplier + (np.int64(1) << (shift - 1))) >> shift
        return np.clip(made + int(y_zp.reshape(-1)[0]), limits.min, limits.max).astype(dtype)

    return integers


def _reciprocal_scale(counts: Array) -> tuple[Array, Array]:
    """Multiplier and shift that divide by a count, as the specification's function of this name."""
    bits = np.array([int(count - 1).bit_length() for count in counts.reshape(-1)], np.int64)
    bits = bits.reshape(counts.shape)
    return (((np.int64(1) << 30) + 1) << bits) // counts, 30 + bits


MAKERS: Final[dict[Op, Maker]] = {
    Op.AVG_POOL2D: _avg_pool,
    Op.CONV2D: _conv2d,
    Op.DEPTHWISE_CONV2D: _depthwise,
    Op.MATMUL: _matmul,
    Op.MAX_POOL2D: _max_pool,
    Op.TRANSPOSE_CONV2D: _transposed,
}
