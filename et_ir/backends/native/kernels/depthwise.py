"""Depthwise convolution kernels: each channel with a filter of its own, vectors of channels.

A tile is of neighboring pixels of a row of the result by a vector of channels, so that filters, and pixels under
several windows, are read once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.ir import SSAValue

from et_ir.backends.native.kernels.epilogue import Epilogue
from et_ir.backends.native.kernels.host import Host, Operand
from et_ir.backends.native.kernels.panels import PANEL, array_constant, constant_array
from et_ir.backends.native.kernels.pointwise_rules import add, anchor_of
from et_ir.backends.native.kernels.windows import Window, window_of
from et_ir.backends.native.loop_builder import Index, LoopBuilder, vector_of
from et_ir.dialects.native import KernelOp

__all__ = ["depthwise_kernel"]


def depthwise_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a depthwise convolution."""
    body = kernel.body.block
    anchor = anchor_of(kernel)
    window = window_of(anchor)
    outside = dict(zip(body.args, kernel.inputs, strict=True))
    filters = constant_array(host, outside[anchor.arg("weight")])
    assert filters is not None
    channels = filters.shape[0]
    weights = array_constant(host, filters[:, 0].transpose(1, 2, 0))
    bias: SSAValue | None = anchor.arg("bias")
    rows = window.batch * window.out_height * window.out_width
    epilogue = Epilogue(
        kernel,
        anchor,
        rows,
        channels,
        lambda b, total, values: total if bias is None else add(b, total, values[bias]),
        [] if bias is None else [bias],
    )
    image = Operand(
        host.buffer(outside[anchor.arg("input")]), [window.batch, window.in_height, window.in_width, channels]
    )
    packed = Operand(weights, [window.height, window.width, channels])
    result = Operand(host.buffer(kernel.outputs[0]), [rows, channels])
    # Each pixel of a tile is an accumulator; a vector of 16 takes more registers where they are shorter.
    tile = min(window.out_width, {16: 8, 8: 3, 4: 3}[host.lanes])

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, *others, y = buffers
        epilogue.bind(others)
        _build(b, window, tile, channels, epilogue, x, w, y)

    host.call("depthwise", [image, packed, *epilogue.operands(host), result], build)


def _build(
    b: LoopBuilder,
    window: Window,
    tile: int,
    channels: int,
    epilogue: Epilogue,
    x: SSAValue,
    w: SSAValue,
    y: SSAValue,
) -> None:
    count = b.dim(y, 1)
    whole = b.multiple_below(count, PANEL)
    start, end = _inside(window)
    with b.parallel(window.batch * window.out_height) as row:
        number = b.quotient(row, window.out_height)
        top = b.sub(b.mul(b.remainder(row, window.out_height), window.step_y), window.border_y)
        lines = b.steps_within(top, window.height, window.apart_y, window.in_height)
        first = b.mul(row, window.out_width)

        def tiles(start: Index, end: Index, size: int, inside: bool) -> None:
            """Tiles of pixels, the last one of which ends with them; channels follow each other in memory."""
            with b.for_(start, end, size) as loop:
                place = b.min(loop.index, b.sub(end, size))
                left = b.sub(b.mul(place, window.step_x), window.border_x)

                def vectors(channel: Index, mask: SSAValue | None) -> None:
                    at = [number, top, left, channel]
                    if inside:
                        totals = _tile(b, window, size, x, w, at, lines, mask)
                    else:
                        totals = [_pixel(b, window, x, w, at, lines, mask)]
                    for pixel, total in enumerate(totals):
                        here = [b.add(first, b.add(place, pixel)), channel]
                        epilogue.store_row(b, total, y, here, mask)

                with b.for_(0, whole, PANEL) as inner:
                    vectors(inner.index, None)
                if channels % PANEL:
                    vectors(whole, b.mask(b.sub(count, whole), PANEL))

        if start:
            tiles(0, start, 1, inside=False)
        if end > start:
            tiles(start, end, min(tile, end - start), inside=True)
        if window.out_width > end:
            tiles(end, window.out_width, 1, inside=False)


def _inside(window: Window) -> tuple[int, int]:
    """The first pixel of a row whose window is inside of the image, and the end of these."""
    first = min(-(-window.border_x // window.step_x), window.out_width)
    reach = window.in_width + window.border_x - (window.width - 1) * window.apart_x - 1
    return first, max(first, min(reach // window.step_x + 1, window.out_width))


def _tile(
    b: LoopBuilder,
    window: Window,
    size: int,
    x: SSAValue,
    w: SSAValue,
    at: Sequence[Index],
    lines: tuple[Index, Index],
    mask: SSAValue | None,
) -> list[SSAValue]:
    """A vector of channels of each pixel of a tile whose windows are inside, row by row of the filter."""
    number, top, left, channel = at
    zero = b.splat(0.0, vector_of(PANEL))
    with b.for_(*lines, 1, [zero] * size) as loop:
        totals = list(loop.args)
        row = b.add(top, b.mul(loop.index, window.apart_y))
        pixels: dict[int, SSAValue] = {}
        for place in range(window.width):
            taps = b.load_row(w, [loop.index, place, channel], mask, PANEL)
            for pixel in range(size):
                column = pixel * window.step_x + place * window.apart_x
                if column not in pixels:
                    pixels[column] = b.load_row(x, [number, row, b.add(left, column), channel], mask, PANEL)
                totals[pixel] = b.value(vector.FMAOp(pixels[column], taps, totals[pixel]))
        loop.next = totals
    return list(loop.results)


def _pixel(
    b: LoopBuilder,
    window: Window,
    x: SSAValue,
    w: SSAValue,
    at: Sequence[Index],
    lines: tuple[Index, Index],
    mask: SSAValue | None,
) -> SSAValue:
    """A vector of channels of one pixel, of what its window covers of the image."""
    number, top, left, channel = at
    columns = b.steps_within(left, window.width, window.apart_x, window.in_width)
    zero = b.splat(0.0, vector_of(PANEL))
    with b.for_(*lines, 1, [zero]) as rows:
        row = b.add(top, b.mul(rows.index, window.apart_y))
        with b.for_(*columns, 1, [rows.args[0]]) as places:
            taps = b.load_row(w, [rows.index, places.index, channel], mask, PANEL)
            column = b.add(left, b.mul(places.index, window.apart_x))
            value = b.load_row(x, [number, row, column, channel], mask, PANEL)
            places.next = [b.value(vector.FMAOp(value, taps, places.args[0]))]
        rows.next = [places.results[0]]
    return rows.results[0]
