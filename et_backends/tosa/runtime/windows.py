"""Kernels of products, convolutions and pools.

Sums of integers are computed in float64, in which they are exact: products of 16 bits leave room for a million terms.
Those of 8 bits are computed in float32 where the filters bound every partial sum, in whatever order, by 2**24: of all
terms, or of a few parts of them, which are then added up in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import isqrt, prod
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from et_backends.tosa.format.graph import DType, NanPropagationMode, Op
from et_backends.tosa.format.operators import TosaType
from et_backends.tosa.runtime.sites import Kernel, Maker, Site, first
from et_vm.values import Array

__all__ = ["MAKERS"]

_MOST_EXACT: Final = 1 << 24
"""float32 holds all integers up to this."""
_MOST_PARTS: Final = 4
"""Parts of a sum in float32 up to which they are faster than the whole in float64."""
_BLOCK: Final = 1 << 15
"""Elements of a depthwise convolution that are computed at a time."""
_WIDE: Final = 256
"""Channels from which on the filters of a depthwise convolution are not repeated along a row for long loops."""
_MOST_REPEATED: Final = 1 << 20
"""Largest number of repeated filters of a depthwise convolution. Rows of usual images take fewer, signals more."""
_PHASE: Final = 512
"""Bytes of a phase of a depthwise convolution beside its columns: a set's, a dictionary's and an array's."""
_INTEGER: Final = 64
"""Bytes of an integer in a list."""
_MOST_DIVISORS: Final = 1 << 10
"""Largest divisor of a width that is looked for: with those that go with it, all of a million."""
_MOST_DISTANCE: Final = 255
"""Largest distance of an 8-bit integer from a zero point."""


class _Span(NamedTuple):
    """The distances that an operand may have from its zero point."""

    low: int
    high: int

    def bound(self, filters: Array) -> int:
        """The largest magnitude of a partial sum of products with a column of filters."""
        if not filters.size:
            return 0
        positive, negative = np.maximum(filters, 0).sum(axis=0), np.minimum(filters, 0).sum(axis=0)
        highest = positive * self.high + negative * self.low
        lowest = positive * self.low + negative * self.high
        return int(max(highest.max(), -lowest.min()))


def _span(site: Site, at: int) -> _Span:
    """Of an operand of 8 bits whose zero point is the operand `at`; of other operands it says nothing."""
    zero = site.number(at)
    if zero is None or site.inputs[at].dtype is not DType.INT8:
        return _Span(-_MOST_DISTANCE, _MOST_DISTANCE)
    limits = np.iinfo(np.int8)
    return _Span(int(limits.min - zero), int(limits.max - zero))


def _sums(type: TosaType, terms: int) -> np.dtype[Any]:
    """The type in which so many products of operands of a type are summed up."""
    return _exact(type, terms * _MOST_DISTANCE * _MOST_DISTANCE)


def _sums_with(type: TosaType, filters: Array, span: _Span) -> np.dtype[Any]:
    """The same with columns of constant filters, distances [terms, …], that another operand is multiplied by."""
    return _exact(type, span.bound(filters) if type.dtype is DType.INT8 else 0)


def _exact(type: TosaType, most: int) -> np.dtype[Any]:
    if type.dtype in (DType.FP32, DType.FP16):
        return np.dtype(np.float32)
    is_exact = type.dtype is DType.INT8 and most <= _MOST_EXACT
    return np.dtype(np.float32) if is_exact else np.dtype(np.float64)


_Product: TypeAlias = Callable[[Array], Array]


