"""Depthwise convolution kernels: each channel with a filter of its own, vectors of channels.

A tile is of neighboring pixels of a row of the result by a vector of channels, so that filters, and pixels under
several windows, are read once for all of them. Tiles at the ends of a row leave out what is beyond the image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import vector
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.epilogue import Epilogue, convolution_epilogue
from et_backends.codegen.kernels.host import Host, Operand, kernel_key
from et_backends.codegen.kernels.panels import PANEL, Array, array_constant, constant_array
from et_backends.codegen.kernels.pointwise_rules import anchor_of
from et_backends.codegen.kernels.windows import Window, window_of
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of

__all__ = ["DepthwiseRow", "build_row", "depthwise_kernel", "filter_operand", "tile_pixels"]


def depthwise_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a depthwise convolution."""
    body = kernel.body.block
    anchor = anchor_of(kernel)
    window = window_of(anchor)
    outside = dict(zip(body.args, kernel.inputs, strict=True))
    filters = constant_array(host, outside[anchor.arg("weight")])
    assert filters is not None
    channels = filters.shape[0]
    rows = window.batch * window.out_height * window.out_width
    epilogue = convolution_epilogue(kernel, anchor)
    image = Operand(
        host.buffer(outside[anchor.arg("input")]),
        [window.batch * window.in_height, window.in_width, channels],
    )
    packed = filter_operand(host, filters)
    result = Operand(host.buffer(kernel.outputs[0]), [rows, channels])
    size = tile_pixels(window, host)

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, *others, y = buffers
        epilogue.bind(others)
        if b.fine:
            _build_each(b, window, epilogue, x, w, y)
            return
        with b.parallel(window.batch * window.out_height) as row:
            number = b.quotient(row, window.out_height)
            first = b.mul(number, window.in_height)
            top = b.sub(b.mul(b.remainder(row, window.out_height), window.step_y), window.border_y)
            build_row(
                b,
                DepthwiseRow(window, size, channels, epilogue, x, w, y),
                top,
                lambda line: b.add(first, line),
                b.mul(row, window.out_width),
            )

    operands = [image, packed, *epilogue.operands(host), result]
    host.call("depthwise", operands, build, kernel_key(kernel))


def _build_each(
    b: LoopBuilder, window: Window, epilogue: Epilogue, x: SSAValue, w: SSAValue, y: SSAValue
) -> None:
    """An iteration for each element of the result."""
    one = vector_of(1)
    with b.each([window.batch * window.out_height, window.out_width, b.dim(y, 1)]) as (row, place, channel):
        first = b.mul(b.quotient(row, window.out_height), window.in_height)
        top = b.sub(b.mul(b.remainder(row, window.out_height), window.step_y), window.border_y)
        left = b.sub(b.mul(place, window.step_x), window.border_x)
        lines = b.steps_within(top, window.height, window.apart_y, window.in_height)
        columns = b.steps_within(left, window.width, window.apart_x, window.in_width)
        with b.for_(*lines, 1, [b.splat(0.0, one)]) as outer:
            line = b.add(first, b.add(top, b.mul(outer.index, window.apart_y)))
            with b.for_(*columns, 1, [outer.args[0]]) as inner:
                column = b.add(left, b.mul(inner.index, window.apart_x))
                value = b.load(x, [line, column, channel], one)
                weight = b.load(w, [outer.index, inner.index, channel], one)
                inner.next = [b.value(vector.FMAOp(value, weight, inner.args[0]))]
            outer.next = [inner.results[0]]
        pixel = b.add(b.mul(row, window.out_width), place)
        epilogue.store_row(b, outer.results[0], y, [pixel, channel], None)


def filter_operand(host: Host, filters: Array) -> Operand:
    """Filters, `[row][column][channel]`, as a kernel takes them."""
    made = filters[:, 0].transpose(1, 2, 0)
    return Operand(array_constant(host, made), made.shape)


