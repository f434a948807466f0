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
from et_ir.backends.native.kernels.padding import padded
from et_ir.backends.native.kernels.panels import PANEL, array_constant, constant_array
from et_ir.backends.native.kernels.pointwise_rules import add
from et_ir.backends.native.kernels.windows import Window, window_of
from et_ir.backends.native.loop_builder import Index, LoopBuilder, vector_of
from et_ir.dialects.native import KernelOp
from et_ir.dialects.schema import SchemaOp

__all__ = ["depthwise_kernel"]


def depthwise_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a depthwise convolution."""
    body = kernel.body.block
    anchor = next(op for op in body.ops if isinstance(op, SchemaOp))
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
    source = padded(host, host.buffer(outside[anchor.arg("input")]), window, channels, 0.0)
    image = Operand(source, [window.batch, window.padded_height, window.padded_width, channels])
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
    with b.parallel(window.batch * window.out_height) as row:
        number = b.quotient(row, window.out_height)
        top = b.mul(b.remainder(row, window.out_height), window.step_y)
        first = b.mul(row, window.out_width)

        def pixels(channel: Index, mask: SSAValue | None) -> None:
            with b.for_(0, window.out_width, tile) as loop:
                left = b.min(loop.index, window.out_width - tile)
                at = [number, top, b.mul(left, window.step_x), channel]
                totals = _accumulate(b, window, tile, x, w, at, mask)
                for place, total in enumerate(totals):
                    here = [b.add(first, b.add(left, place)), channel]
                    epilogue.store_row(b, total, y, here, mask)

        with b.for_(0, whole, PANEL) as loop:
            pixels(loop.index, None)
        if channels % PANEL:
            pixels(whole, b.mask(b.sub(count, whole), PANEL))


def _accumulate(
    b: LoopBuilder,
    window: Window,
    tile: int,
    x: SSAValue,
    w: SSAValue,
    at: Sequence[Index],
    mask: SSAValue | None,
) -> list[SSAValue]:
    """A vector of channels of each pixel of a tile, row by row of the filter."""
    number, top, left, channel = at
    zero = b.splat(0.0, vector_of(PANEL))
    totals = [zero] * tile
    for line in range(window.height):
        pixels: dict[int, SSAValue] = {}
        row = b.add(top, line * window.apart_y)
        for place in range(window.width):
            taps = b.load_row(w, [line, place, channel], mask, PANEL)
            for pixel in range(tile):
                column = pixel * window.step_x + place * window.apart_x
                if column not in pixels:
                    pixels[column] = b.load_row(x, [number, row, b.add(left, column), channel], mask, PANEL)
                totals[pixel] = b.value(vector.FMAOp(pixels[column], taps, totals[pixel]))
    return totals