def _parts_of(filters: Array, type: TosaType, span: _Span) -> tuple[list[slice], np.dtype[Any]]:
    """The fewest parts of the terms whose products are summed up in float32, or all in float64."""
    terms = len(filters)
    single = np.dtype(np.float32)
    for count in range(1, _MOST_PARTS + 1):
        ends = [terms * at // count for at in range(count + 1)]
        parts = [slice(*pair) for pair in pairwise(ends)]
        if all(_sums_with(type, filters[part], span) == single for part in parts):
            return parts, single
    return [slice(0, terms)], np.dtype(np.float64)


_Packed: TypeAlias = tuple[list[slice], np.dtype[Any], list[Array]]
"""Parts of the terms of a sum, the type of the sum, and the filters of each part."""


def _packed(filters: Array, type: TosaType, span: _Span) -> _Packed:
    """Constant `filters`, distances [terms, columns], by which matrices of a type are multiplied."""
    parts, kind = _parts_of(filters, type, span)
    return parts, kind, [np.ascontiguousarray(filters[part], kind) for part in parts]


def _product(parts: Sequence[slice], matrices: Sequence[Array]) -> _Product:
    """The product of a matrix with filters."""

    def product(x: Array) -> Array:
        if len(parts) == 1:
            return np.matmul(x, matrices[0])
        made = np.matmul(x[..., parts[0]], matrices[0]).astype(np.float64)
        for part, matrix in zip(parts[1:], matrices[1:], strict=True):
            made += np.matmul(x[..., part], matrix)
        return made

    return product


def _shifted(array: Array, zero_point: Array, dtype: np.dtype[Any]) -> Array:
    """The distance from a zero point, in the type of sums."""
    zero = zero_point.reshape(-1)[0]
    wide = array.astype(dtype, copy=False)
    return wide - dtype.type(zero) if zero else wide


def _wide(site: Site, operand: int, sums: np.dtype[Any]) -> None:
    """Count an operand as distances from a zero point, and before that in their type."""
    site.needs.memory(site.elements_of(operand), sums.itemsize, 2)
    site.needs.visits(site.elements_of(operand), 2)


def _summed(site: Site, terms: int, sums: np.dtype[Any]) -> None:
    """Count products of so many terms: the sums, in parts of their type, and with a bias."""
    site.takes(2, sums.itemsize)
    site.takes(3)
    site.needs.visits(site.elements * terms)


def _matmul(site: Site) -> Kernel:
    dtype = site.dtype
    rows, depth = site.inputs[0].shape[1:]
    if site.inputs[1].shape[0] == 1 and _is_known(site, 1, 3):
        kind, product = _known_product(site, 1, 3, _span(site, 2), lambda filters: filters[0])
        _wide(site, 0, kind)
        # The terms of a part of the sums.
        site.needs.memory(rows * depth, kind.itemsize)
        _summed(site, depth, kind)

        def known_kernel(a: Array, b: Array, a_zp: Array, b_zp: Array) -> Array:
            return product(_shifted(a, a_zp, kind)).astype(dtype, copy=False)

        return known_kernel
    sums = _sums(site.inputs[0], depth)
    _wide(site, 0, sums)
    _wide(site, 1, sums)
    # Products take operands in the order of memory.
    site.needs.memory(site.elements_of(0) + site.elements_of(1), sums.itemsize)
    _summed(site, depth, sums)

    def kernel(a: Array, b: Array, a_zp: Array, b_zp: Array) -> Array:
        return np.matmul(_shifted(a, a_zp, sums), _shifted(b, b_zp, sums)).astype(dtype, copy=False)

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


def _columns(image: Array, pads: Sequence[int], phase: int, step: int) -> Array:
    """The columns `phase`, `phase + step`, … of a padded image, as neighbors."""
    if step == 1:
        return _padded(image, pads)
    batch, height, width, channels = image.shape
    top, bottom, left, right = pads
    count = -(-(left + width + right - phase) // step)
    made = np.zeros((batch, top + height + bottom, count, channels), image.dtype)
    before = max(0, -(-(left - phase) // step))
    source = image[:, :, phase + before * step - left :: step]
    made[:, top : top + height, before : before + source.shape[2]] = source
    return made


def _padded_size(site: Site, pads: Sequence[int]) -> int:
    """Elements of the padded image."""
    batch, height, width, channels = site.inputs[0].shape
    return batch * (height + pads[0] + pads[1]) * (width + pads[2] + pads[3]) * channels


def _is_known(site: Site, at: int, zero_at: int) -> bool:
    """Whether an operand and its zero point are constants."""
    return site.constants[at] is not None and site.constants[zero_at] is not None


def _filters(site: Site, at: int, zero_at: int) -> Array:
    """The constant operand `at` as distances from its zero point, a constant too."""
    weight, zero = site.constants[at], site.constants[zero_at]
    assert weight is not None
    assert zero is not None
    return _shifted(weight, zero, weight.dtype if weight.dtype.kind == "f" else np.dtype(np.int64))


_DERIVED: Final = 8
"""Bytes of an element of what is derived from constant filters."""
_ARRAYS_OF_FILTERS: Final = 6
"""Temporaries like these filters: their distances, and bounds of sums with them."""


def _known_product(
    site: Site, at: int, zero_at: int, span: _Span, matrix: Callable[[Array], Array]
) -> tuple[np.dtype[Any], _Product]:
    """`_product_with` the matrix that `matrix` makes of distances of a constant operand."""
    nbytes = _DERIVED * site.elements_of(at)

    def derived() -> _Packed:
        return _packed(matrix(_filters(site, at, zero_at)), site.inputs[0], span)

    parts, kind, matrices = site.accountant.derive(nbytes, derived, _ARRAYS_OF_FILTERS * nbytes)
    return kind, _product(parts, matrices)


def _finished(made: Array, bias: Array, dtype: np.dtype[Any]) -> Array:
    """Sums, which change, with the bias, in the type of the result."""
    if dtype.kind == "f":
        made += bias
        return made.astype(dtype, copy=False)
    # What was summed up in float32 fits 32 bits; adding a bias wraps around in either type.
    summed = made.astype(dtype if made.dtype == np.float32 else np.int64)
    summed += bias.astype(summed.dtype)
    return summed.astype(dtype, copy=False)


def _conv2d(site: Site) -> Kernel:
    kind, dtype = site.attribute, site.dtype
    outputs, rows, columns, channels = site.inputs[1].shape
    terms = rows * columns * channels
    shape = site.output.shape
    is_known = _is_known(site, 1, 4)
    if is_known:
        sums, product = _known_product(
            site, 1, 4, _span(site, 3), lambda filters: filters.reshape(outputs, -1).T
        )
    else:
        sums, product = _sums(site.inputs[0], terms), None
        # The filters, and these as columns.
        _wide(site, 1, sums)
        site.needs.memory(site.elements_of(1), sums.itemsize)
    windows = prod(shape[:3])
    _wide(site, 0, sums)
    site.needs.memory(_padded_size(site, kind.pad), sums.itemsize)
    # Windows, and the terms of a part of the sums.
    site.needs.memory(windows * terms, sums.itemsize, 2)
    site.needs.visits(_padded_size(site, kind.pad) + windows * terms)
    _summed(site, terms, sums)

    def taken(x: Array, x_zp: Array) -> Array:
        """The window of each pixel of the result as a row."""
        image = _padded(_shifted(x, x_zp, sums), kind.pad)
        return _windows(image, (rows, columns), kind.stride, kind.dilation).reshape(-1, terms)

    def kernel(x: Array, weight: Array, bias: Array, x_zp: Array, w_zp: Array) -> Array:
        if product is not None:
            made = product(taken(x, x_zp))
        else:
            made = taken(x, x_zp) @ _shifted(weight, w_zp, sums).reshape(outputs, -1).T
        return _finished(made.reshape(shape), bias, dtype)

    return kernel


def _repetitions(width: int, filters: int) -> int:
    """Pixels of a row for which so many filters are repeated: a divisor of the row's width, which bounds memory."""
    most = max(1, min(width, _MOST_REPEATED // filters))
    low = [part for part in range(1, min(isqrt(width), _MOST_DIVISORS) + 1) if width % part == 0]
    return max(part for one in low for part in (one, width // one) if part <= most)


def _depthwise(site: Site) -> Kernel:
    """Each tap of the filter is a product of lines of the image, as they lie in memory, with the tap's filters."""
    kind, dtype = site.attribute, site.dtype
    rows, columns, _, multiplier = site.inputs[1].shape
    taps = rows * columns
    type = site.inputs[0]
    shape = site.output.shape
    batch, height, width, outputs = shape
    (step_y, step_x), (apart_y, apart_x) = kind.stride, kind.dilation
    # The fewer and longer the loops, the better.
    repeat = _repetitions(width, taps * outputs) if outputs < _WIDE else 1

    def repeated(filters: Array, sums: np.dtype[Any]) -> Array:
        """[rows, columns, pixels, outputs]."""
        each = np.broadcast_to(filters.reshape(rows, columns, 1, outputs), (rows, columns, repeat, outputs))
        return np.ascontiguousarray(each, sums)

    def derived() -> Array:
        filters = _filters(site, 1, 4)
        return repeated(filters, _sums_with(type, filters.reshape(taps, -1), _span(site, 3)))

    filter_count = site.elements_of(1)
    packed = (
        site.accountant.derive(
            _DERIVED * filter_count * repeat, derived, _ARRAYS_OF_FILTERS * _DERIVED * filter_count
        )
        if _is_known(site, 1, 4)
        else None
    )
    sums = _sums(type, taps) if packed is None else packed.dtype
    if packed is None:
        _wide(site, 1, sums)
        site.needs.memory(filter_count * repeat, sums.itemsize)
    _wide(site, 0, sums)
    site.needs.memory(site.elements_of(0) * multiplier, sums.itemsize)
    # Each phase has a column more than it shares with others, at most.
    phase_count = min(columns, step_x)
    rows_padded = type.shape[1] + kind.pad[0] + kind.pad[1]
    lines_size = _padded_size(site, kind.pad) + batch * rows_padded * phase_count * type.shape[3]
    site.needs.memory(lines_size * multiplier, sums.itemsize)
    site.needs.memory(phase_count, _PHASE)
    site.needs.visits(lines_size * multiplier + columns, calls=phase_count)
    # Rows that are in the cache from the first term to the last.
    length = max(1, _BLOCK // (batch * width * outputs))
    _summed(site, 0, sums)
    site.needs.visits(0, -(-height // length) * taps, calls=4)
    site.needs.visits(site.elements, taps, calls=0)

    def kernel(x: Array, weight: Array, bias: Array, x_zp: Array, w_zp: Array) -> Array:
        filters = repeated(_shifted(weight, w_zp, sums), sums) if packed is None else packed
        image = _shifted(x, x_zp, sums)
        if multiplier > 1:
            image = np.repeat(image, multiplier, axis=3)
        phases = {tap * apart_x % step_x for tap in range(columns)}
        lines = {phase: _columns(image, kind.pad, phase, step_x) for phase in phases}

        def under(y: int, z: int, start: int, count: int) -> Array:
            """The pixels that a tap is on, for `count` rows of the result."""
            offset, phase = divmod(z * apart_x, step_x)
            top = start * step_y + y * apart_y
            return lines[phase][
                :, top : top + (count - 1) * step_y + 1 : step_y, offset : offset + width
            ].reshape(batch, count, width // repeat, repeat, outputs)

        made = np.empty(shape, sums)
        scratch = np.empty((batch, min(length, height), width // repeat, repeat, outputs), sums)
        for at in range(0, height, length):
            part = made[:, at : at + length]
            count = part.shape[1]
            part = part.reshape(batch, count, width // repeat, repeat, outputs)
            term = scratch[:, :count]
            np.multiply(under(0, 0, at, count), filters[0, 0], part)
            for tap in range(1, taps):
                y, z = divmod(tap, columns)
                np.multiply(under(y, z, at, count), filters[y, z], term)
                part += term
        return _finished(made, bias, dtype)

    return kernel


def _transposed(site: Site) -> Kernel:
    kind, dtype = site.attribute, site.dtype
    outputs, rows, columns, channels = site.inputs[1].shape
    type = site.inputs[0]
    if _is_known(site, 1, 4):
        sums = site.accountant.derive(
            0,
            lambda: _sums_with(type, _filters(site, 1, 4).reshape(outputs, -1).T, _span(site, 3)),
            _ARRAYS_OF_FILTERS * _DERIVED * site.elements_of(1),
        )
    else:
        sums = _sums(type, rows * columns * channels)
    batch, height, width, _ = site.inputs[0].shape
    top, bottom, left, right = kind.out_pad
    step_y, step_x = kind.stride
    full = (batch, (height - 1) * step_y + rows, (width - 1) * step_x + columns, outputs)
    outer = tuple(max(amount, 0) for amount in kind.out_pad)
    _wide(site, 0, sums)
    _wide(site, 1, sums)
    # The image as rows, the filter of a tap, its products, all of them and what is left of them.
    image_size = batch * height * width
    site.needs.memory(image_size * channels + outputs * channels, sums.itemsize)
    site.needs.memory(image_size * outputs, sums.itemsize, 2)
    site.needs.memory(full, sums.itemsize, 2)
    site.needs.visits(prod(full))
    site.needs.visits(image_size * outputs * (channels + 2) + outputs * channels, rows * columns, calls=5)
    _summed(site, 0, sums)

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
    site.needs.memory(_padded_size(site, kind.pad), dtype.itemsize)
    site.needs.visits(_padded_size(site, kind.pad))
    site.takes(1, dtype.itemsize)
    site.needs.visits(site.elements, kind.kernel[0] * kind.kernel[1], calls=2)

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
    each: list[Array] = []
    for dim in range(2):
        start = np.arange(site.output.shape[1 + dim]) * kind.stride[dim] - kind.pad[2 * dim]
        end = np.minimum(start + kind.kernel[dim], site.inputs[0].shape[1 + dim])
        each.append(end - np.maximum(start, 0))
    return each[0][:, np.newaxis, np.newaxis] * each[1][:, np.newaxis]


def _avg_pool(site: Site) -> Kernel:
    kind, dtype = site.attribute, site.dtype
    sums = _sums(site.inputs[0], kind.kernel[0] * kind.kernel[1])
    rows, columns = site.output.shape[1:3]
    _wide(site, 0, sums)
    site.needs.memory(_padded_size(site, kind.pad), sums.itemsize)
    site.needs.visits(_padded_size(site, kind.pad))
    site.needs.visits(site.elements, kind.kernel[0] * kind.kernel[1], calls=2)
    # Numbers of elements and how to divide by them, of rows and columns and of windows.
    site.needs.memory(rows * columns + rows + columns, 8, 5)
    site.needs.memory(rows * columns, _INTEGER)
    site.needs.visits(rows * columns, 100)
    _summed(site, 0, sums)

    def summed(x: Array) -> Array:
        windows = _windows(_padded(x, kind.pad), kind.kernel, kind.stride, (1, 1))
        made = np.zeros((*windows.shape[:3], windows.shape[5]), sums)
        for y in range(kind.kernel[0]):
            for z in range(kind.kernel[1]):
                made += windows[:, :, :, y, z]
        return made

    if dtype.kind == "f":
        return first(
            lambda x: (summed(x.astype(sums, copy=False)) / _counts(site).astype(sums)).astype(dtype)
        )
    limits = np.iinfo(dtype)

    def integers(x: Array, x_zp: Array, y_zp: Array) -> Array:
        made = summed(_shifted(x, x_zp, sums)).astype(np.int64)
        multiplier, shift = _reciprocal_scale(_counts(site))
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