def tile_pixels(window: Window, host: Host) -> int:
    """Pixels of a tile, each of which is an accumulator; a vector of 16 takes more registers where they are shorter."""
    most = host.tile_pixels
    tiles = -(-window.out_width // most)
    return -(-window.out_width // tiles)


@dataclass(frozen=True)
class DepthwiseRow:
    """Buffers and places that the loops of one row of a result read and write."""

    window: Window
    tile: int
    """Pixels of a tile."""
    channels: int
    epilogue: Epilogue
    x: SSAValue
    """The image, `[line][column][channel]`."""
    w: SSAValue
    """Filters, `[row][column][channel]`."""
    y: SSAValue
    """The result, `[pixel][channel]`."""


def build_row(
    b: LoopBuilder, row: DepthwiseRow, top: Index, line_of: Callable[[Index], Index], first: Index
) -> None:
    """Loops of one row of the result, from pixel `first` of the buffer for it on.

    Its windows start at row `top` of the image, which may be above it. `line_of` gives the line of the buffer where a
    row of the image is.
    """
    window, tile = row.window, row.tile
    lines = b.steps_within(top, window.height, window.apart_y, window.in_height)
    count = b.dim(row.y, 1)
    whole = b.multiple_below(count, PANEL)

    def pixels(place: Index, *, inside: bool) -> None:
        """A tile of all channels, which follow each other in memory."""

        def vectors(channel: Index, mask: SSAValue | None) -> None:
            totals = _tile(b, row, top, lines, line_of, place, channel, mask, inside=inside)
            for pixel, total in enumerate(totals):
                here = [b.add(first, b.add(place, pixel)), channel]
                row.epilogue.store_row(b, total, row.y, here, mask)

        with b.for_(0, whole, PANEL) as inner:
            vectors(inner.index, None)
        if row.channels % PANEL:
            vectors(whole, b.mask(b.sub(count, whole), PANEL))

    # The last tile ends with the row, and may compute pixels of the one before again.
    last = window.out_width - tile
    places = [*range(0, last, tile), last]
    inside = [place for place in places[:-1] if _is_inside(window, place, tile)]
    for place in places:
        if place not in inside:
            pixels(place, inside=False)
        elif place == inside[0]:
            with b.for_(place, inside[-1] + 1, tile) as loop:
                pixels(loop.index, inside=True)


def _is_inside(window: Window, place: int, tile: int) -> bool:
    """Whether all windows of a tile are between the left and the right end of the image."""
    left = place * window.step_x - window.border_x
    right = (place + tile - 1) * window.step_x - window.border_x + (window.width - 1) * window.apart_x
    return left >= 0 and right < window.in_width


def _tile(
    b: LoopBuilder,
    row: DepthwiseRow,
    top: Index,
    lines: tuple[Index, Index],
    line_of: Callable[[Index], Index],
    place: Index,
    channel: Index,
    mask: SSAValue | None,
    *,
    inside: bool,
) -> list[SSAValue]:
    """A vector of channels of each pixel of a tile, row by row of the filter.

    Unless the tile is inside of the image, its place is a number, and what is outside is left out.
    """
    window, size = row.window, row.tile
    left = b.sub(b.mul(place, window.step_x), window.border_x)
    zero = b.splat(0.0, vector_of(PANEL))
    with b.for_(*lines, 1, [zero] * size) as loop:
        totals = list(loop.args)
        line = line_of(b.add(top, b.mul(loop.index, window.apart_y)))
        values: dict[int, SSAValue] = {}
        for tap in range(window.width):
            weights = b.load_row(row.w, [loop.index, tap, channel], mask, PANEL)
            for pixel in range(size):
                column = pixel * window.step_x + tap * window.apart_x
                at = b.add(left, column)
                if not inside and not (isinstance(at, int) and 0 <= at < window.in_width):
                    continue
                if column not in values:
                    values[column] = b.load_row(row.x, [line, at, channel], mask, PANEL)
                totals[pixel] = b.value(vector.FMAOp(values[column], weights, totals[pixel]))
        loop.next = totals
    return list(loop.results)
