"""Depthwise convolution kernels of bytes: vectors of channels, four rows of the filter at once.

Bytes of four rows of an image, of one column and channel, are put together in a lane. Each such vector is used by all
windows that cover the column, with one instruction for each four rows of a column of the filter. Without vectors, one
channel after the other is computed, whose filter stays in registers for a row of the image.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.dialect.types import vector_type
from et_backends.codegen.kernels.borders import bordered
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.integer_operands import kernel_operands
from et_backends.codegen.kernels.integer_product import QUAD, packed_starts
from et_backends.codegen.kernels.panels import PANEL
from et_backends.codegen.kernels.quantization_rules import i8
from et_backends.codegen.kernels.requantization import IntegerEpilogue, integer_epilogue
from et_backends.codegen.kernels.windows import Window, window_of
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_ir.data import Blob

__all__ = ["integer_depthwise_kernel"]

SMALL_TILE = 4
"""Pixels that are computed at once where registers are few."""


def integer_depthwise_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a depthwise convolution of bytes."""
    found = kernel_operands(host.symbols, kernel)
    window = window_of(found.op)
    channels = found.weights.shape[0]
    rows = window.batch * window.out_height * window.out_width
    image = host.buffer(kernel.outside()[found.activation.operands[0]])
    source = bordered(host, image, window, channels, channels, found.zero_point)
    epilogue = integer_epilogue(host, kernel, found, rows, channels)
    left = Operand(source, [window.batch * window.padded_height, window.padded_width, channels])
    panel = 1 if host.small else PANEL
    padded, groups = -(-channels // panel) * panel, -(-window.height // QUAD)
    whole = np.zeros((padded, groups * QUAD, window.width), np.int8)
    whole[:channels, : window.height] = found.weights[:, 0]
    packed = whole.reshape(padded, groups, QUAD, window.width).transpose(1, 3, 0, 2)
    blob = Blob.of("packed", np.ascontiguousarray(packed).reshape(-1).view(np.uint8).data)
    shape = [groups, window.width, padded]
    right = Operand(host.constant(blob, whole.size // QUAD, i32), shape)
    start = packed_starts(host, found.start())
    result = Operand(host.buffer(kernel.outputs[0]), [rows, channels])
    most = SMALL_TILE if host.small else host.tile_pixels
    tiles = -(-window.out_width // most)
    tile = -(-window.out_width // tiles)

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, bias, *others, y = buffers
        epilogue.bind(others)
        _build(b, window, tile, channels, panel, epilogue, (x, w, bias, y))

    host.multiplies_bytes = True
    host.call("integer_depthwise", [left, right, start, *epilogue.operands(host), result], build)


def _build(
    b: LoopBuilder,
    window: Window,
    tile: int,
    channels: int,
    panel: int,
    epilogue: IntegerEpilogue,
    buffers: tuple[SSAValue, SSAValue, SSAValue, SSAValue],
) -> None:
    _, w, bias, y = buffers
    whole = channels // panel * panel
    type = vector_of(panel, element=i32)
    with b.parallel(window.batch * window.out_height) as row:
        number = b.quotient(row, window.out_height)
        line = b.mul(b.remainder(row, window.out_height), window.step_y)
        top = b.add(b.mul(number, window.padded_height), line)
        first = b.mul(row, window.out_width)

        def pixels(channel: Index, mask: SSAValue | None) -> None:
            start = b.load(bias, [channel], type)
            weights = [
                [b.load(w, [group, tap, channel], type) for tap in range(window.width)]
                for group in range(-(-window.height // QUAD))
            ]
            with b.for_(0, window.out_width, tile) as loop:
                left = b.min(loop.index, window.out_width - tile)
                totals = _tile(
                    b, window, tile, buffers[0], weights, [start] * tile, [top, left, channel], mask
                )
                for place, total in enumerate(totals):
                    at = [b.add(b.add(first, left), place), channel]
                    epilogue.store_row(b, total, y, at, mask)

        with b.for_(0, whole, panel) as inner:
            pixels(inner.index, None)
        if channels % panel:
            pixels(whole, b.mask(channels - whole, panel))


def _tile(
    b: LoopBuilder,
    window: Window,
    tile: int,
    x: SSAValue,
    weights: Sequence[Sequence[SSAValue]],
    totals: list[SSAValue],
    at: Sequence[Index],
    mask: SSAValue | None,
) -> list[SSAValue]:
    """Sums of neighboring pixels, for a vector of channels, at a row, a column and a channel."""
    top, left, channel = at
    (panel,) = vector_type(totals[0]).get_shape()
    column = b.mul(left, window.step_x)
    for group in range(0, window.height, QUAD):
        lines = range(group, min(group + QUAD, window.height))
        last = (tile - 1) * window.step_x + (window.width - 1) * window.apart_x
        for place in range(last + 1):
            uses = [
                (pixel, tap)
                for pixel in range(tile)
                for tap in range(window.width)
                if pixel * window.step_x + tap * window.apart_x == place
            ]
            if not uses:
                continue
            here = b.add(column, place)
            rows = [
                b.load_row(x, [b.add(top, line * window.apart_y), here, channel], mask, panel, i8)
                for line in lines
            ]
            quads = b.joined_bytes(rows)
            for pixel, tap in uses:
                totals[pixel] = b.dot(quads, weights[group // QUAD][tap], totals[pixel])
    return totals
