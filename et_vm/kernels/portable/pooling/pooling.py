"""Average and maximum pooling."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from et_ops.inference.backward import max_pooling_backward
from et_ops.inference.convolution import POOLING
from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.arguments import FLOAT, INTEGER, check_kinds, check_same_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.image.geometry import Padded, Window, window_over, windows
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.portable.steps import call, chain, copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, DType, Tensor, strided_view


def pooling_window(
    ctx: PrepareContext,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    places: Tensor,
    dims: int = 2,
) -> Window:
    """The geometry of a pooling over the last `dims` dimensions, with a result of the shape of `places`. The last
    window may hang over the end: of one larger than the image with its padding, which has one place, only the taps
    within are there.
    """
    size, count = self.sizes[-dims:], places.sizes[-dims:]
    window = window_over(size, kernel_size, stride, padding, dilation, count)
    window = window._replace(
        kernel=tuple(
            min(taps, (extent + 2 * pad - 1) // spread + 1)
            for taps, extent, pad, spread in zip(
                window.kernel, window.size, window.padding, window.dilation, strict=True
            )
        )
    )
    window.check_cost(ctx, math.prod(self.sizes[:-dims]), filtered=False)
    return window


def batch_of(self: Tensor, dims: int) -> Array:
    """`self` with a batch dimension."""
    return self.array if len(self.sizes) == dims + 2 else self.array[None]


def _overhang(window: Window) -> Window:
    """`window` with the padding at the end, too, that its last places need."""
    pads = tuple(
        max(pad, reach - size - pad)
        for pad, reach, size in zip(window.padding, window.reach, window.size, strict=True)
    )
    return window._replace(padding=pads)


class Taps:
    """Images, padded, tap by tap: for each tap a view with the elements that it meets at every place. `edges` are the
    calls that write the padding, once.
    """

    def __init__(self, ctx: PrepareContext, image: Array, window: Window, value: float) -> None:
        """`image`: one like those to come."""
        wide = _overhang(window)
        self._window = window
        self._pad = Padded(ctx, image, 2, wide, value)
        self.edges = self._pad.edges
        # Padding is symmetric in scratch; skip what the overhang added in front.
        self._begin = tuple(
            slice(new - old, None) for new, old in zip(wide.padding, window.padding, strict=True)
        )

    def of(self, ctx: PrepareContext, image: Array) -> tuple[list[Step], list[Array]]:
        """The calls that bring an image in, and its taps."""
        # A view for each tap, and the call that takes it.
        ctx.hold(calls=math.prod(self._window.kernel))
        bring, buffer = self._pad.calls(ctx, image)
        view = windows(buffer[(slice(None), slice(None), *self._begin)], 2, self._window)
        places = itertools.product(*(range(count) for count in self._window.kernel))
        return bring, [view[(slice(None), slice(None), *tap)] for tap in places]


_BLOCK = 1 << 17
"""Elements of the planes that a maximum is taken of at once: all that it needs for them stays in the cache."""


@kernel("aten::max_pool2d_with_indices.out", any_layout=True)
@inferred(POOLING[2].maximum, kinds=(INTEGER, FLOAT), outs=2)
def max_pool2d_with_indices_out(
    ctx: PrepareContext,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
    out: Tensor,
    indices: Tensor,
) -> Step:
    """The largest of each window, and its index in the image's plane: of equals the first, of NaNs the last.

    Scratch: for a block of the channels, its padded planes and a few small integers per output element.
    """
    image = batch_of(self, 2)
    window = pooling_window(ctx, self, kernel_size, stride, padding, dilation, out)
    lowest = -math.inf if is_float_type(self) else float(np.iinfo(self.dtype).min)
    dtype = numpy_dtype(arithmetic(self.scalar_type))
    calls: list[Step] = []
    if self.dtype != dtype:
        wide = ctx.scratch(image.shape, dtype)
        calls.append(copy(image, wide))
        image = wide
    batch, channels = image.shape[:2]
    batched = (batch, channels, *window.out)
    values = out.array.reshape(batched) if self.dtype == dtype else ctx.scratch(batched, dtype)
    places = indices.array.reshape(batched)
    planes = max(1, min(channels, _BLOCK // math.prod(window.size)))
    taps = Taps(ctx, image[:1, :planes], window, lowest)
    first_maximum = _FirstMaximum(ctx, (1, planes, *window.out), window)
    calls += taps.edges
    ctx.hold(calls=2 * batch * -(-channels // planes) * math.prod(window.kernel))
    for sample, start in itertools.product(range(batch), range(0, channels, planes)):
        # The last block takes some planes again rather than fewer.
        end = min(start + planes, channels)
        block = slice(sample, sample + 1), slice(end - planes, end)
        bring, views = taps.of(ctx, image[block])
        largest = values[block]
        first, *others = views
        calls += [*bring, copy(first, largest) if not others else call(np.maximum, first, others[0], largest)]
        calls += [call(np.maximum, largest, tap, largest) for tap in others[1:]]
        calls += first_maximum.calls(views, largest, places[block])
    if self.dtype != dtype:
        calls.append(copy(values.reshape(out.sizes), out.array))
    return chain(calls)


def is_float_type(tensor: Tensor) -> bool:
    """Whether `tensor` holds floats."""
    return tensor.scalar_type.is_floating


_OUTSIDE = 5
"""Bytes that a tap has for each place: whether it is outside of the image, and that as a number."""


class _FirstMaximum:
    """The plane index of the first tap equal to the maximum, for blocks of planes.

    The number of the tap is the minimum over taps of (tap + a large number unless it is equal), in integers
    as small as the number of taps allows, which numpy computes many at a time; the index is then looked up
    per tap and added to that of the place.
    """

    def __init__(self, ctx: PrepareContext, shape: Sequence[int], window: Window) -> None:
        """`shape` is that of the results for a block."""
        count = math.prod(window.kernel)
        ctx.hold(count * math.prod(window.out) * _OUTSIDE, calls=2 * count)
        taps = list(itertools.product(*(range(count) for count in window.kernel)))
        self._miss = 128 if len(taps) <= 128 else 1 << 14
        kind = np.dtype(np.uint8 if len(taps) <= 128 else np.uint16)
        if len(taps) > self._miss:
            self._miss, kind = 1 << 31, np.dtype(np.uint32)
        self._weight = filled(kind, self._miss)
        self._differs = ctx.scratch(shape, np.bool_)
        self._number, self._best = ctx.scratch(shape, kind), ctx.scratch(shape, kind)
        self._places, self._flat = ctx.scratch(shape, np.intp), ctx.scratch(shape, np.int64)
        self._outside = [_outside(window, tap) for tap in taps]
        self._misses = [outside.astype(kind) * self._weight for outside in self._outside]
        columns = window.size[1]
        self._offsets = np.array(
            [y * window.dilation[0] * columns + x * window.dilation[1] for y, x in taps], np.int64
        )
        corner_y = np.arange(window.out[0]) * window.stride[0] - window.padding[0]
        corner_x = np.arange(window.out[1]) * window.stride[1] - window.padding[1]
        self._corners = (corner_y[:, None] * columns + corner_x).astype(np.int64)

    def calls(self, taps: Sequence[Array], values: Array, indices: Array) -> list[Step]:
        """Calls that store the indices for the maxima `values`."""
        number, best, kind = self._number, self._best, self._best.dtype
        calls: list[Step] = [copy(self._weight, best)]
        for at, (tap, misses) in enumerate(zip(taps, self._misses, strict=True)):
            calls += [
                call(np.not_equal, tap, values, self._differs),
                call(np.multiply, self._differs, self._weight, number),
                call(np.add, number, filled(kind, at), number),
            ]
            if misses.any():
                calls.append(call(np.bitwise_or, number, misses, number))
            calls.append(call(np.minimum, best, number, best))
        flat = indices if indices.flags.c_contiguous else self._flat
        calls += [
            copy(best, self._places),
            (self._offsets.take, (self._places, None, flat, "clip")),
            call(np.add, flat, self._corners, flat),
            (_settle_rest, (taps, best, self._miss, flat, self._offsets, self._corners, self._outside)),
        ]
        if flat is not indices:
            calls.append(copy(flat, indices))
        return calls


def _outside(window: Window, tap: Sequence[int]) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """The places at which `tap` lies in the padding."""
    lines = [
        np.arange(count) * step - pad + at * spread
        for count, step, pad, at, spread in zip(
            window.out, window.stride, window.padding, tap, window.dilation, strict=True
        )
    ]
    rows, columns = ((line < 0) | (line >= size) for line, size in zip(lines, window.size, strict=True))
    return rows[:, None] | columns


def _settle_rest(
    taps: Sequence[Array],
    best: Array,
    miss: int,
    indices: Array,
    offsets: Array,
    corners: Array,
    outside: Sequence[Array],
) -> None:
    """Windows in which no tap equals the maximum hold a NaN: theirs is the index of the last."""
    lost = best >= miss
    if not lost.any():
        return
    for at, tap in enumerate(taps):
        here = lost & np.isnan(tap) & ~outside[at]
        np.copyto(indices, corners + offsets[at], where=here)


@kernel("aten::avg_pool2d.out")
@inferred(POOLING[2].average, kinds=(INTEGER, FLOAT))
def avg_pool2d_out(
    ctx: PrepareContext,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out: Tensor,
) -> Step:
    """The mean of each window, divided by `divisor_override` or the elements it covers, with or without
    those in the padding. Scratch: the padded image; for 16-bit types also a float32 result.
    """
    return _average(ctx, self, 2, kernel_size, stride, padding, count_include_pad, divisor_override, out)


@kernel("aten::avg_pool1d.out")
@inferred(POOLING[1].average, kinds=(INTEGER, FLOAT))
def avg_pool1d_out(
    ctx: PrepareContext,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    out: Tensor,
) -> Step:
    """The mean of each window. Scratch: the padded signal; for 16-bit types also a float32 result."""
    return _average(ctx, self, 1, kernel_size, stride, padding, count_include_pad, None, out)


@kernel("aten::avg_pool3d.out")
@inferred(POOLING[3].average, kinds=(INTEGER, FLOAT))
def avg_pool3d_out(
    ctx: PrepareContext,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out: Tensor,
) -> Step:
    """The mean of each window. Scratch: the padded volume; for 16-bit types also a float32 result."""
    return _average(ctx, self, 3, kernel_size, stride, padding, count_include_pad, divisor_override, out)


def _average(
    ctx: PrepareContext,
    self: Tensor,
    dims: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    count_include_pad: bool,
    divisor_override: int | None,
    out: Tensor,
) -> Step:
    image = batch_of(self, dims)
    window = pooling_window(ctx, self, kernel_size, stride, padding, (1,), out, dims)
    dtype = numpy_dtype(arithmetic(self.scalar_type))
    calls: list[Step] = []
    if self.dtype != dtype:
        wide = ctx.scratch(image.shape, dtype)
        calls.append(copy(image, wide))
        image = wide
    taps = Taps(ctx, image, window, 0)
    bring, views = taps.of(ctx, image)
    calls += [*taps.edges, *bring]
    batched = (image.shape[0], image.shape[1], *window.out)
    sums = out.array.reshape(batched) if self.dtype == dtype else ctx.scratch(batched, dtype)
    divisor = divisors(window, count_include_pad, divisor_override, dtype)
    first, *others = views
    if math.prod(window.out) * 4 < len(views):
        # Few places with many taps, such as a global average: one reduction over the windows.
        whole = strided_view(
            first,
            (*first.shape, *window.kernel),
            (*first.strides, *_tap_strides(views, window)),
        )
        calls.append((np.add.reduce, (whole, tuple(range(2 + dims, 2 + 2 * dims)), dtype, sums)))
    else:
        calls.append(copy(first, sums) if not others else call(np.add, first, others[0], sums))
        calls += [call(np.add, sums, tap, sums) for tap in others[1:]]
    if dtype.kind in "iu":
        calls += _truncated(ctx, sums, divisor)
    else:
        calls.append(call(np.divide, sums, divisor, sums))
    if self.dtype != dtype:
        calls.append(copy(sums.reshape(out.sizes), out.array))
    return chain(calls)


def _truncated(ctx: PrepareContext, sums: Array, divisor: Array) -> list[Step]:
    """Integers divided as C does."""
    rest = ctx.scratch(sums.shape, sums.dtype)
    return [
        call(np.fmod, sums, divisor, rest),
        call(np.subtract, sums, rest, sums),
        call(np.floor_divide, sums, divisor, sums),
    ]


def _tap_strides(views: Sequence[Array], window: Window) -> list[int]:
    """Byte strides from a tap to the next along each dimension."""
    start = views[0].__array_interface__["data"][0]
    strides: list[int] = []
    for axis, count in enumerate(window.kernel):
        step = math.prod(window.kernel[axis + 1 :])
        strides.append(views[step].__array_interface__["data"][0] - start if count > 1 else 0)
    return strides


def divisors(window: Window, include_pad: bool, override: int | None, dtype: DType) -> Array:
    """Divisors of the sums, as an array that broadcasts over batch and channels."""
    if override is not None:
        return filled(dtype, override)
    counts: Array = np.ones((1,) * len(window.out), np.int64)
    for axis, (size, taps, step, pad, places) in enumerate(
        zip(window.size, window.kernel, window.stride, window.padding, window.out, strict=True)
    ):
        start = np.arange(places) * step - pad
        end = np.minimum(start + taps, size + pad)
        count = end - start if include_pad else np.minimum(end, size) - np.maximum(start, 0)
        shape = [1] * len(window.out)
        shape[axis] = places
        counts = counts * count.reshape(shape)
    if (counts == counts.flat[0]).all():
        return filled(dtype, int(counts.flat[0]))
    return counts.astype(dtype)


def adaptive_bounds(size: int, places: int) -> list[tuple[int, int]]:
    """The ranges that adaptive pooling divides a dimension into: from floor(i n / m) to ceil((i + 1) n /
    m).
    """
    return [(at * size // places, -(-(at + 1) * size // places)) for at in range(places)]


def _equal_parts(
    ctx: PrepareContext, image: Array, places: Sequence[int], dtype: DType, out: Array
) -> list[Step]:
    """Calls for the means of equal parts: whole rows are added up before the few sums that remain are
    divided among columns.
    """
    space = image.shape[2:]
    source = image
    calls: list[Step] = []
    for axis, (size, count) in enumerate(zip(space, places, strict=True), 2):
        split = source.reshape(*source.shape[:axis], count, size // count, *source.shape[axis + 1 :])
        shape = (*split.shape[: axis + 1], *split.shape[axis + 2 :])
        target = out if axis == image.ndim - 1 else ctx.scratch(shape, dtype)
        calls.append((np.add.reduce, (split, axis + 1, dtype, target)))
        source = target
    parts = math.prod(size // count for size, count in zip(space, places, strict=True))
    return [*calls, call(np.divide, out, filled(dtype, parts), out)]


def _adaptive(ctx: PrepareContext, self: Tensor, dims: int, out: Tensor) -> Step:
    image, places = batch_of(self, dims), out.sizes[-dims:]
    dtype = numpy_dtype(arithmetic(self.scalar_type))
    calls: list[Step] = []
    batched = (*image.shape[:2], *places)
    target = out.array.reshape(batched) if out.dtype == dtype else ctx.scratch(batched, dtype)
    space = image.shape[2:]
    if all(size % count == 0 for size, count in zip(space, places, strict=True)):
        calls += _equal_parts(ctx, image, places, dtype, target)
    else:
        source = image
        for axis, count in enumerate(places, 2):
            extent = list(source.shape)
            extent[axis] = count
            result = target if axis == dims + 1 else ctx.scratch(extent, dtype)
            for at, (start, end) in enumerate(adaptive_bounds(source.shape[axis], count)):
                before = (slice(None),) * axis
                part = result[(*before, slice(at, at + 1))]
                calls += [
                    (np.add.reduce, (source[(*before, slice(start, end))], axis, dtype, part, True)),
                    call(np.divide, part, filled(dtype, end - start), part),
                ]
            source = result
    if out.dtype != dtype:
        calls.append(copy(target.reshape(out.sizes), out.array))
    return chain(calls)


@kernel("aten::_adaptive_avg_pool2d.out")
@inferred(POOLING[2].adaptive_average, kinds=(FLOAT,))
def adaptive_avg_pool2d_out(ctx: PrepareContext, self: Tensor, output_size: list[int], out: Tensor) -> Step:
    """Means over a grid of `output_size` nearly equal parts. Scratch: the means by rows when the parts
    are not equal; for 16-bit types the float32 result.
    """
    return _adaptive(ctx, self, 2, out)


@kernel("aten::adaptive_avg_pool1d.out")
@inferred(POOLING[1].adaptive_average, kinds=(FLOAT,))
def adaptive_avg_pool1d_out(ctx: PrepareContext, self: Tensor, output_size: list[int], out: Tensor) -> Step:
    """Means over `output_size` nearly equal parts. Scratch: as for two dimensions."""
    return _adaptive(ctx, self, 1, out)


@kernel("aten::_adaptive_avg_pool3d.out")
@inferred(POOLING[3].adaptive_average, kinds=(FLOAT,))
def adaptive_avg_pool3d_out(ctx: PrepareContext, self: Tensor, output_size: list[int], out: Tensor) -> Step:
    """Means over a grid of `output_size` nearly equal parts. Scratch: as for two dimensions."""
    return _adaptive(ctx, self, 3, out)


@kernel("aten::max_pool2d_with_indices_backward.grad_input", any_layout=True)
@inferred(max_pooling_backward)
def max_pool2d_with_indices_backward_out(
    ctx: PrepareContext,
    grad_output: Tensor,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
    indices: Tensor,
    grad_input: Tensor,
) -> Step:
    """Each gradient added to the element that was the maximum. Scratch: copies of what is not contiguous,
    and the flat positions.
    """
    check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    check_same_type(ctx, self, ("grad_output", grad_output))
    pooling_window(ctx, self, kernel_size, stride, padding, dilation, grad_output)
    dtype = numpy_dtype(arithmetic(self.scalar_type))
    planes, area = math.prod(self.sizes[:-2]), math.prod(self.sizes[-2:])
    total = ctx.scratch(planes * area, dtype)
    places = ctx.scratch((planes, math.prod(indices.sizes[-2:])), np.int64)
    grads = ctx.scratch(places.shape, dtype)
    base = (np.arange(planes, dtype=np.int64) * area)[:, None]
    return chain(
        [
            copy(filled(dtype, 0), total),
            copy(indices.array, places.reshape(indices.sizes)),
            (_check_indices, (ctx, places, area)),
            call(np.add, places, base, places),
            copy(grad_output.array, grads.reshape(grad_output.sizes)),
            (np.add.at, (total, places, grads)),
            copy(total.reshape(self.sizes), grad_input.array),
        ]
    )


def _check_indices(ctx: PrepareContext, indices: Array, count: int) -> None:
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < count:
        raise ctx.trap(arg="indices", expected=f"indices in [0, {count})", got=int(indices.max()))
