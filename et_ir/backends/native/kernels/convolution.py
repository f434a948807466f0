"""Convolution kernels: products of pixels and filters, without a matrix of patches.

A tile is of neighboring pixels of one row of the result by panels of channels. It is accumulated over the rows of the
filter and the run of elements under each: with channels innermost these follow each other, so that the loop is that of
a product whose left matrix has overlapping rows. A border of zeros is added to the image before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.ir import SSAValue

from et_ir.backends.native.kernels.epilogue import Epilogue
from et_ir.backends.native.kernels.host import Host, Operand
from et_ir.backends.native.kernels.padding import padded
from et_ir.backends.native.kernels.panels import (
    constant_array,
    panel_columns,
    panels_of,
    tile_rows,
)
from et_ir.backends.native.kernels.pointwise_rules import add, anchor_of
from et_ir.backends.native.kernels.product import Sizes, build_product, column_groups, packed_operand
from et_ir.backends.native.kernels.windows import Window, window_of
from et_ir.backends.native.loop_builder import Index, LoopBuilder, vector_of
from et_ir.dialects.native import KernelOp

__all__ = ["LARGE_FILTERS", "convolution_kernel"]

LARGE_FILTERS: Final = 1 << 18
"""Bytes of filters from which on each panel of them is applied to the whole image before the next."""


@dataclass(frozen=True)
class _Shape:
    """What the code of a kernel depends on."""

    window: Window
    sizes: Sizes
    rows_outside: bool
    """Whether threads share rows of the image, not groups of channels."""


def convolution_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a convolution of all channels."""
    body = kernel.body.block
    anchor = anchor_of(kernel)
    window = window_of(anchor)
    outside = dict(zip(body.args, kernel.inputs, strict=True))
    filters = constant_array(host, outside[anchor.arg("weight")])
    assert filters is not None
    columns, channels = filters.shape[:2]
    panels = panels_of(host, filters.transpose(2, 3, 1, 0))
    bias: SSAValue | None = anchor.arg("bias")
    rows = window.batch * window.out_height * window.out_width
    epilogue = Epilogue(
        kernel,
        anchor,
        rows,
        columns,
        lambda b, total, values: total if bias is None else add(b, total, values[bias]),
        [] if bias is None else [bias],
    )
    image = host.buffer(outside[anchor.arg("input")])
    result = Operand(host.buffer(kernel.outputs[0]), [rows, columns])
    if window.is_point:
        tile = tile_rows(rows, host)
        sizes = Sizes(1, rows, channels, columns, tile, panel_columns(host))
        left = Operand(image, [rows, channels])

        def build_point(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
            x, w, *others, y = buffers
            epilogue.bind(others)
            build_product(b, sizes, epilogue, x, w, y)

        operands = [left, packed_operand(panels, sizes), *epilogue.operands(host), result]
        host.call("product", operands, build_point)
        return
    inner = window.height * window.width * channels
    tile = tile_rows(window.out_width, host)
    sizes = Sizes(1, window.out_width, inner, columns, tile, panel_columns(host))
    shape = _Shape(window, sizes, inner * columns * 4 < LARGE_FILTERS)
    source = padded(host, image, window, channels, 0.0)
    height, width = window.padded_height, window.padded_width
    left = Operand(source, [window.batch, height, width * channels])

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, *others, y = buffers
        epilogue.bind(others)
        _build(b, shape, channels, epilogue, x, w, y)

    right = packed_operand(panels, sizes)
    host.call("convolution", [left, right, *epilogue.operands(host), result], build)


def _build(
    b: LoopBuilder,
    shape: _Shape,
    channels: int,
    epilogue: Epilogue,
    x: SSAValue,
    w: SSAValue,
    y: SSAValue,
) -> None:
    window, sizes = shape.window, shape.sizes
    tile, step = sizes.tile_rows, window.step_x * channels

    def pixels(row: Index, column: Index, width: int, mask: SSAValue | None) -> None:
        """All pixels of a row of the result, for some channels."""
        number = b.quotient(row, window.out_height)
        top = b.mul(b.remainder(row, window.out_height), window.step_y)
        first = b.mul(row, window.out_width)
        last = window.out_width - tile
        with b.for_(0, window.out_width, tile) as loop:
            left = b.min(loop.index, last)
            start = b.mul(left, step)
            total = _accumulate(b, window, channels, x, w, [number, top, start], column, tile, width)
            epilogue.store(b, total, y, [b.add(first, left), column], mask)

    rows = window.batch * window.out_height
    if shape.rows_outside:
        with b.parallel(rows) as row:
            column_groups(b, sizes, b.dim(y, 1), lambda column, width, mask: pixels(row, column, width, mask))
        return

    def all_rows(column: Index, width: int, mask: SSAValue | None) -> None:
        with b.for_(0, rows) as loop:
            pixels(loop.index, column, width, mask)

    column_groups(b, sizes, b.dim(y, 1), all_rows, shared=True)


def _accumulate(
    b: LoopBuilder,
    window: Window,
    channels: int,
    x: SSAValue,
    w: SSAValue,
    at: Sequence[Index],
    column: Index,
    tile: int,
    width: int,
) -> SSAValue:
    """A tile from the pixels under the window at a place of the padded image."""
    number, top, start = at
    step = window.step_x * channels
    # Neighbors under the filter follow each other in memory, unless they are apart.
    runs = (
        [0] if window.apart_x == 1 else [place * window.apart_x * channels for place in range(window.width)]
    )
    run = window.width * channels if window.apart_x == 1 else channels
    zero = b.splat(0.0, vector_of(tile, width))
    with b.for_(0, window.height, 1, [zero]) as rows:
        total = rows.args[0]
        line = b.add(top, b.mul(rows.index, window.apart_y))
        for place, offset in enumerate(runs):
            base = b.add(start, offset)
            first = b.add(b.mul(rows.index, window.width * channels), place * channels)
            with b.for_(0, run, 1, [total]) as loop:
                left = b.column(x, [number, line, b.add(base, loop.index)], 2, step, vector_of(tile))
                right = b.panels(w, column, [b.add(first, loop.index)], width)
                loop.next = [b.outer_product(left, right, loop.args[0])]
            total = loop.results[0]
        rows.next = [total]
    return rows.results[0]
